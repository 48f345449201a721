"""The stages of a run, how long each is expected to take, and how much time is left. Pure: the time is an argument.

Expectations come from the drawn service times, the links and the plan; once a stage has said how far it is, its own pace counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

LONG_STAGE_S = 180.0  # a stage that takes longer says so before it starts
PACE_FROM = 0.1  # share of a stage that must be done before its own pace is believed


@dataclass(frozen=True, slots=True)
class Stage:
    """`expected_s`: on a machine with nothing else to do."""

    name: str
    text: str
    expected_s: float


def duration(seconds: float) -> str:
    """For people: whole seconds, from two minutes on minutes."""
    whole = max(0, round(seconds))
    return f"{whole} s" if whole < 120 else f"{whole // 60} min {whole % 60:02d} s"


def stage_left_s(expected_s: float, elapsed_s: float, share: float | None) -> float:
    """Seconds until the stage ends. `share`: how much of it is done, 0 to 1; None when it does not say."""
    if share is not None and share >= PACE_FROM:
        return elapsed_s / share * (1 - min(share, 1.0))
    return max(0.0, expected_s - elapsed_s)


def left_s(stages: Sequence[Stage], index: int, elapsed_s: float, share: float | None) -> float:
    """Seconds until the whole run ends, `elapsed_s` after stage `index` began."""
    return stage_left_s(stages[index].expected_s, elapsed_s, share) + sum(stage.expected_s for stage in stages[index + 1 :])


def opening(stages: Sequence[Stage], index: int) -> str:
    """What is said before a stage starts."""
    stage = stages[index]
    said = f"[{index + 1}/{len(stages)}] {stage.text}: about {duration(stage.expected_s)}"
    if stage.expected_s > LONG_STAGE_S:
        said += ", more than three minutes for this stage alone"
    return said if index else f"{said}; the whole run about {duration(left_s(stages, 0, 0.0, None))}"


def line(stages: Sequence[Stage], index: int, elapsed_s: float, share: float | None, detail: str = "") -> str:
    """What is said while a stage runs."""
    left = left_s(stages, index, elapsed_s, share)
    remaining = f"about {duration(left)} left" if left >= 1 else "nearly done"
    done = "" if share is None else f" {min(share, 1.0):.0%}"
    return f"[{index + 1}/{len(stages)}] {stages[index].text}{done}{detail and f' ({detail})'}; {remaining}"


class Shares:
    """How much is done of something that several callers do side by side or in turn, `total` by each."""

    def __init__(self, places: Sequence[str], total: int) -> None:
        self._done: dict[str, int] = dict.fromkeys(places, 0)
        self._total = total

    def done(self, place: str, count: int) -> None:
        self._done[place] = count

    def slowest(self) -> float:
        """Side by side: the last one decides when all are done."""
        return min(self._done.values()) / self._total

    def weighted(self, weights: Mapping[str, float]) -> float:
        """In turn: each counts as long as it takes."""
        whole = sum(weights[place] for place in self._done)
        return sum(weights[place] * done for place, done in self._done.items()) / (whole * self._total)
