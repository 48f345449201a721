"""A log-normal distribution through the published p50 and p95 of reads, and draws from it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from atoll.rules.published_latency import Figure

Z95 = NormalDist().inv_cdf(0.95)


@dataclass(frozen=True, slots=True)
class Fit:
    """Log-normal: `mu` and `sigma` of the natural logarithm of milliseconds."""

    mu: float
    sigma: float

    @classmethod
    def through(cls, figure: Figure) -> Fit:
        """The one that has this median and this 95th percentile."""
        mu = math.log(figure.p50)
        return cls(mu, (math.log(figure.p95) - mu) / Z95)

    def draw_ms(self, uniform: float) -> float:
        """The value at quantile `uniform` (0 < uniform < 1)."""
        return math.exp(self.mu + self.sigma * NormalDist().inv_cdf(min(max(uniform, 1e-9), 1 - 1e-9)))


def wait_s(draw_ms: float, overhead_ms: float) -> float:
    """The draw is the whole time that a caller inside the region sees, so what the path costs by itself comes off."""
    return max(0.0, draw_ms - overhead_ms) / 1000
