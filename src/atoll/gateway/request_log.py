"""The request log: one wide event per request and per background step, as JSON lines; secrets never.

Lines are gathered and written a few times a second: an event that a crash loses is a line of log, never data.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

LINES_MAX = 10_000  # gathered lines; beyond that they are written at once
LOG_MAX_BYTES = 64 * 1024 * 1024  # then the file becomes NAME.1 and a new one begins
TAIL_BYTES = 1024 * 1024  # of each log, in which the newest request is looked for
FLUSH_S = 0.2  # the node flushes this often

_encode = msgspec.json.Encoder(enc_hook=str).encode


class PermissionDecision(msgspec.Struct, frozen=True):
    """One permission that was asked for, and what became of it."""

    action: str
    resource: str
    outcome: str
    reason: str
    statement: str


class RequestEvent(msgspec.Struct, omit_defaults=True, tag_field="event", tag="request"):
    """What is told of every request. `decided` are the permissions asked for. `place`, `entry_request_id` and `access_point` are there when an entry took it. `account` is the caller's, `owner` the account of the resource that was asked about last."""

    process: str
    time: float
    request_id: str
    service: str
    operation: str
    region: str
    caller: str
    bucket: str
    key: str
    status: int
    bytes_in: int
    bytes_out: int
    ms: float
    peer: str
    decided: Sequence[PermissionDecision] = ()
    place: str = ""
    entry_request_id: str = ""
    access_point: str = ""
    account: str = ""
    owner: str = ""


class RequestLog:
    """A log of one process. `event` and `request` are cheap; `flush` writes."""

    def __init__(self, path: Path | None, process: str) -> None:
        self._path = path
        self.process = process
        self._lines: list[bytes] = []

    def event(self, fields: Mapping[str, Any]) -> None:
        self._add(_encode({"process": self.process, **fields}))

    def request(self, event: RequestEvent, more: Mapping[str, Any]) -> None:
        """One request; `more` are what its operation had to tell."""
        line = _encode(event)
        self._add(line[:-1] + b"," + _encode(more)[1:] if more else line)

    def _add(self, line: bytes) -> None:
        self._lines.append(line)
        if len(self._lines) >= LINES_MAX:
            self.flush()

    def flush(self) -> None:
        """Write what has gathered. A log that cannot be written (disk full) is dropped: requests go on."""
        if not self._lines:
            return
        lines, self._lines = self._lines, []
        if self._path is None:
            return
        try:
            self._rotate()
            with self._path.open("ab") as file:
                file.write(b"\n".join(lines) + b"\n")
        except OSError:
            return

    def _rotate(self) -> None:
        if self._path is not None and self._path.exists() and self._path.stat().st_size > LOG_MAX_BYTES:
            self._path.rename(self._path.with_name(self._path.name + ".1"))


def find(logs: Path, request_id: str) -> Iterator[dict[str, Any]]:
    """All events of one request, from every process of a world, in the order of their time."""
    wanted = request_id.encode()
    found: list[dict[str, Any]] = []
    for path in sorted(logs.glob("*.jsonl*")):
        with path.open("rb") as file:
            found += [event for line in file if wanted in line and (event := _decoded(line)) is not None]
    yield from sorted(
        (event for event in found if request_id in (event.get("request_id"), event.get("entry_request_id"))),
        key=lambda event: float(event.get("time", 0)),
    )


def last(logs: Path) -> dict[str, Any] | None:
    """The newest request that a client made: what an entry took, or what came to a region under its own name."""
    found = [event for path in logs.glob("*.jsonl") for event in map(_decoded, _tail(path)) if event is not None and _of_client(event)]
    return max(found, key=lambda event: float(event.get("time", 0)), default=None)


def _of_client(event: Mapping[str, Any]) -> bool:
    """Not what another process of the world asked a region: that has the place it came from."""
    return event.get("event") == "entry" or (event.get("event") == "request" and not event.get("place"))


def _tail(path: Path) -> list[bytes]:
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES))
        return file.read().splitlines()


def _decoded(line: bytes) -> dict[str, Any] | None:
    """An event; None for a line that a kill cut short."""
    try:
        return dict(msgspec.json.decode(line))
    except msgspec.DecodeError:
        return None


class RequestIds:
    """Sixteen hex digits, unique in a world: 32 random bits of the process, then a count."""

    def __init__(self, start: bytes | None = None) -> None:
        self._numbers = itertools.count((int.from_bytes(start or os.urandom(4), "big") << 32) + 1)

    def next(self) -> str:
        return next(self._numbers).to_bytes(8, "big").hex().upper()
