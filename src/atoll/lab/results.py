"""The result of an experiment: figures, each beside the published one, and all that is needed to judge or repeat them."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

from atoll import __version__
from atoll.lab.propagation import Overwrite
from atoll.lab.quantiles import deviation_percent, p50, p95
from atoll.processes.world_config import Profile, World
from atoll.rules.published_latency import ALL_THREE_BUCKETS_S, PREDICTED, READABLE_IN_TOKYO_S, S3_API
from atoll.rules.published_latency import Path as ReadPath

INSTRUMENT = "application-level delay wrapper in the entry's process (net/wan_emulation); no kernel traffic shaping"
PATHS: tuple[ReadPath, ReadPath] = ("single", "mrap")
NATIVE_LIMITS_MS = {"mrap_over_direct": 1.5, "single_over_link": 3.0}

Kind = Literal["fitted", "predicted"]
Json = dict[str, Any]
Samples = Mapping[str, Mapping[str, Sequence[Sequence[float]]]]  # ms by place, path, round and file
ClientCpu = Mapping[str, Mapping[str, Sequence[float]]]  # ms by place and path, one per read


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure. `kind` says whether the distribution behind it was fitted to the published cell (profile aws only)."""

    table: str
    place: str
    path: str
    stat: str
    value: float
    unit: str
    n: int
    published: float | None = None
    kind: Kind | None = None
    limit: float | None = None

    @property
    def deviation_percent(self) -> float | None:
        return None if self.published is None else deviation_percent(self.value, self.published)

    def as_json(self) -> Json:
        result: Json = {name: getattr(self, name) for name in ("table", "place", "path", "stat")}
        result |= {"value": round(self.value, 4), "unit": self.unit, "n": self.n, "published": self.published}
        if self.deviation_percent is not None:
            result["deviation_percent"] = round(self.deviation_percent, 2)
        if self.kind is not None:
            result["kind"] = self.kind
        if self.limit is not None:
            result["limit"] = self.limit
        return result


def flatten(rounds: Sequence[Sequence[float]]) -> list[float]:
    return [value for one in rounds for value in one]


def read_cells(samples: Samples, profile: Profile) -> Iterator[Cell]:
    """p50 and p95 of both paths from every place."""
    for place, by_path in samples.items():
        for path in PATHS:
            values, figure = flatten(by_path.get(path, ())), S3_API.get((place, path))
            if not values:
                continue  # of a run that was interrupted
            kind: Kind | None = None
            if profile == "aws":
                kind = "predicted" if (place, path) in PREDICTED else "fitted"
            yield Cell("s3_api", place, path, "p50", p50(values), "ms", len(values), figure.p50 if figure else None, kind)
            yield Cell("s3_api", place, path, "p95", p95(values), "ms", len(values), figure.p95 if figure else None, kind)


def native_cells(samples: Samples, cpu: ClientCpu, world: World, home: str) -> Iterator[Cell]:
    """How much our own paths cost: against a direct read of the region's bucket, and against the bare round trip, as the
    caller sees it and with the client's own CPU taken off each read."""
    for place, by_path in samples.items():
        if not all(flatten(by_path.get(path, ())) for path in (*PATHS, "direct")):
            continue  # of a run that was interrupted
        direct, n = flatten(by_path["direct"]), len(flatten(by_path["direct"]))
        yield Cell("native", place, "direct", "p50", p50(direct), "ms", n)
        yield Cell("native", place, "direct", "p95", p95(direct), "ms", n)
        single, rtt_ms = flatten(by_path["single"]), world.distance(place, home).rtt_ms
        over = {
            "mrap_over_direct": p50(flatten(by_path["mrap"])) - p50(direct),
            "single_over_link": p50(single) - rtt_ms,
            "single_over_link_less_client_cpu": p50(_minus(single, cpu[place]["single"])) - rtt_ms,
        }
        for name, value in over.items():
            yield Cell("native", place, name, "p50_difference", value, "ms", n, limit=NATIVE_LIMITS_MS.get(name))


def _minus(values: Sequence[float], spent: Sequence[float]) -> list[float]:
    return [value - cpu for value, cpu in zip(values, spent, strict=True)]


def client_cells(cpu: ClientCpu) -> Iterator[Cell]:
    """What of each read is the client's own CPU: part of what a caller sees, and none of the server's doing."""
    for place, by_path in cpu.items():
        for path, values in by_path.items():
            yield Cell("client_cpu", place, path, "p50", p50(values), "ms", len(values))


def propagation_cells(overwrites: Sequence[Overwrite]) -> Iterator[Cell]:
    """Means, beside the published means."""
    columns = {
        "all_three_buckets": ([one.all_buckets_s for one in overwrites], ALL_THREE_BUCKETS_S),
        "readable_through_mrap": ([one.readable_s for one in overwrites], READABLE_IN_TOKYO_S),
    }
    for path, (values, published) in columns.items():
        if values:
            mean, theirs = sum(values) / len(values), sum(published) / len(published)
            yield Cell("replication", "us-east-1", path, "mean", mean, "s", len(values), round(theirs, 3))


def propagation(overwrites: Sequence[Overwrite]) -> Json:
    return {
        "all_buckets_s": [round(one.all_buckets_s, 4) for one in overwrites],
        "readable_through_mrap_s": [round(one.readable_s, 4) for one in overwrites],
        "stale_reads": sum(one.stale_reads for one in overwrites),
        "stale_reads_each": [one.stale_reads for one in overwrites],
        "by_bucket_s": [{place: round(value, 4) for place, value in one.buckets_s.items()} for one in overwrites],
        "published": {"all_buckets_s": list(ALL_THREE_BUCKETS_S), "readable_through_mrap_s": list(READABLE_IN_TOKYO_S)},
    }


def distances(world: World, places: Sequence[str]) -> list[Json]:
    """Round trips of every link between the places, and where each figure comes from."""
    return [
        {"between": [a, b], "rtt_ms": world.distance(a, b).rtt_ms, "source": world.distance(a, b).source}
        for a, b in combinations(places, 2)
    ]


def machine() -> Json:
    """The computer that it ran on, without its name."""
    return {
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "cpus": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "python": platform.python_version(),
        "load_1m": round(os.getloadavg()[0], 2),
    }


def commit() -> str:
    """The sources' git commit; of an installed package, which may lie inside somebody's repository, the version."""
    root = Path(__file__).parents[3]
    if not (root / ".git").exists():
        return f"atoll {__version__}"
    try:
        result = subprocess.run(  # noqa: S603 - a fixed command
            (shutil.which("git") or "git", "rev-parse", "HEAD"), cwd=root, capture_output=True, text=True, timeout=5, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return f"atoll {__version__}"
    return result.stdout.strip()


def write(path: Path, result: Json, samples: Samples) -> None:
    """The result, and every single reading in PATH.samples.jsonl."""
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    with path.with_name(f"{path.name}.samples.jsonl").open("w", encoding="utf-8") as file:
        for place, by_path in samples.items():
            for way, rounds in by_path.items():
                for number, values in enumerate(rounds):
                    for index, value in enumerate(values):
                        row = {"place": place, "path": way, "round": number, "file": index, "ms": round(value, 4)}
                        file.write(json.dumps(row) + "\n")
