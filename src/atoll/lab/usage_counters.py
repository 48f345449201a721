"""Counts what was copied between regions and what went through the access point, from the world's request logs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from atoll.lab.setup_resources import Setup
from atoll.rules.aws_cost import Copied, Counters

COPY = "ReplicateObject"
_decode = msgspec.json.Decoder().decode


def _events(logs: Path, region: str) -> Iterator[Mapping[str, Any]]:
    """Answered requests of a region, the turned-over log first."""
    for name in (f"{region}.jsonl.1", f"{region}.jsonl"):
        path = logs / name
        if path.exists():
            with path.open("rb") as file:
                yield from (event for event in map(_decode, file) if event["event"] == "request" and event["status"] < 300)


def counters(logs: Path, setup: Setup, kept_bytes: Mapping[str, int]) -> Counters:
    """Every copy is a PUT-class request at its destination, markers and changes of tags too."""
    copied: dict[str, Copied] = {}
    mrap_bytes = 0
    for region in setup.members:
        puts = sent = 0
        for event in _events(logs, region):
            if event["operation"] == COPY:
                puts, sent = puts + 1, sent + event["bytes_in"]
            elif event.get("access_point"):
                mrap_bytes += event["bytes_in"] + event["bytes_out"]
        if region in kept_bytes:
            copied[region] = Copied(puts, sent, kept_bytes[region])
    return Counters(copied, mrap_bytes)
