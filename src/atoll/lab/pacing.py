"""How do the regions of a running world learn how slow AWS was measured? From us, under the world's own envelope."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Mapping

import msgspec

from atoll.domain.caller import Onward
from atoll.domain.errors import Upstream
from atoll.domain.message import Body, Request
from atoll.gateway.pace import PaceSettings, PathPace
from atoll.gateway.peer import Peer
from atoll.lab.callers import LabFailed
from atoll.lab.world import LabWorld
from atoll.net.client import Pool
from atoll.net.clock import SystemClock
from atoll.net.tcp import dial
from atoll.node.run import PACE_PATH
from atoll.rules.pace import Fit
from atoll.rules.published import Path, measured_inside

SET_S = 10.0
ANSWER_MAX_BYTES = 4096

NO_DRAWS = PaceSettings()
Overheads = Mapping[Path, Mapping[str, float]]  # ms, by path and region


def drawn(region: str, overheads: Overheads, *, seed: int) -> PaceSettings:
    """Service times as they were measured inside `region`, less what each path costs by itself."""
    paths: dict[str, PathPace] = {}
    for path in overheads:
        figure = measured_inside(region, path)
        if figure is not None:
            fit = Fit.through(figure)
            paths[path] = PathPace(fit.mu, fit.sigma, overheads[path][region])
    return PaceSettings(paths, seed=zlib.crc32(f"{seed} {region}".encode()))


def set_paces(world: LabWorld, settings: Mapping[str, PaceSettings]) -> None:
    """Each region's, at its own port. Raises LabFailed."""
    asyncio.run(_set_all(world, settings))


async def _set_all(world: LabWorld, settings: Mapping[str, PaceSettings]) -> None:
    for region, one in settings.items():
        try:
            async with asyncio.timeout(SET_S):
                await _set(world, region, one)
        except (Upstream, TimeoutError) as error:
            raise LabFailed(f"{region} did not take its pace: {error}") from error


async def _set(world: LabWorld, region: str, settings: PaceSettings) -> None:
    clock = SystemClock()
    port = int(world.run["regions"][region]["port"])
    body = Body.of(msgspec.json.encode(settings))
    headers = {"host": f"127.0.0.1:{port}", "content-type": "application/json", "content-length": str(body.length)}
    async with Pool(dial("127.0.0.1", port), region, clock=clock) as pool:
        peer = Peer(pool, key=world.home.node_key.read_bytes(), clock=clock)
        request = Request("POST", PACE_PATH, headers, body, onward=Onward("127.0.0.1", secure=False))
        response = await peer(request)
        said = await response.body.read_small(ANSWER_MAX_BYTES)
    if response.status != 200:
        raise LabFailed(f"{region} did not take its pace: {response.status} {said.decode(errors='replace')}")
