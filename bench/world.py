"""How long does a world take to come up, and what do its processes weigh at rest? The built-in world: four regions and the entry.

    .venv/bin/python bench/world.py [--json FILE] [--times 3]
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

from peers import commit, machine
from servers import memory_mib, world

SETTLE_S = 3.0  # after `up`, before memory is read
RSS_MAX_MIB, UP_MAX_S = 120, 3.0  # DESIGN.md, section 6


def weigh(status: dict[str, object]) -> dict[str, tuple[float, float]]:
    """(RSS, PSS) per process, in MiB."""
    places = {place["process"]: place["pid"] for place in status["places"]}  # type: ignore[attr-defined]
    return {name: memory_mib(pid) for name, pid in {"supervisor": status["supervisor"], **places}.items()}


def measure(times: int) -> tuple[list[float], dict[str, tuple[float, float]]]:
    """Seconds of each `atoll up --detach` from a shell, in a new home each time; memory of the last world."""
    seconds, weights = [], {}
    for _ in range(times):
        with tempfile.TemporaryDirectory(prefix="atoll-bench-") as folder:
            with world(Path(folder, "home"), text=None, pinned=False) as status:
                seconds.append(float(str(status["up_s"])))
                time.sleep(SETTLE_S)
                weights = weigh(status)
    return seconds, weights


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--times", type=int, default=3)
    given = parser.parse_args()
    seconds, weights = measure(given.times)
    print(f"atoll up --detach: median {statistics.median(seconds):.2f} s, worst {max(seconds):.2f} s (must: {UP_MAX_S} s)")
    for name, (rss, pss) in weights.items():
        print(f"{name:16} RSS {rss:6.1f} MiB   PSS {pss:6.1f} MiB   (must: RSS below {RSS_MAX_MIB} MiB)")
    if given.json:
        common = {"table": "world", "place": "local", "published": None}
        cells = [{**common, "path": "up", "stat": "median", "value": statistics.median(seconds), "unit": "s", "n": given.times}]
        for name, values in weights.items():
            cells += [
                {**common, "path": name, "stat": stat, "value": value, "unit": "MiB", "n": 1}
                for stat, value in zip(("rss", "pss"), values, strict=True)
            ]
        results = {"experiment": "world", "profile": "native", "machine": machine(), "commit": commit(), "cells": cells}
        given.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
