"""`atoll serve`: one place on a machine of its own, region and entry in one process, the others over mutual TLS."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import uvloop

from atoll.control_store import ControlStore
from atoll.control_store.remote_client import RemoteControlStore
from atoll.control_store.remote_server import ControlStoreServer
from atoll.domain.http_message import Request, Response
from atoll.domain.interfaces import Handler
from atoll.domain.os_error_messages import reason
from atoll.gateway.internal_endpoints import InternalEndpoints
from atoll.gateway.metrics import Metrics
from atoll.gateway.peer_requests import EnvelopeVerifier, Peer
from atoll.gateway.request_log import FLUSH_S, RequestIds, RequestLog
from atoll.net.certificates import LeafCertificates, node_client_context, node_server_context
from atoll.net.http1_pool import Pool
from atoll.net.http1_server import Http1Server
from atoll.net.http1_server_connection import Limits
from atoll.net.precise_timers import Timers
from atoll.net.system_clock import SystemClock
from atoll.net.tcp_sockets import bound, dial
from atoll.net.tls_transport import dial_tls, over_tls
from atoll.object_store.wrappers.change_announcing import AnnouncedStore
from atoll.processes import build_region
from atoll.processes.connection_limit import limits_of
from atoll.processes.home_folder import Home, write_whole
from atoll.processes.node_credentials import Bundle, load, node_name
from atoll.processes.recovery_probes import RecoveryProbes
from atoll.processes.standalone_entry import LocalRegion, SinglePlaceEntry
from atoll.processes.start_world import AlreadyUp, lock
from atoll.processes.world_config import Listener, Place, World, WorldError
from atoll.services.iam.caller_lookup import Identities
from atoll.services.iam.id_generation import create_root_account
from atoll.services.iam.records import ONLY, WORLD, RootRecord
from atoll.services.s3.change_notifier import ChangeNotifier
from atoll.services.s3.dependencies import ReplicationRuleCache
from atoll.services.s3control.access_points import MrapLookup

GRACE_S = 5.0  # running requests may finish for so long when the process is told to stop
FIRST_COPY_S = 30.0  # a node that never had a copy of the state waits so long for its first
SERVERS = 3  # of one place: for other nodes, for clients, and for names that are not ours
RENEW_DAYS = 30  # with less left, the health and the first line say that the bundle must be renewed

Loop = Callable[[], Coroutine[Any, Any, None]]


class CannotStart(Exception):
    """This place cannot serve now. The text says why."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What one place runs with. `bind`: the address to listen on, where it differs from the one that others use."""

    home: Home
    world: World
    place: Place
    bundle: Bundle
    bind: str = ""

    @property
    def holds_state(self) -> bool:
        return self.place.name == self.world.state

    @property
    def is_region(self) -> bool:
        return self.place.kind == "region"


def plan(home: Home, world: World, place: str, *, folder: Path | None = None, bind: str | None = None) -> Plan:
    """Raises WorldError for a world that cannot span machines, BundleError when the place has no bundle to show."""
    complaints = list(_complaints(world, place))
    if complaints:
        raise WorldError("", complaints)
    found = load(folder or _bundle_folder(home, place), place, now=time.time())
    return Plan(home, world, world.by_name[place], found, bind or "")


def _complaints(world: World, place: str) -> Iterator[str]:
    if place not in world.by_name:
        yield f"{place} is no place of this world; there are: {', '.join(world.by_name)}"
    elif world.by_name[place].address is None:
        yield f'place {place}: address = "HOST:PORT" is missing, where clients enter'
    for name in world.regions:
        if world.by_name[name].node is None:
            yield f'place {name}: node = "HOST:PORT" is missing, where the other nodes call it'
    if not world.state:
        yield 'state = "REGION" is missing: the region that holds the control state'
    if world.workers > 1:
        yield f"workers = {world.workers}: a place of a world that spans machines has one process for now"
    if world.profile != "native":
        yield f'profile = "{world.profile}" is for emulated distances; between machines they are real'


def _bundle_folder(home: Home, place: str) -> Path:
    made_here = home.root / "nodes" / place
    given = home.root / "node"
    return made_here if made_here.exists() and not given.exists() else given


@dataclass(slots=True)
class Parts:
    """What the parts of one place have in common."""

    plan: Plan
    clock: SystemClock
    record: RequestLog
    metrics: Metrics
    ids: RequestIds
    pools: Mapping[str, Pool]  # to the other regions
    limits: Limits
    peers: dict[str, Handler] = field(default_factory=dict)  # to every region, this one's own too; they say for whom they ask
    transports: dict[str, Handler] = field(default_factory=dict)  # the same, without an envelope
    state: ControlStore | None = None
    loops: list[Loop] = field(default_factory=list)  # what runs as long as the place does

    def seen(self) -> int:
        """How much of the control state this place knows."""
        return self.state.version if self.state is not None else 0

    def bug(self, request: Request | None, bug: Exception) -> None:
        target = request.path if request else "-"  # never the query: it may hold a signature and a token
        self.record.event({"time": self.clock.now(), "event": "bug", "target": target, "error": repr(bug)})


def run_place(the_plan: Plan, announce: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT. Raises CannotStart, OSError."""
    the_plan.home.make()
    try:
        held = lock(the_plan.home)
    except AlreadyUp:
        raise CannotStart(f"another process serves from {the_plan.home.root}") from None
    try:
        uvloop.run(_until_signal(the_plan, announce))
    finally:
        os.close(held)


async def _until_signal(the_plan: Plan, announce: Callable[[str], None]) -> None:
    stop_requested = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop_requested.set)
    async with serving(the_plan):
        announce(_startup_message(the_plan))
        await stop_requested.wait()


def _startup_message(the_plan: Plan) -> str:
    place = the_plan.place
    text = f"{place.name} serves: clients at http://{place.address}"
    if place.node is not None and the_plan.is_region:
        text += f", nodes at {place.node}"
    days = _days_left(the_plan)
    return text if days >= RENEW_DAYS else f"{text}\nits bundle ends in {days} days: renew it with `atoll node-key {place.name}`"


def _days_left(the_plan: Plan) -> int:
    return int((the_plan.bundle.until - time.time()) / 86400)


@asynccontextmanager
async def serving(the_plan: Plan) -> AsyncIterator[Parts]:
    """The place, for as long as the block runs; all its listeners answer when the block begins. Raises CannotStart, OSError."""
    async with AsyncExitStack() as stack:
        parts = _parts(the_plan, stack)
        for pool in parts.pools.values():
            stack.push_async_callback(pool.close)
        state = parts.state = await _opened_state(parts, stack)
        root = await _root(parts, state)
        _write_client_settings(the_plan, root)
        parts.loops += [state.follow, partial(_flush, parts.record)]
        opening = [partial(_open_region, parts, stack, state)] if the_plan.is_region else []
        servers = [await open_one() for open_one in (*opening, partial(_open_entry, parts, stack, state))]
        group = await stack.enter_async_context(asyncio.TaskGroup())
        tasks = [group.create_task(loop()) for loop in parts.loops]
        stack.callback(lambda: [task.cancel() for task in tasks])
        stack.push_async_callback(_closing, servers)
        yield parts


def _parts(the_plan: Plan, stack: AsyncExitStack) -> Parts:
    name, home = the_plan.place.name, the_plan.home
    timers = Timers()
    stack.callback(timers.close)
    clock = SystemClock(timers)
    context = node_client_context(the_plan.bundle.leaf_certificates, the_plan.bundle.identity)
    pools = {
        other: Pool(dial_tls(dial(node.host, node.port), context, node_name(other)), other, clock=clock)
        for other, node in _nodes(the_plan.world)
        if other != name
    }
    parts = Parts(the_plan, clock, RequestLog(home.log(name), name), Metrics(name), RequestIds(), pools, limits_of(SERVERS))
    for other, pool in pools.items():
        parts.transports[other] = pool
        parts.peers[other] = Peer(pool, key=the_plan.bundle.key, clock=clock, version=parts.seen)
    return parts


def _nodes(world: World) -> Iterator[tuple[str, Listener]]:
    for name in world.regions:
        node = world.by_name[name].node
        if node is not None:
            yield name, node


async def _opened_state(parts: Parts, stack: AsyncExitStack) -> ControlStore:
    """This place's own state, or its copy of another's."""
    path, world = parts.plan.home.state, parts.plan.world
    if parts.plan.holds_state:
        own = ControlStore.open(path)
        stack.callback(own.close)
        return own
    copy = RemoteControlStore(path, parts.peers[world.state], place=parts.plan.place.name)
    stack.callback(copy.close)
    if not await copy.joined(FIRST_COPY_S):
        raise CannotStart(f"{world.state} holds the control state and does not give it: {copy.last_error}")
    return copy


async def _root(parts: Parts, state: ControlStore) -> RootRecord:
    if parts.plan.holds_state:
        return await create_root_account(state, random_bytes=os.urandom, now=parts.clock.now())
    found = state.get(WORLD, ONLY)
    if found is None:
        raise CannotStart(f"the state that {parts.plan.world.state} holds has no account")
    return found


def _write_client_settings(the_plan: Plan, root: RootRecord) -> None:
    """run.json, so that `atoll env` and `atoll exec` work on this machine."""
    place, home, address = the_plan.place, the_plan.home, the_plan.place.address
    nearest = place.name if the_plan.is_region else the_plan.world.nearest_regions(place.name)[0]
    write_whole(home.ca, the_plan.bundle.leaf_certificates.path.read_bytes())
    for name in ("config", "credentials"):
        (home.aws / name).touch(mode=0o600)
    home.write_run({
        "home": str(home.root), "account": root.account, "access_key_id": root.access_key, "secret_access_key": root.secret,
        "profile": the_plan.world.profile, "compat": the_plan.world.compat, "ca": str(home.ca), "regions": {},
        "state": "" if the_plan.holds_state else the_plan.world.state,
        "places": [{"name": place.name, "kind": place.kind, "port": address.port if address else 0, "region": nearest}],
    })  # fmt: skip


async def _flush(record: RequestLog) -> None:
    try:
        while True:
            await asyncio.sleep(FLUSH_S)
            record.flush()
    finally:
        record.flush()


async def _closing(servers: list[tuple[Http1Server, Callable[[], None]]]) -> None:
    """Let what runs finish, at all listeners at once."""
    async with asyncio.TaskGroup() as closing:
        for server, leave in servers:
            leave()
            closing.create_task(server.close(GRACE_S))


def _health(parts: Parts, state: ControlStore) -> Callable[[], dict[str, Any]]:
    place = parts.plan.place
    return lambda: {
        "process": place.name,
        "kind": place.kind,
        "ready": True,
        "pid": os.getpid(),
        "holds_state": parts.plan.holds_state,
        "state_version": state.version,
        "state_trouble": state.last_error,
        "certificate_days_left": _days_left(parts.plan),
    }


async def _open_region(
    parts: Parts, stack: AsyncExitStack, state: ControlStore
) -> tuple[Http1Server, Callable[[], None]]:
    """The store, its gateway and its loops; the gateway answers this process's own gate, and other nodes over mutual TLS."""
    the_plan, clock, change_notifier = parts.plan, parts.clock, ChangeNotifier()
    name = the_plan.place.name
    store = await stack.enter_async_context(build_region.open_store(the_plan.home, name, clock))
    shared = build_region.Shared(
        the_plan.world, name, state, store, AnnouncedStore(store, change_notifier.notify), clock, Identities(state, os.urandom),
        MrapLookup(state), change_notifier, parts.record, parts.metrics, ReplicationRuleCache(), parts.peers.__getitem__,
    )  # fmt: skip
    answering = InternalEndpoints(build_region.gateway(shared, parts.ids), parts.metrics, _health(parts, state))
    parts.peers[name] = parts.transports[name] = LocalRegion(answering)
    copying = build_region.replication(shared)
    parts.metrics.gauges(lambda: build_region.gauges(copying))
    parts.loops += [copying.run, build_region.reconciler(shared).run, RecoveryProbes(parts.pools, copying.region_recovered, clock).watch]
    store_server = _store_server(parts, stack, state)
    return await _open_node(parts, stack, answering, store_server), store_server.leave if store_server else lambda: None


def _store_server(parts: Parts, stack: AsyncExitStack, state: ControlStore) -> ControlStoreServer | None:
    if not parts.plan.holds_state:
        return None
    store_server = ControlStoreServer(state, parts.plan.home.state)
    stack.callback(store_server.close)
    return store_server


async def _open_node(parts: Parts, stack: AsyncExitStack, answering: Handler, store_server: ControlStoreServer | None) -> Http1Server:
    """The listener for other nodes: certificates of the world's CA on both sides, envelopes inside."""

    async def response(request: Request) -> Response:
        if store_server is not None and store_server.is_for(request):
            return await store_server(request)
        return await answering(request)

    def refused(why: str) -> None:
        parts.record.event({"time": parts.clock.now(), "event": "envelope refused", "reason": why})

    bundle, clock = parts.plan.bundle, parts.clock
    envelope_verifier = EnvelopeVerifier(response, key=bundle.key, clock=clock, refused=refused)
    server = await stack.enter_async_context(Http1Server(envelope_verifier, clock=clock, limits=parts.limits, on_bug=parts.bug))
    context = node_server_context(bundle.leaf_certificates, bundle.identity)
    await server.listen([_bound(parts.plan, parts.plan.place.node)], over=lambda plain: over_tls(plain, context))
    return server


async def _open_entry(parts: Parts, stack: AsyncExitStack, state: ControlStore) -> tuple[Http1Server, Callable[[], None]]:
    """The listener for clients."""
    the_plan, clock = parts.plan, parts.clock
    single_place_entry = SinglePlaceEntry(
        the_plan.world, the_plan.place, state, Identities(state, os.urandom), MrapLookup(state), parts.transports, parts.peers,
        clock, parts.ids, parts.record, parts.metrics,
    )  # fmt: skip
    local_server = Http1Server(InternalEndpoints(single_place_entry.entry_router, parts.metrics, _health(parts, state)), clock=clock, limits=parts.limits, on_bug=parts.bug)
    refusing = Http1Server(single_place_entry.refusal(), clock=clock, limits=parts.limits, on_bug=parts.bug)
    local_server.connect = single_place_entry.connector(LeafCertificates(the_plan.bundle.leaf_certificates, clock.now), local_server, refusing)
    await stack.enter_async_context(refusing)
    await stack.enter_async_context(local_server)
    parts.metrics.gauges(single_place_entry.gauges)
    parts.loops.append(single_place_entry.routing.watch)
    await local_server.listen([_bound(the_plan, the_plan.place.address)])
    return local_server, lambda: None


def _bound(the_plan: Plan, listener: Listener | None) -> socket.socket:
    if listener is None:
        raise AssertionError("plan() has seen to it that there is one")
    try:
        return bound(the_plan.bind or listener.host, listener.port)
    except OSError as error:
        raise CannotStart(f"{the_plan.bind or listener.host}:{listener.port} cannot be listened on: {reason(error)}") from error
