"""A clock that a test moves, and a region in memory whose store may fail on command."""

from __future__ import annotations

import asyncio
import hashlib
import heapq
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count

from atoll.control_store import ControlStore
from atoll.domain.clock import Clock
from atoll.domain.errors import Upstream
from atoll.domain.http_message import Body, Request, Response
from atoll.domain.interfaces import Handler, Store
from atoll.gateway.metrics import Metrics
from atoll.gateway.request_log import RequestIds, RequestLog
from atoll.object_store.memory_store import MemoryStore
from atoll.object_store.wrappers.change_announcing import AnnouncedStore
from atoll.object_store.wrappers.fault_injection import Faulty
from atoll.processes import build_region, world_config
from atoll.rules.sigv4 import Credentials, sign
from atoll.services.iam.caller_lookup import Identities
from atoll.services.iam.id_generation import create_root_account
from atoll.services.s3.change_notifier import ChangeNotifier
from atoll.services.s3.dependencies import ReplicationRuleCache
from atoll.services.s3control.access_points import MrapLookup

__all__ = ["FakeClock", "Faulty", "MemoryRegion", "MemoryStore", "memory_region"]

BEGINNING_S = 1_800_000_000.0
TURNS = 50  # of the event loop, given to what a moment woke before the next moment comes


class FakeClock:
    """A Clock that stands still until `advance`."""

    def __init__(self, seconds: float = BEGINNING_S) -> None:
        self._seconds = seconds
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._count = count()

    def now(self) -> float:
        return self._seconds

    def monotonic(self) -> float:
        return self._seconds

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._seconds + seconds, next(self._count), future))
        await future

    async def advance(self, seconds: float) -> None:
        """Move on, waking sleepers in the order of their moments. What waits for a thread or a socket is not waited for."""
        end = self._seconds + seconds
        await _settle()
        while self._sleepers and self._sleepers[0][0] <= end:
            self._seconds, _, future = heapq.heappop(self._sleepers)
            if not future.done():
                future.set_result(None)
                await _settle()
        self._seconds = end


async def _settle() -> None:
    for _ in range(TURNS):
        await asyncio.sleep(0)


@dataclass(frozen=True, slots=True)
class MemoryRegion:
    """One region whose objects and control state are in memory. `handler` is what its listeners would serve."""

    name: str
    handler: Handler
    store: Store
    state: ControlStore
    clock: Clock
    account: str
    root: Credentials

    async def ask(
        self,
        method: str,
        target: str,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        *,
        service: str = "s3",
        who: Credentials | None = None,
    ) -> Response:
        """The answer to a signed request, path-style; signed by the world's root unless `who` says otherwise."""
        sent = {"host": "127.0.0.1", "content-length": str(len(body)), **(headers or {})}
        request = Request(method, target, sent, Body.of(body), arrived=self.clock.monotonic())
        payload = hashlib.sha256(body).hexdigest()
        added = sign(request, who or self.root, region=self.name, now=self.clock.now(), payload=payload, service=service)
        request.headers = {**sent, **added}
        return await self.handler(request)


@asynccontextmanager
async def memory_region(
    name: str = "us-east-1", *, store: Store | None = None, clock: Clock | None = None, compat: world_config.Compat = "lenient"
) -> AsyncIterator[MemoryRegion]:
    """One region of the built-in world, alone: no listener, and no background work, so that replication and access points
    stay wishes. `store` may be an engine under test or a Faulty around one."""
    clock = clock or FakeClock()
    world = world_config.load(None).with_settings(None, compat)
    state = ControlStore.memory()
    try:
        root = await create_root_account(state, random_bytes=os.urandom, now=clock.now())
        shared = _shared(world, name, state, store or MemoryStore(name, lambda: int(clock.now() * 1000)), clock)
        handler = build_region.gateway(shared, RequestIds())
        yield MemoryRegion(
            name, handler, shared.store, state, clock, root.account, Credentials(root.access_key, root.secret)
        )
    finally:
        state.close()


def _shared(
    world: world_config.World, name: str, state: ControlStore, store: Store, clock: Clock
) -> build_region.Shared:
    change_notifier = ChangeNotifier()
    return build_region.Shared(
        world=world,
        name=name,
        state=state,
        engine=store,
        store=AnnouncedStore(store, change_notifier.notify),
        clock=clock,
        identities=Identities(state, os.urandom),
        mraps=MrapLookup(state),
        change_notifier=change_notifier,
        request_log=RequestLog(None, name),
        metrics=Metrics(name),
        rules=ReplicationRuleCache(),
        peer=lambda _: _alone,
    )


async def _alone(request: Request) -> Response:
    raise Upstream(f"a region in memory is alone: {request.target} leads nowhere")
