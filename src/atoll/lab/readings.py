"""Timed reads as they come in, by place, path and round: what is here when a run is interrupted is what was measured."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

Row = tuple[str, int, float, float]  # path, round, milliseconds, the client's own CPU in them


@dataclass(slots=True)
class Readings:
    """`samples`: milliseconds by place, path and round. `cpu_ms`: by place and path, in the same order."""

    samples: dict[str, dict[str, list[list[float]]]] = field(default_factory=dict)
    cpu_ms: dict[str, dict[str, list[float]]] = field(default_factory=dict)

    def add(self, place: str, rows: Iterable[Row]) -> None:
        """Rows of one place, the rounds in order."""
        samples, cpu = self.samples.setdefault(place, {}), self.cpu_ms.setdefault(place, {})
        for path, number, took_ms, cpu_ms in rows:
            rounds = samples.setdefault(path, [])
            rounds += [[] for _ in range(number + 1 - len(rounds))]
            rounds[number].append(took_ms)
            cpu.setdefault(path, []).append(cpu_ms)

    def ordered(self, places: Iterable[str]) -> Readings:
        """The same, places in this order whoever was first to answer."""
        known = [place for place in places if place in self.samples]
        return Readings({place: self.samples[place] for place in known}, {place: self.cpu_ms[place] for place in known})

    def count(self, place: str) -> int:
        return sum(len(values) for values in self.cpu_ms.get(place, {}).values())
