"""How does each process of a world run: what it opens, what it serves, and how it leaves without loss?"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec
import uvloop

from atoll.domain.message import Request
from atoll.domain.shapes import Handler
from atoll.gateway.metrics import Metrics
from atoll.gateway.observe import Observed
from atoll.gateway.pace import PaceSettings, PathPace
from atoll.gateway.peer import Believing, Peer
from atoll.gateway.record import FLUSH_S, Recorder, RequestIds
from atoll.net.certificates import Leaves, load_ca, server_context
from atoll.net.client import Pool
from atoll.net.clock import SystemClock
from atoll.net.http1 import Http1Server
from atoll.net.http1_connection import Limits
from atoll.net.tcp import bound, dial
from atoll.net.timers import Timers
from atoll.net.tls import over_tls
from atoll.net.wan import dial_over
from atoll.node import aliases, entry, region
from atoll.node.config import World
from atoll.node.descriptors import limits_of
from atoll.node.home import Home
from atoll.node.returns import Returns
from atoll.rules.pace import Fit
from atoll.rules.published import measured_inside
from atoll.services.iam.plane import Identities
from atoll.services.s3.here import RuleBook
from atoll.services.s3.nudge import Nudge
from atoll.services.s3control.plane import AccessPoints
from atoll.state import State
from atoll.store.wrap.announced import Announced

GRACE_S = 5.0  # running requests may finish for so long when a process is told to stop
PACE_PATH = "/_atoll/pace"
SERVERS_PER_PLACE = 2  # what clients reach, and what refuses the names that are not ours


@dataclass(frozen=True, slots=True)
class Plan:
    """Where everything of a world listens and lies."""

    home: Home
    world: World
    host: str
    entry_ports: dict[str, int]
    regions: dict[str, entry.Address]


def _bug(record: Recorder, clock: SystemClock) -> Callable[[Request | None, Exception], None]:
    def tell(request: Request | None, bug: Exception) -> None:
        target = request.path if request else "-"  # never the query: it may hold a signature and a token
        record.event({"time": clock.now(), "event": "bug", "target": target, "error": repr(bug)})
        sys.stderr.write(f"{target}: {bug!r}\n")

    return tell


async def _flush(record: Recorder) -> None:
    try:
        while True:
            await asyncio.sleep(FLUSH_S)
            record.flush()
    finally:
        record.flush()


@asynccontextmanager
async def _opened_state(home: Home) -> AsyncIterator[State]:
    state = State.open(home.state)
    try:
        yield state
    finally:
        state.close()


async def _until_told(ready: int, group: asyncio.TaskGroup, leave: Callable[[], Awaitable[None]]) -> None:
    """Say that all listeners answer, wait for SIGTERM, leave."""
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    if ready >= 0:
        os.write(ready, b"1")
        os.close(ready)
    await told.wait()
    await leave()
    raise Leave


class Leave(Exception):
    """Ends a TaskGroup whose tasks run for ever."""


def _paces(world: World, name: str) -> PaceSettings:
    """Profile aws from the start: what was measured inside this region, the path's own cost not yet known."""
    if world.profile != "aws":
        return PaceSettings()
    paths: dict[str, PathPace] = {}
    for path in ("single", "mrap"):
        figure = measured_inside(name, "single") if path == "single" else measured_inside(name, "mrap")
        if figure is not None:
            fit = Fit.through(figure)
            paths[path] = PathPace(fit.mu, fit.sigma, 0.0)
    return PaceSettings(paths, seed=os.getpid())


async def serve_region(plan: Plan, name: str, ready: int) -> None:
    """A region's process, until it is told to stop."""
    timers = Timers()
    clock = SystemClock(timers)
    home, world, nudge = plan.home, plan.world, Nudge()
    metrics, record = Metrics(name), Recorder(home.log(name), name)
    ids, key = RequestIds(), home.node_key.read_bytes()
    pools = {
        other: Pool(
            dial_over(dial("127.0.0.1", plan.regions[other].port), entry.link(world, name, other), timers), other, clock=clock
        )
        for other in world.regions
    }
    peers: dict[str, Handler] = {other: Peer(pool, key=key, clock=clock, version=lambda: state.version) for other, pool in pools.items()}
    async with AsyncExitStack() as stack:
        stack.callback(timers.close)
        state = await stack.enter_async_context(_opened_state(home))
        for pool in pools.values():
            stack.push_async_callback(pool.close)
        store = await stack.enter_async_context(region.opened_store(home, name, clock))
        shared = region.Shared(
            world, name, state, store, Announced(store, nudge.ring), clock, Identities(state, os.urandom), AccessPoints(state), nudge, record,
            metrics, RuleBook(), peers.__getitem__,
        )  # fmt: skip
        gateway = region.gateway(shared, ids)
        gateway.pace.set(_paces(world, name))
        copying = region.replication(shared)
        returns = Returns(pools, copying.returned, clock)
        metrics.gauges(lambda: region.gauges(copying))
        health = _region_health(plan, name, state)
        paths = aliases.routing(shared, pools)
        entered = aliases.Aliases(gateway, aliases.front(shared, paths, peers, ids)) if world.compat == "lenient" else gateway
        handler = Believing(
            Observed(entered, metrics, health, {PACE_PATH: _pace_action(gateway.pace.set)}),
            key=key,
            clock=clock,
            refused=lambda why: record.event({"time": clock.now(), "event": "envelope refused", "reason": why}),
        )
        server = await stack.enter_async_context(Http1Server(handler, clock=clock, limits=limits_of(1), on_bug=_bug(record, clock)))
        leaves = Leaves(load_ca(home.root), clock.now)
        group = await stack.enter_async_context(_patient_group())
        for task in (state.follow(), _flush(record), copying.run(), region.reconciler(shared).run(), returns.watch(), paths.watch()):
            group.create_task(task)
        address = plan.regions[name]
        await server.listen([bound(plan.host, address.port)])
        context = server_context(leaves, now=clock.now())
        await server.listen([bound(plan.host, address.tls)], over=lambda plain: over_tls(plain, context))
        await _until_told(ready, group, lambda: server.close(GRACE_S))


@asynccontextmanager
async def _patient_group() -> AsyncIterator[asyncio.TaskGroup]:
    """A TaskGroup that ends quietly when it is told to Leave."""
    try:
        async with asyncio.TaskGroup() as group:
            yield group
    except* Leave:
        pass


def _region_health(plan: Plan, name: str, state: State) -> Callable[[], dict[str, Any]]:
    return lambda: {
        "process": name,
        "kind": "region",
        "ready": True,
        "pid": os.getpid(),
        "state_version": state.version,
        "state_trouble": state.trouble,
        "profile": plan.world.profile,
    }


def _pace_action(set_pace: Callable[[PaceSettings], None]) -> Callable[[bytes], Awaitable[bytes]]:
    async def act(body: bytes) -> bytes:
        set_pace(msgspec.json.decode(body, type=PaceSettings))
        return b"{}"

    return act


async def serve_entry(plan: Plan, places: tuple[str, ...], ready: int) -> None:
    """The entry's process: a listener per place, until it is told to stop."""
    timers = Timers()
    clock = SystemClock(timers)
    home = plan.home
    metrics, record = Metrics("entry"), Recorder(home.log("entry"), "entry")
    async with AsyncExitStack() as stack:
        stack.callback(timers.close)
        state = await stack.enter_async_context(_opened_state(home))
        shared = entry.Shared(
            plan.world, state, Identities(state, os.urandom), AccessPoints(state), Leaves(load_ca(home.root), clock.now),
            home.node_key.read_bytes(), clock, timers, record, metrics, RequestIds(), plan.regions,
        )  # fmt: skip
        group = await stack.enter_async_context(_patient_group())
        group.create_task(state.follow())
        group.create_task(_flush(record))
        limits = limits_of(len(places) * SERVERS_PER_PLACE)
        servers = [await _open_place(stack, group, plan, shared, place, limits) for place in places]

        async def leave() -> None:
            async with asyncio.TaskGroup() as closing:
                for server in servers:
                    closing.create_task(server.close(GRACE_S))

        await _until_told(ready, group, leave)


async def _open_place(
    stack: AsyncExitStack, group: asyncio.TaskGroup, plan: Plan, shared: entry.Shared, place: str, limits: Limits
) -> Http1Server:
    gate = entry.Entrance(shared, place)
    stack.push_async_callback(gate.close)
    health = {"process": "entry", "kind": "entry", "place": place, "ready": True, "pid": os.getpid()}
    bug = _bug(shared.record, shared.clock)  # type: ignore[arg-type]
    server = Http1Server(Observed(gate.front, shared.metrics, lambda: health), clock=shared.clock, limits=limits, on_bug=bug)
    refusing = Http1Server(gate.refusal(), clock=shared.clock, limits=limits, on_bug=bug)
    server.connect = gate.connector(server, refusing)
    await stack.enter_async_context(refusing)
    await stack.enter_async_context(server)
    shared.metrics.gauges(gate.gauges)
    group.create_task(gate.routing.watch())
    await server.listen([bound(plan.host, plan.entry_ports[place])])
    return server


def run(body: Callable[[], Awaitable[None]]) -> None:
    """Run a process's body on uvloop until it leaves."""

    async def main() -> None:
        await body()

    uvloop.run(main())
