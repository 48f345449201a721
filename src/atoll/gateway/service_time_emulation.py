"""Holds answers back in profile aws: until arrival + the drawn service time - what the path costs anyway."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from atoll.domain.clock import Clock
from atoll.rules.service_time_distribution import Fit, wait_s

DELAYED_OPERATIONS = frozenset(("GetObject",))


class PathServiceTime(msgspec.Struct, frozen=True):
    """One path's distribution, and the near p50 of the same path measured without draws (ms)."""

    mu: float
    sigma: float
    overhead_ms: float


class ServiceTimeSettings(msgspec.Struct, frozen=True):
    """What a lab tells a region: per path ("single", "mrap") a pace; none lets answers go at once."""

    paths: Mapping[str, PathServiceTime] = {}
    seed: int = 0


@dataclass(slots=True)
class ServiceTimeDelay:
    """Holds answers back. Draws apply to object reads only."""

    clock: Clock
    settings: ServiceTimeSettings = field(default_factory=ServiceTimeSettings)
    rng: random.Random = field(default_factory=random.Random)

    def set(self, settings: ServiceTimeSettings) -> None:
        self.settings, self.rng = settings, random.Random(settings.seed)

    async def delay_response(self, operation: str, path: str, arrived: float) -> None:
        """Return when the answer to a request that arrived at `arrived` (monotonic seconds) is due."""
        service_time = self.settings.paths.get(path)
        if service_time is None or operation not in DELAYED_OPERATIONS:
            return
        wait = wait_s(Fit(service_time.mu, service_time.sigma).draw_ms(self.rng.random()), service_time.overhead_ms)
        await self.clock.sleep(arrived + wait - self.clock.monotonic())
