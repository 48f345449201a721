"""The main functions of a local world's processes: what each opens, serves, and how it leaves without loss."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
import uvloop

from atoll.control_store import ControlStore
from atoll.domain.caller import ForwardedContext
from atoll.domain.errors import Upstream
from atoll.domain.http_message import Body, Request
from atoll.domain.interfaces import Handler, Store
from atoll.gateway.internal_endpoints import COUNTERS, Action, InternalEndpoints
from atoll.gateway.metrics import Counters, Metrics
from atoll.gateway.peer_requests import EnvelopeVerifier
from atoll.gateway.request_log import FLUSH_S, RequestIds, RequestLog
from atoll.gateway.service_time_emulation import PathServiceTime, ServiceTimeSettings
from atoll.gateway.write_forwarding import UpToDate, WritesElsewhere
from atoll.net.certificates import LeafCertificates, load_ca, server_context
from atoll.net.http1_server import Http1Server
from atoll.net.http1_server_connection import Limits
from atoll.net.precise_timers import Timers
from atoll.net.system_clock import SystemClock
from atoll.net.tcp_sockets import bound, dial
from atoll.net.tls_transport import over_tls
from atoll.net.wan_emulation import dial_over
from atoll.object_store.disk.read_only_store import ReadingStore
from atoll.object_store.wrappers.change_announcing import AnnouncedStore
from atoll.processes import build_region, entry_listeners, mrap_alias_routing
from atoll.processes.connection_limit import limits_of
from atoll.processes.home_folder import Home
from atoll.processes.recovery_probes import RecoveryProbes
from atoll.processes.region_client import RegionClient, audience
from atoll.processes.region_probes import MeasuredRouting
from atoll.processes.world_config import World
from atoll.rules.published_latency import measured_inside
from atoll.rules.service_time_distribution import Fit
from atoll.services.iam.caller_lookup import Identities
from atoll.services.s3.change_notifier import ChangeNotifier
from atoll.services.s3.dependencies import ReplicationRuleCache
from atoll.services.s3control.access_points import MrapLookup

GRACE_S = 5.0  # running requests may finish for so long when a process is told to stop
SERVICE_TIME_PATH = "/_atoll/pace"
COUNTERS_MAX_BYTES = 4 * 1024 * 1024
SERVERS_PER_PLACE = 2  # what clients reach, and what refuses the names that are not ours


Loop = Callable[[], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class Plan:
    """Where everything of a world listens and lies."""

    home: Home
    world: World
    host: str
    entry_ports: dict[str, int]
    regions: dict[str, entry_listeners.Address]


def _bug_logger(request_log: RequestLog, clock: SystemClock) -> Callable[[Request | None, Exception], None]:
    def tell(request: Request | None, bug: Exception) -> None:
        target = request.path if request else "-"  # never the query: it may hold a signature and a token
        request_log.event({"time": clock.now(), "event": "bug", "target": target, "error": repr(bug)})
        sys.stderr.write(f"{target}: {bug!r}\n")

    return tell


async def _flush(request_log: RequestLog) -> None:
    try:
        while True:
            await asyncio.sleep(FLUSH_S)
            request_log.flush()
    finally:
        request_log.flush()


@asynccontextmanager
async def _opened_state(home: Home) -> AsyncIterator[ControlStore]:
    state = ControlStore.open(home.state)
    try:
        yield state
    finally:
        state.close()


async def _until_stopped(ready: int, group: asyncio.TaskGroup, leave: Callable[[], Awaitable[None]]) -> None:
    """Say that all listeners answer, wait for SIGTERM, leave."""
    stop_requested = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop_requested.set)
    if ready >= 0:
        os.write(ready, b"1")
        os.close(ready)
    await stop_requested.wait()
    await leave()
    raise StopProcess


class StopProcess(Exception):
    """Ends a TaskGroup whose tasks run for ever."""


def _service_times(world: World, name: str) -> ServiceTimeSettings:
    """Profile aws from the start: what was measured inside this region, the path's own cost not yet known."""
    if world.profile != "aws":
        return ServiceTimeSettings()
    paths: dict[str, PathServiceTime] = {}
    for path in ("single", "mrap"):
        figure = measured_inside(name, "single") if path == "single" else measured_inside(name, "mrap")
        if figure is not None:
            fit = Fit.through(figure)
            paths[path] = PathServiceTime(fit.mu, fit.sigma, 0.0)
    return ServiceTimeSettings(paths, seed=os.getpid())


async def serve_region(plan: Plan, name: str, worker: int, ready: int) -> None:
    """One of a region's processes, until it is told to stop. The first has the store and writes; the others read."""
    async with AsyncExitStack() as stack:
        process = await _opened_process(stack, plan, name, worker)
        shared, loops = await _reading(stack, process) if worker else await _writing(stack, process)
        paths = mrap_alias_routing.routing(shared, {other: client.carry for other, client in process.clients.items()})
        handler = _answering(process, shared, paths)
        request_log, clock = process.request_log, process.clock
        server = await stack.enter_async_context(Http1Server(handler, clock=clock, limits=limits_of(1), on_bug=_bug_logger(request_log, clock)))
        group = await stack.enter_async_context(_stoppable_group())
        loops += [process.state.follow, partial(_flush, request_log), paths.watch]
        for loop in loops:
            group.create_task(loop())
        await _listen(process, server)
        await _until_stopped(ready, group, lambda: server.close(GRACE_S))


@dataclass(frozen=True, slots=True)
class Process:
    """What one process of a region has, whether it writes or reads."""

    plan: Plan
    name: str
    worker: int
    key: bytes
    clock: SystemClock
    state: ControlStore
    request_log: RequestLog
    metrics: Metrics
    ids: RequestIds
    clients: Mapping[str, RegionClient]  # of every region
    siblings: Sequence[Handler]  # the region's processes, the writer first, this one too

    @property
    def address(self) -> entry_listeners.Address:
        return self.plan.regions[self.name]

    def shared(self, engine: Store, store: Store, change_notifier: ChangeNotifier) -> build_region.Shared:
        return build_region.Shared(
            self.plan.world, self.name, self.state, engine, store, self.clock, Identities(self.state, os.urandom),
            MrapLookup(self.state), change_notifier, self.request_log, self.metrics, ReplicationRuleCache(), lambda other: self.clients[other].peer,
        )  # fmt: skip


async def _opened_process(stack: AsyncExitStack, plan: Plan, name: str, worker: int) -> Process:
    timers = Timers()
    clock = SystemClock(timers)
    stack.callback(timers.close)
    home, called = plan.home, process_name(name, worker)
    key = home.node_key.read_bytes()
    state = await stack.enter_async_context(_opened_state(home))

    def client(other: str) -> RegionClient:
        way = entry_listeners.link(plan.world, name, other)
        traffic_dials = [dial_over(dial("127.0.0.1", port), way, timers) for port in plan.regions[other].each]
        return RegionClient(other, traffic_dials, key=key, clock=clock, version=lambda: state.version)

    clients = {other: client(other) for other in plan.world.regions}
    beside = RegionClient(name, [dial("127.0.0.1", port) for port in plan.regions[name].each], key=key, clock=clock, version=lambda: state.version)
    for one in (*clients.values(), beside):
        stack.push_async_callback(one.close)
    return Process(plan, name, worker, key, clock, state, RequestLog(home.log(called), called), Metrics(name), RequestIds(), clients, beside.peers)


def process_name(region_name: str, worker: int) -> str:
    """As the log, `status` and the supervisor call it: the writer has the region's name."""
    return f"{region_name}.{worker}" if worker else region_name


async def _writing(stack: AsyncExitStack, process: Process) -> tuple[build_region.Shared, list[Loop]]:
    """The store, and the loops that only its owner runs."""
    change_notifier = ChangeNotifier()
    store = await stack.enter_async_context(build_region.open_store(process.plan.home, process.name, process.clock))
    shared = process.shared(store, AnnouncedStore(store, change_notifier.notify), change_notifier)
    copying = build_region.replication(shared)
    returns = RecoveryProbes({other: client.carry for other, client in process.clients.items()}, copying.region_recovered, process.clock)
    process.metrics.gauges(lambda: build_region.gauges(copying))
    return shared, [copying.run, build_region.reconciler(shared).run, returns.watch]


async def _reading(stack: AsyncExitStack, process: Process) -> tuple[build_region.Shared, list[Loop]]:
    store = await ReadingStore.open(process.plan.home.store(process.name))
    stack.push_async_callback(store.close)
    return process.shared(store, store, ChangeNotifier()), [store.unlock]


def _answering(process: Process, shared: build_region.Shared, paths: MeasuredRouting) -> Handler:
    """Everything that a request to this process goes through, from the outside in."""
    plan, request_log, clock = process.plan, process.request_log, process.clock
    gateway = build_region.gateway(shared, process.ids)
    gateway.service_time.set(_service_times(plan.world, process.name))
    handler: Handler = gateway
    if plan.world.compat == "lenient":
        peers = {other: client.peer for other, client in process.clients.items()}
        handler = mrap_alias_routing.MrapAliasRouter(gateway, mrap_alias_routing.entry_router(shared, paths, peers, process.ids))
    if process.worker:
        handler = WritesElsewhere(handler, process.siblings[0], clock=clock, ids=process.ids)
    set_service_time = _service_time_action(gateway.service_time.set)
    actions = {SERVICE_TIME_PATH: set_service_time if process.worker else _everywhere(process, SERVICE_TIME_PATH, set_service_time)}
    observed = InternalEndpoints(handler, process.metrics, _region_health(process), actions, partial(_counted, process))
    return EnvelopeVerifier(
        UpToDate(observed, process.state.catch_up),
        key=process.key,
        clock=clock,
        refused=lambda why: request_log.event({"time": clock.now(), "event": "envelope refused", "reason": why}),
        audience=audience(process.worker),
    )


async def _listen(process: Process, server: Http1Server) -> None:
    """Plain and TLS, shared with the region's other processes; and a port of this process alone, when there are others."""
    host, address, clock = process.plan.host, process.address, process.clock
    several = bool(address.workers)
    await server.listen([bound(host, address.port, shared=several)])
    if several:
        await server.listen([bound(host, address.workers[process.worker])])
    context = server_context(LeafCertificates(load_ca(process.plan.home.root), clock.now), now=clock.now())
    await server.listen([bound(host, address.tls, shared=several)], over=lambda plain: over_tls(plain, context))


async def _counted(process: Process) -> list[Counters]:
    """What the region's other processes count; one that is away counts nothing just now."""
    return [msgspec.json.decode(response, type=Counters) for response in await _ask_siblings(process, COUNTERS, b"")]


def _everywhere(process: Process, path: str, act: Action) -> Action:
    """An action of the writer that the readers take as well."""

    async def acting(body: bytes) -> bytes:
        await _ask_siblings(process, path, body)
        return await act(body)

    return acting


async def _ask_siblings(process: Process, path: str, body: bytes) -> list[bytes]:
    asking = ForwardedContext("127.0.0.1", secure=False)
    answers = []
    for worker, sibling in enumerate(process.siblings):
        if worker != process.worker:
            with suppress(Upstream):
                headers = {"host": "127.0.0.1", "content-length": str(len(body))}
                response = await sibling(Request("POST", path, headers, Body.of(body), forwarded=asking))
                answers.append(await response.body.read_small(COUNTERS_MAX_BYTES))
    return answers


@asynccontextmanager
async def _stoppable_group() -> AsyncIterator[asyncio.TaskGroup]:
    """A TaskGroup that ends quietly when it is told to Leave."""
    try:
        async with asyncio.TaskGroup() as group:
            yield group
    except* StopProcess:
        pass


def _region_health(process: Process) -> Callable[[], dict[str, Any]]:
    return lambda: {
        "process": process_name(process.name, process.worker),
        "kind": "region",
        "ready": True,
        "pid": os.getpid(),
        "state_version": process.state.version,
        "state_trouble": process.state.last_error,
        "profile": process.plan.world.profile,
    }


def _service_time_action(set_service_time: Callable[[ServiceTimeSettings], None]) -> Callable[[bytes], Awaitable[bytes]]:
    async def act(body: bytes) -> bytes:
        set_service_time(msgspec.json.decode(body, type=ServiceTimeSettings))
        return b"{}"

    return act


async def serve_entry(plan: Plan, places: tuple[str, ...], ready: int) -> None:
    """The entry's process: a listener per place, until it is told to stop."""
    timers = Timers()
    clock = SystemClock(timers)
    home = plan.home
    metrics, request_log = Metrics("entry"), RequestLog(home.log("entry"), "entry")
    async with AsyncExitStack() as stack:
        stack.callback(timers.close)
        state = await stack.enter_async_context(_opened_state(home))
        shared = entry_listeners.Shared(
            plan.world, state, Identities(state, os.urandom), MrapLookup(state), LeafCertificates(load_ca(home.root), clock.now),
            home.node_key.read_bytes(), clock, timers, request_log, metrics, RequestIds(), plan.regions,
        )  # fmt: skip
        group = await stack.enter_async_context(_stoppable_group())
        group.create_task(state.follow())
        group.create_task(_flush(request_log))
        limits = limits_of(len(places) * SERVERS_PER_PLACE)
        servers = [await _open_place(stack, group, plan, shared, place, limits) for place in places]

        async def leave() -> None:
            async with asyncio.TaskGroup() as closing:
                for server in servers:
                    closing.create_task(server.close(GRACE_S))

        await _until_stopped(ready, group, leave)


async def _open_place(
    stack: AsyncExitStack, group: asyncio.TaskGroup, plan: Plan, shared: entry_listeners.Shared, place: str, limits: Limits
) -> Http1Server:
    single_place_entry = entry_listeners.EntryPlace(shared, place)
    stack.push_async_callback(single_place_entry.close)
    health = {"process": "entry", "kind": "entry", "place": place, "ready": True, "pid": os.getpid()}
    bug = _bug_logger(shared.request_log, shared.clock)  # type: ignore[arg-type]

    def stop_requested() -> dict[str, Any]:
        shared.request_log.flush()  # who asks for the entry's health may then read what it logged: `atoll explain --last`
        return health

    observed = InternalEndpoints(single_place_entry.entry_router, shared.metrics, stop_requested)
    server = Http1Server(UpToDate(observed, shared.state.catch_up), clock=shared.clock, limits=limits, on_bug=bug)
    refusing = Http1Server(single_place_entry.refusal(), clock=shared.clock, limits=limits, on_bug=bug)
    server.connect = single_place_entry.connector(server, refusing)
    await stack.enter_async_context(refusing)
    await stack.enter_async_context(server)
    shared.metrics.gauges(single_place_entry.gauges)
    group.create_task(single_place_entry.routing.watch())
    await server.listen([bound(plan.host, plan.entry_ports[place])])
    return server


def run(body: Callable[[], Awaitable[None]]) -> None:
    """Run a process's body on uvloop until it leaves."""

    async def main() -> None:
        await body()

    uvloop.run(main())
