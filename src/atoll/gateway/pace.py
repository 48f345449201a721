"""Profile aws: when may the answer to an object read leave? At arrival + what was drawn - what the path costs anyway."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from atoll.domain.clock import Clock
from atoll.rules.pace import Fit, wait_s

PACED_OPERATIONS = frozenset(("GetObject",))


class PathPace(msgspec.Struct, frozen=True):
    """One path's distribution, and the near p50 of the same path measured without draws (ms)."""

    mu: float
    sigma: float
    overhead_ms: float


class PaceSettings(msgspec.Struct, frozen=True):
    """What a lab tells a region: per path ("single", "mrap") a pace; none lets answers go at once."""

    paths: Mapping[str, PathPace] = {}
    seed: int = 0


@dataclass(slots=True)
class Pace:
    """Holds answers back. Draws apply to object reads only."""

    clock: Clock
    settings: PaceSettings = field(default_factory=PaceSettings)
    dice: random.Random = field(default_factory=random.Random)

    def set(self, settings: PaceSettings) -> None:
        self.settings, self.dice = settings, random.Random(settings.seed)

    async def hold(self, operation: str, path: str, arrived: float) -> None:
        """Return when the answer to a request that arrived at `arrived` (monotonic seconds) is due."""
        pace = self.settings.paths.get(path)
        if pace is None or operation not in PACED_OPERATIONS:
            return
        wait = wait_s(Fit(pace.mu, pace.sigma).draw_ms(self.dice.random()), pace.overhead_ms)
        await self.clock.sleep(arrived + wait - self.clock.monotonic())
