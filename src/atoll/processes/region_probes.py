"""Measures round trip and health of each region over a place's own links."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from atoll.domain.clock import Clock
from atoll.domain.interfaces import Handler
from atoll.gateway.entry_router import Mrap
from atoll.processes.recovery_probes import is_healthy
from atoll.rules.region_selection import Candidate, Choice, RegionSelector

PROBE_S = 1.0  # how often each region is asked, when it answers
PROBE_TIMEOUT_S = 2.0
RETRY_S = 0.2  # how often a region is asked that did not answer


@dataclass(slots=True)
class MeasuredRouting:
    """One place's probes. `expected_ms` is what the world's link table says, before the first sample."""

    place: str
    peers: Mapping[str, Handler]
    expected_ms: Callable[[str], float]
    clock: Clock
    region_selector: RegionSelector

    def lost(self, region: str) -> None:
        self.region_selector.lost(region)

    def healthy(self, region: str) -> bool:
        return self.region_selector.healthy(region)

    def candidates(self, mrap: Mrap) -> list[Candidate]:
        return [
            Candidate(region, bucket, mrap.traffic_dials.get(region, 0) == 100, self.healthy(region), self._rtt(region))
            for region, bucket in mrap.members.items()
        ]

    def choose(self, alias: str, candidates: list[Candidate]) -> Choice:
        return self.region_selector.choose(alias, candidates)

    def _rtt(self, region: str) -> float:
        measured = self.region_selector.rtt_ms(region)
        return self.expected_ms(region) if measured is None else measured

    async def watch(self) -> None:
        """Ask every region now and then, for as long as this runs. It also keeps a warm connection to each."""
        async with asyncio.TaskGroup() as group:
            for region, peer in self.peers.items():
                group.create_task(self._watch(region, peer))

    async def _watch(self, region: str, peer: Handler) -> None:
        while True:
            answered = await self._probe(region, peer)
            await self.clock.sleep(PROBE_S if answered else RETRY_S)

    async def _probe(self, region: str, peer: Handler) -> bool:
        began = self.clock.monotonic()
        answered = await is_healthy(peer, PROBE_TIMEOUT_S)
        if answered:
            self.region_selector.observe(region, (self.clock.monotonic() - began) * 1000)
        else:
            self.region_selector.failed(region)
        return answered
