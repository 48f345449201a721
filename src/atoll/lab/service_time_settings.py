"""Sets the service times of a running world, under the world's own envelope."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Mapping

import msgspec

from atoll.domain.caller import ForwardedContext
from atoll.domain.errors import Upstream
from atoll.domain.http_message import Body, Request
from atoll.gateway.peer_requests import Peer
from atoll.gateway.service_time_emulation import PathServiceTime, ServiceTimeSettings
from atoll.lab.client_workers import LabFailed
from atoll.lab.temporary_world import LabWorld
from atoll.net.http1_pool import Pool
from atoll.net.system_clock import SystemClock
from atoll.net.tcp_sockets import dial
from atoll.processes.process_mains import SERVICE_TIME_PATH
from atoll.rules.published_latency import Path, measured_inside
from atoll.rules.service_time_distribution import Fit

SET_S = 10.0
RESPONSE_MAX_BYTES = 4096

NO_DRAWS = ServiceTimeSettings()
Overheads = Mapping[Path, Mapping[str, float]]  # ms, by path and region


def drawn(region: str, overheads: Overheads, *, seed: int) -> ServiceTimeSettings:
    """Service times as they were measured inside `region`, less what each path costs by itself."""
    paths: dict[str, PathServiceTime] = {}
    for path in overheads:
        figure = measured_inside(region, path)
        if figure is not None:
            fit = Fit.through(figure)
            paths[path] = PathServiceTime(fit.mu, fit.sigma, overheads[path][region])
    return ServiceTimeSettings(paths, seed=zlib.crc32(f"{seed} {region}".encode()))


def set_service_times(world: LabWorld, settings: Mapping[str, ServiceTimeSettings]) -> None:
    """Each region's, at its own port. Raises LabFailed."""
    asyncio.run(_set_all(world, settings))


async def _set_all(world: LabWorld, settings: Mapping[str, ServiceTimeSettings]) -> None:
    for region, one in settings.items():
        try:
            async with asyncio.timeout(SET_S):
                await _set(world, region, one)
        except (Upstream, TimeoutError) as error:
            raise LabFailed(f"{region} did not take its pace: {error}") from error


async def _set(world: LabWorld, region: str, settings: ServiceTimeSettings) -> None:
    clock = SystemClock()
    port = int(world.run["regions"][region]["port"])
    body = Body.of(msgspec.json.encode(settings))
    headers = {"host": f"127.0.0.1:{port}", "content-type": "application/json", "content-length": str(body.length)}
    async with Pool(dial("127.0.0.1", port), region, clock=clock) as pool:
        peer = Peer(pool, key=world.home.node_key.read_bytes(), clock=clock)
        request = Request("POST", SERVICE_TIME_PATH, headers, body, forwarded=ForwardedContext("127.0.0.1", secure=False))
        response = await peer(request)
        text = await response.body.read_small(RESPONSE_MAX_BYTES)
    if response.status != 200:
        raise LabFailed(f"{region} did not take its pace: {response.status} {text.decode(errors='replace')}")
