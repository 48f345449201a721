"""Probes the regions that replication writes to, so that an outage ends when it ends and not a backoff later."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from atoll.domain.clock import Clock
from atoll.domain.errors import Upstream
from atoll.domain.http_message import Request
from atoll.domain.interfaces import Handler
from atoll.gateway.internal_endpoints import HEALTH

ASK_S = 1.0  # between two questions to one region
RESPONSE_S = 2.0  # then it counts as away
RESPONSE_MAX_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class RecoveryProbes:
    """Calls `on_recovered(region)` when a region answers that did not answer before."""

    peers: Mapping[str, Handler]
    on_recovered: Callable[[str], None]
    clock: Clock

    async def watch(self) -> None:
        async with asyncio.TaskGroup() as group:
            for region, peer in self.peers.items():
                group.create_task(self._watch(region, peer))

    async def _watch(self, region: str, peer: Handler) -> None:
        away = False
        while True:
            answers = await is_healthy(peer, RESPONSE_S)
            if answers and away:
                self.on_recovered(region)
            away = not answers
            await self.clock.sleep(ASK_S)


async def is_healthy(peer: Handler, patience_s: float) -> bool:
    """One question to a process: does it answer that it is well?"""
    try:
        async with asyncio.timeout(patience_s):
            response = await peer(Request("GET", HEALTH, {"host": "127.0.0.1"}))
            await response.body.read_small(RESPONSE_MAX_BYTES)
    except (Upstream, TimeoutError):
        return False
    return response.status == 200
