"""A few regions in one process for the tests of replication: memory stores, a clock that is told, links that can be cut."""

from __future__ import annotations

import asyncio
import heapq
import itertools
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from random import Random

from atoll.domain.api_call import Call
from atoll.domain.caller import Caller
from atoll.domain.errors import ApiError, Upstream
from atoll.domain.http_message import EMPTY, Body, Request, Response
from atoll.domain.interfaces import Handler, Store
from atoll.domain.objects import Checksum, Key, ObjectMetadata, Part
from atoll.object_store.memory_store import MemoryStore
from atoll.rules import replication_status as rules
from atoll.services.s3.replica_receiver import ReplicaCounters, ReplicaDependencies, receive
from atoll.services.s3.replication import Replication, ReplicationDependencies

ROLE = "arn:aws:iam::111122223333:role/replicate"
CALLER = Caller("role", account="111122223333", arn="arn:aws:sts::111122223333:assumed-role/replicate/s3", role_arn=ROLE)


def configuration(*destinations: str, **more: object) -> dict[str, object]:
    """Schema V2, everything, markers too, as the AWS members read."""
    return {"Role": ROLE, "Rules": [rule(d, priority, **more) for priority, d in enumerate(destinations)]}


def rule(destination: str, priority: int = 0, **more: object) -> dict[str, object]:
    return {
        "Status": "Enabled",
        "Priority": priority,
        "Filter": {"Prefix": ""},
        "DeleteMarkerReplication": {"Status": "Enabled"},
        "Destination": {"Bucket": f"arn:aws:s3:::{destination}"},
        **more,
    }


async def settle() -> None:
    """Let everything run that can run without time passing."""
    for _ in range(60):
        await asyncio.sleep(0)


class FakeClock:
    def __init__(self) -> None:
        self.time = 1_700_000_000.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._count = itertools.count()

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        future = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.time + seconds, next(self._count), future))
        await future

    async def advance(self, seconds: float) -> None:
        end = self.time + seconds
        await settle()
        while self._sleepers and self._sleepers[0][0] <= end:
            self.time = self._sleepers[0][0]
            while self._sleepers and self._sleepers[0][0] <= self.time:
                future = heapq.heappop(self._sleepers)[2]
                if not future.done():
                    future.set_result(None)
            await settle()
        self.time = end
        await settle()


class Process:
    """A store as a process sees it that can be killed: from then on nothing of it reaches the disk."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.dead = False
        self.refuse: set[str] = set()  # methods that answer as a full disk does

    def __getattr__(self, name: str) -> object:
        method = getattr(self._store, name)
        if name == "able":
            return method

        async def alive(*args: object, **named: object) -> object:
            if self.dead:
                raise asyncio.CancelledError
            if name in self.refuse:
                raise ApiError("ServiceUnavailable")
            return await method(*args, **named)

        return alive


@dataclass
class Region:
    """One region: its store, its buckets with versioning state, their replication configurations."""

    name: str
    world: World
    skew_ms: int = 0
    store: MemoryStore = field(init=False)
    buckets: dict[str, str] = field(default_factory=dict)
    configured: dict[str, Mapping[str, object]] = field(default_factory=dict)
    denied: set[str] = field(default_factory=set)  # actions that the role may not do here
    assumable: bool = True
    up: bool = True
    drop_responses: bool = False
    impostor: bool = False  # something in front answers 403 in the region's place
    delay: Callable[[], float] | None = None
    events: list[dict[str, object]] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    replica_counters: ReplicaCounters = field(default_factory=ReplicaCounters)
    logs: list[dict[str, object]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.store = MemoryStore(self.name, self.now_ms)

    def now_ms(self) -> int:
        return int(self.world.clock.now() * 1000) + self.skew_ms

    def rules_of(self, bucket: str) -> rules.Rules | None:
        return rules.parse(self.configured[bucket]) if bucket in self.configured else None

    # -- what S3's operations do

    async def put(
        self,
        key: str,
        content: bytes = b"x",
        *,
        bucket: str = "",
        tags: Mapping[str, str] | None = None,
        **more: object,
    ) -> ObjectMetadata:
        bucket = bucket or next(iter(self.buckets))
        metadata = self._original(bucket, key, ObjectMetadata(size=len(content), etag=rules_md5(content), tags=tags or {}, **more))
        return await self._stored(bucket, key, content, metadata)

    async def put_parts(self, key: str, *parts: bytes) -> ObjectMetadata:
        bucket = next(iter(self.buckets))
        table = tuple(Part(n, len(p), rules_md5(p)) for n, p in enumerate(parts, 1))
        whole = b"".join(parts)
        metadata = ObjectMetadata(size=len(whole), etag=f"{'0' * 32}-{len(parts)}", parts=table, checksum=Checksum("SHA256", "COMPOSITE", "x=-2"))
        return await self._stored(bucket, key, whole, self._original(bucket, key, metadata))

    async def mark(self, key: str, *, bucket: str = "", by_user: bool = True) -> ObjectMetadata:
        bucket = bucket or next(iter(self.buckets))
        return await self._stored(bucket, key, b"", self._original(bucket, key, ObjectMetadata(marker=True), by_user=by_user))

    async def tag(self, key: str, tags: Mapping[str, str], version: str) -> None:
        bucket = next(iter(self.buckets))
        held = self.rules_of(bucket)
        await self.store.update_metadata(
            Key(bucket, key), version, lambda metadata: rules.with_changed_tags(held, key, metadata, tags, now_ms=self.now_ms())
        )

    async def _stored(self, bucket: str, key: str, content: bytes, metadata: ObjectMetadata) -> ObjectMetadata:
        stored = await self.store.put(Key(bucket, key), Body.of(content), lambda: metadata)
        self.world.nudges[self.name].notify(bucket)
        return stored

    def _original(self, bucket: str, key: str, metadata: ObjectMetadata, *, by_user: bool = True) -> ObjectMetadata:
        held = self.rules_of(bucket)
        kind = "marker" if metadata.marker else "object"
        pending = rules.destinations(held, key, metadata.tags, kind=kind, by_user=by_user) if held else ()
        version = f"v{next(self.world.versions):04}-{self.name}"
        return replace(metadata, version=version, modified_ms=self.now_ms(), replication=rules.pending(pending))

    # -- what one sees

    async def head(self, key: str, version: str | None = None, *, bucket: str = "") -> ObjectMetadata | None:
        return await self.store.head(Key(bucket or next(iter(self.buckets)), key), version)

    async def read(self, key: str, version: str | None = None) -> bytes | None:
        found = await self.store.get(Key(next(iter(self.buckets)), key), version)
        return None if found is None else await found.body().read_small(1 << 30)

    async def status(self, key: str, version: str | None = None) -> str:
        metadata = await self.head(key, version)
        assert metadata is not None
        return rules.status(metadata.replication, replica=metadata.replica)

    @property
    def stored(self) -> list[object]:
        """Version ids of the copies that were stored, in order of arrival."""
        return [log["version"] for log in self.logs if log.get("copy") == "stored"]

    def reported(self, event: str) -> list[dict[str, object]]:
        return [each for each in self.events if each["event"] == event]

    # -- the receiving side

    async def output(self, request: Request) -> Response:
        self.requests.append(request)
        bucket, _, key = request.path.removeprefix("/").partition("/")
        call = Call(
            "s3", "Replicate", request, CALLER, self.now_ms() / 1000, self.name, "111122223333", "r", request.body,
            allow=self._allow, may=lambda action, arn: action not in self.denied, log={},
        )  # fmt: skip
        try:
            output = await receive(ReplicaDependencies(self.store, self.buckets.get, self.replica_counters), call, bucket, unquoted(key))
        except ApiError as error:
            return Response(error.status, dict(error.headers), Body.of(error.code.encode()))
        finally:
            self.logs.append(call.log)
        return Response(output.status, dict(output.headers), EMPTY)

    def _allow(self, action: str, arn: str) -> None:
        if action in self.denied:
            raise ApiError("AccessDenied")


class World:
    def __init__(self, *names: str, seed: int = 0, published: tuple[float, ...] = ()) -> None:
        from atoll.services.s3.replication import ChangeNotifier

        self.clock = FakeClock()
        self.uniform = Random(seed)
        self.published = published
        self.versions = itertools.count(1)
        self.nudges = {name: ChangeNotifier() for name in names}
        self.regions = {name: Region(name, self) for name in names}
        self.cut: set[frozenset[str]] = set()
        self.changed: dict[str, asyncio.Event] = {}
        self.running: dict[str, tuple[Process, asyncio.Task[None], Replication]] = {}
        for name, region in self.regions.items():
            region.buckets[f"b-{name}"] = "Enabled"

    def __getitem__(self, name: str) -> Region:
        return self.regions[name]

    def mesh(self, **more: object) -> None:
        for name, region in self.regions.items():
            others = [f"b-{other}" for other in self.regions if other != name]
            region.configured[f"b-{name}"] = configuration(*others, **more)

    def configure(self, name: str, members: Mapping[str, object] | None) -> None:
        region = self.regions[name]
        if members is None:
            region.configured.pop(f"b-{name}", None)
        else:
            region.configured[f"b-{name}"] = members
        if name in self.changed:
            self.changed[name].set()

    @asynccontextmanager
    async def started(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            self.group = group
            for name in self.regions:
                self.start(name)
            await settle()
            yield
            for name in list(self.running):
                await self.stop(name)

    def start(self, name: str) -> None:
        process = Process(self.regions[name].store)
        self.changed[name] = asyncio.Event()
        replication = Replication(self._deps(self.regions[name], process))
        self.running[name] = process, self.group.create_task(replication.run()), replication

    async def stop(self, name: str, *, kill: bool = False) -> None:
        process, task, _ = self.running.pop(name)
        process.dead = kill
        task.cancel()
        await asyncio.wait([task])

    def metrics(self, name: str):
        return {each.destination: each for each in self.running[name][2].metrics()}

    async def pass_time(self, seconds: float) -> None:
        await self.clock.advance(seconds)

    def _deps(self, region: Region, process: Process) -> ReplicationDependencies:
        event = self.changed[region.name]

        async def changed() -> None:
            await event.wait()
            event.clear()

        return ReplicationDependencies(
            region=region.name,
            store=process,  # type: ignore[arg-type]
            clock=self.clock,
            configured=lambda: [(b, rules.parse(c), ROLE) for b, c in region.configured.items()],
            changed=changed,
            local=lambda: list(region.buckets),
            region_of=lambda bucket: next((r.name for r in self.regions.values() if bucket in r.buckets), None),
            peer=lambda other: self._link(region.name, other),
            assume=lambda arn: CALLER if region.assumable else None,
            may=lambda caller, action, arn: action not in region.denied,
            uniform=self.uniform.random,
            log=region.events.append,
            published=self.published,
            change_notifier=self.nudges[region.name],
        )

    def _link(self, deps: str, there: str) -> Handler:
        async def send(request: Request) -> Response:
            region = self.regions[there]
            if region.delay is not None:
                await self.clock.sleep(region.delay())
            if not region.up or frozenset((deps, there)) in self.cut:
                raise Upstream(f"{there} does not answer")
            if region.impostor:
                return Response(403)
            response = await region.output(request)
            if region.drop_responses:
                raise Upstream("the connection broke before the answer")
            return response

        return send


def rules_md5(content: bytes) -> str:
    import hashlib

    return hashlib.md5(content).hexdigest()


def unquoted(key: str) -> str:
    from urllib.parse import unquote

    return unquote(key)
