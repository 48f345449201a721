"""How does one place of a world run on a machine of its own? Region and entry in one process, the others over mutual TLS."""

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

from atoll.domain.message import Request, Response
from atoll.domain.oserrors import reason
from atoll.domain.shapes import Handler
from atoll.gateway.metrics import Metrics
from atoll.gateway.observe import Observed
from atoll.gateway.peer import Believing, Peer
from atoll.gateway.record import FLUSH_S, Recorder, RequestIds
from atoll.net.certificates import Leaves, node_client_context, node_server_context
from atoll.net.client import Pool
from atoll.net.clock import SystemClock
from atoll.net.http1 import Http1Server
from atoll.net.http1_connection import Limits
from atoll.net.tcp import bound, dial
from atoll.net.timers import Timers
from atoll.net.tls import dial_tls, over_tls
from atoll.node import region
from atoll.node.bundle import Bundle, load, node_name
from atoll.node.config import Listener, Place, World, WorldError
from atoll.node.descriptors import limits_of
from atoll.node.gate import Gate, Near
from atoll.node.home import Home, write_whole
from atoll.node.returns import Returns
from atoll.node.world import AlreadyUp, lock
from atoll.services.iam.making import create_world
from atoll.services.iam.plane import Identities
from atoll.services.iam.records import ONLY, WORLD, RootRecord
from atoll.services.s3.here import RuleBook
from atoll.services.s3.nudge import Nudge
from atoll.services.s3control.plane import AccessPoints
from atoll.state import State
from atoll.state.offer import Offer
from atoll.state.remote import RemoteState
from atoll.store.wrap.announced import Announced

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
    record: Recorder
    metrics: Metrics
    ids: RequestIds
    pools: Mapping[str, Pool]  # to the other regions
    limits: Limits
    peers: dict[str, Handler] = field(default_factory=dict)  # to every region, this one's own too; they say for whom they ask
    carriers: dict[str, Handler] = field(default_factory=dict)  # the same, without an envelope
    state: State | None = None
    loops: list[Loop] = field(default_factory=list)  # what runs as long as the place does

    def seen(self) -> int:
        """How much of the control state this place knows."""
        return self.state.version if self.state is not None else 0

    def bug(self, request: Request | None, bug: Exception) -> None:
        target = request.path if request else "-"  # never the query: it may hold a signature and a token
        self.record.event({"time": self.clock.now(), "event": "bug", "target": target, "error": repr(bug)})


def run_place(the_plan: Plan, said: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT. Raises CannotStart, OSError."""
    the_plan.home.make()
    try:
        held = lock(the_plan.home)
    except AlreadyUp:
        raise CannotStart(f"another process serves from {the_plan.home.root}") from None
    try:
        uvloop.run(_until_signal(the_plan, said))
    finally:
        os.close(held)


async def _until_signal(the_plan: Plan, said: Callable[[str], None]) -> None:
    told = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, told.set)
    async with serving(the_plan):
        said(_welcome(the_plan))
        await told.wait()


def _welcome(the_plan: Plan) -> str:
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
        _leave_word_for_clients(the_plan, root)
        parts.loops += [state.follow, partial(_flush, parts.record)]
        opening = [partial(_open_region, parts, stack, state)] if the_plan.is_region else []
        servers = [await open_one() for open_one in (*opening, partial(_open_gate, parts, stack, state))]
        group = await stack.enter_async_context(asyncio.TaskGroup())
        tasks = [group.create_task(loop()) for loop in parts.loops]
        stack.callback(lambda: [task.cancel() for task in tasks])
        stack.push_async_callback(_closed, servers)
        yield parts


def _parts(the_plan: Plan, stack: AsyncExitStack) -> Parts:
    name, home = the_plan.place.name, the_plan.home
    timers = Timers()
    stack.callback(timers.close)
    clock = SystemClock(timers)
    context = node_client_context(the_plan.bundle.leaves, the_plan.bundle.identity)
    pools = {
        other: Pool(dial_tls(dial(node.host, node.port), context, node_name(other)), other, clock=clock)
        for other, node in _nodes(the_plan.world)
        if other != name
    }
    parts = Parts(the_plan, clock, Recorder(home.log(name), name), Metrics(name), RequestIds(), pools, limits_of(SERVERS))
    for other, pool in pools.items():
        parts.carriers[other] = pool
        parts.peers[other] = Peer(pool, key=the_plan.bundle.key, clock=clock, version=parts.seen)
    return parts


def _nodes(world: World) -> Iterator[tuple[str, Listener]]:
    for name in world.regions:
        node = world.by_name[name].node
        if node is not None:
            yield name, node


async def _opened_state(parts: Parts, stack: AsyncExitStack) -> State:
    """This place's own state, or its copy of another's."""
    path, world = parts.plan.home.state, parts.plan.world
    if parts.plan.holds_state:
        own = State.open(path)
        stack.callback(own.close)
        return own
    copy = RemoteState(path, parts.peers[world.state], place=parts.plan.place.name)
    stack.callback(copy.close)
    if not await copy.joined(FIRST_COPY_S):
        raise CannotStart(f"{world.state} holds the control state and does not give it: {copy.trouble}")
    return copy


async def _root(parts: Parts, state: State) -> RootRecord:
    if parts.plan.holds_state:
        return await create_world(state, dice=os.urandom, now=parts.clock.now())
    found = state.get(WORLD, ONLY)
    if found is None:
        raise CannotStart(f"the state that {parts.plan.world.state} holds has no account")
    return found


def _leave_word_for_clients(the_plan: Plan, root: RootRecord) -> None:
    """run.json, so that `atoll env` and `atoll exec` work on this machine."""
    place, home, address = the_plan.place, the_plan.home, the_plan.place.address
    nearest = place.name if the_plan.is_region else the_plan.world.nearest_regions(place.name)[0]
    write_whole(home.ca, the_plan.bundle.leaves.path.read_bytes())
    for name in ("config", "credentials"):
        (home.aws / name).touch(mode=0o600)
    home.write_run({
        "home": str(home.root), "account": root.account, "access_key_id": root.access_key, "secret_access_key": root.secret,
        "profile": the_plan.world.profile, "compat": the_plan.world.compat, "ca": str(home.ca), "regions": {},
        "state": "" if the_plan.holds_state else the_plan.world.state,
        "places": [{"name": place.name, "kind": place.kind, "port": address.port if address else 0, "region": nearest}],
    })  # fmt: skip


async def _flush(record: Recorder) -> None:
    try:
        while True:
            await asyncio.sleep(FLUSH_S)
            record.flush()
    finally:
        record.flush()


async def _closed(servers: list[tuple[Http1Server, Callable[[], None]]]) -> None:
    """Let what runs finish, at all listeners at once."""
    async with asyncio.TaskGroup() as closing:
        for server, leave in servers:
            leave()
            closing.create_task(server.close(GRACE_S))


def _health(parts: Parts, state: State) -> Callable[[], dict[str, Any]]:
    place = parts.plan.place
    return lambda: {
        "process": place.name,
        "kind": place.kind,
        "ready": True,
        "pid": os.getpid(),
        "holds_state": parts.plan.holds_state,
        "state_version": state.version,
        "state_trouble": state.trouble,
        "certificate_days_left": _days_left(parts.plan),
    }


async def _open_region(
    parts: Parts, stack: AsyncExitStack, state: State
) -> tuple[Http1Server, Callable[[], None]]:
    """The store, its gateway and its loops; the gateway answers this process's own gate, and other nodes over mutual TLS."""
    the_plan, clock, nudge = parts.plan, parts.clock, Nudge()
    name = the_plan.place.name
    store = await stack.enter_async_context(region.opened_store(the_plan.home, name, clock))
    shared = region.Shared(
        the_plan.world, name, state, store, Announced(store, nudge.ring), clock, Identities(state, os.urandom),
        AccessPoints(state), nudge, parts.record, parts.metrics, RuleBook(), parts.peers.__getitem__,
    )  # fmt: skip
    answering = Observed(region.gateway(shared, parts.ids), parts.metrics, _health(parts, state))
    parts.peers[name] = parts.carriers[name] = Near(answering)
    copying = region.replication(shared)
    parts.metrics.gauges(lambda: region.gauges(copying))
    parts.loops += [copying.run, region.reconciler(shared).run, Returns(parts.pools, copying.returned, clock).watch]
    offer = _offer(parts, stack, state)
    return await _open_node(parts, stack, answering, offer), offer.leave if offer else lambda: None


def _offer(parts: Parts, stack: AsyncExitStack, state: State) -> Offer | None:
    if not parts.plan.holds_state:
        return None
    offer = Offer(state, parts.plan.home.state)
    stack.callback(offer.close)
    return offer


async def _open_node(parts: Parts, stack: AsyncExitStack, answering: Handler, offer: Offer | None) -> Http1Server:
    """The listener for other nodes: certificates of the world's CA on both sides, envelopes inside."""

    async def answer(request: Request) -> Response:
        if offer is not None and offer.is_for(request):
            return await offer(request)
        return await answering(request)

    def refused(why: str) -> None:
        parts.record.event({"time": parts.clock.now(), "event": "envelope refused", "reason": why})

    bundle, clock = parts.plan.bundle, parts.clock
    believing = Believing(answer, key=bundle.key, clock=clock, refused=refused)
    server = await stack.enter_async_context(Http1Server(believing, clock=clock, limits=parts.limits, on_bug=parts.bug))
    context = node_server_context(bundle.leaves, bundle.identity)
    await server.listen([_bound(parts.plan, parts.plan.place.node)], over=lambda plain: over_tls(plain, context))
    return server


async def _open_gate(parts: Parts, stack: AsyncExitStack, state: State) -> tuple[Http1Server, Callable[[], None]]:
    """The listener for clients."""
    the_plan, clock = parts.plan, parts.clock
    gate = Gate(
        the_plan.world, the_plan.place, state, Identities(state, os.urandom), AccessPoints(state), parts.carriers, parts.peers,
        clock, parts.ids, parts.record, parts.metrics,
    )  # fmt: skip
    here = Http1Server(Observed(gate.front, parts.metrics, _health(parts, state)), clock=clock, limits=parts.limits, on_bug=parts.bug)
    refusing = Http1Server(gate.refusal(), clock=clock, limits=parts.limits, on_bug=parts.bug)
    here.connect = gate.connector(Leaves(the_plan.bundle.leaves, clock.now), here, refusing)
    await stack.enter_async_context(refusing)
    await stack.enter_async_context(here)
    parts.metrics.gauges(gate.gauges)
    parts.loops.append(gate.routing.watch)
    await here.listen([_bound(the_plan, the_plan.place.address)])
    return here, lambda: None


def _bound(the_plan: Plan, listener: Listener | None) -> socket.socket:
    if listener is None:
        raise AssertionError("plan() has seen to it that there is one")
    try:
        return bound(the_plan.bind or listener.host, listener.port)
    except OSError as error:
        raise CannotStart(f"{the_plan.bind or listener.host}:{listener.port} cannot be listened on: {reason(error)}") from error
