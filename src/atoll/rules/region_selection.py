"""Chooses the nearest copy: measured round trips, health and routes of one place, without flapping.

Source: mrap.md, section 7; S3 user guide, "Multi-Region Access Point request routing" and "failover".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from atoll.domain.errors import ApiError

FAILURES_MAX = 2  # probes in a row without an answer; then a region counts as down, until it answers once
SMOOTHING = 0.2  # weight of a new sample in the moving average
BETTER_PART, BETTER_MS = 0.10, 2.0  # how much nearer another region must be before traffic moves there
BETTER_SAMPLES = 3  # and for how many of its samples in a row
ALIASES_MAX = 10_000  # choices remembered


@dataclass(frozen=True, slots=True)
class Candidate:
    """A member of an access point as one place sees it."""

    region: str
    bucket: str
    active: bool
    healthy: bool
    rtt_ms: float


@dataclass(frozen=True, slots=True)
class Choice:
    """Where a request goes, and why."""

    region: str
    bucket: str
    reason: str


@dataclass(slots=True)
class _RegionStats:
    rtt_ms: float | None = None
    failures: int = 0
    samples: int = 0


@dataclass(slots=True)
class _CurrentChoice:
    """The region an alias is answered from, and since how many samples another one has been clearly nearer."""

    region: str
    rival: str = ""
    rival_since: int = 0


class RegionSelector:
    """What one place knows of the regions: `observe` and `failed` feed it, `choose` decides."""

    def __init__(self) -> None:
        self._seen: dict[str, _RegionStats] = {}
        self._present: dict[str, _CurrentChoice] = {}

    def observe(self, region: str, rtt_ms: float) -> None:
        """A probe came back. The first answer after an outage starts the average anew: the path may be another."""
        seen = self._seen.setdefault(region, _RegionStats())
        fresh = seen.rtt_ms is None or seen.failures >= FAILURES_MAX
        seen.rtt_ms = rtt_ms if fresh or seen.rtt_ms is None else seen.rtt_ms + SMOOTHING * (rtt_ms - seen.rtt_ms)
        seen.failures = 0
        seen.samples += 1

    def failed(self, region: str) -> None:
        """A probe did not come back."""
        self._seen.setdefault(region, _RegionStats()).failures += 1

    def lost(self, region: str) -> None:
        """Nobody is there: no second probe is needed to say so."""
        seen = self._seen.setdefault(region, _RegionStats())
        seen.failures = max(seen.failures, FAILURES_MAX)

    def healthy(self, region: str) -> bool:
        return self._seen.get(region, _RegionStats()).failures < FAILURES_MAX

    def rtt_ms(self, region: str) -> float | None:
        """The moving average; None before the first sample."""
        return self._seen.get(region, _RegionStats()).rtt_ms

    def choose(self, alias: str, candidates: Sequence[Candidate]) -> Choice:
        """The nearest active healthy member. Raises ServiceUnavailable when none is left: passive ones are never used."""
        able = [candidate for candidate in candidates if candidate.active and candidate.healthy]
        if not able:
            passive = sum(not candidate.active for candidate in candidates)
            raise ApiError(
                "ServiceUnavailable",
                f"No active region of {alias} answers ({len(candidates) - passive} active, {passive} passive). Try again.",
            )
        nearest = min(able, key=lambda candidate: (candidate.rtt_ms, candidate.region))
        parse_signature = self._present.get(alias)
        kept = next((one for one in able if parse_signature is not None and one.region == parse_signature.region), None)
        if parse_signature is None or kept is None:
            return self._settle(alias, nearest, "nearest active region" if parse_signature is None else f"{parse_signature.region} left")
        if nearest.region == kept.region:
            parse_signature.rival = ""
            return Choice(kept.region, kept.bucket, "nearest active region")
        if not self._clearly(parse_signature, nearest, kept):
            return Choice(kept.region, kept.bucket, f"{nearest.region} is not clearly nearer")
        return self._settle(alias, nearest, f"clearly nearer than {kept.region}")

    def _clearly(self, parse_signature: _CurrentChoice, nearest: Candidate, kept: Candidate) -> bool:
        """Is the rival nearer by 10 % or 2 ms, and has it been for three of its samples?"""
        gain = kept.rtt_ms - nearest.rtt_ms
        if gain < BETTER_MS and gain < BETTER_PART * kept.rtt_ms:
            parse_signature.rival = ""
            return False
        samples = self._seen.get(nearest.region, _RegionStats()).samples
        if parse_signature.rival != nearest.region:
            parse_signature.rival, parse_signature.rival_since = nearest.region, samples
        return samples - parse_signature.rival_since >= BETTER_SAMPLES

    def _settle(self, alias: str, chosen: Candidate, reason: str) -> Choice:
        if len(self._present) >= ALIASES_MAX:
            self._present.clear()
        self._present[alias] = _CurrentChoice(chosen.region)
        return Choice(chosen.region, chosen.bucket, reason)
