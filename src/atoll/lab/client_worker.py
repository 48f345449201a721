"""A process in one place with unmodified botocore, which reads and writes as it is told in JSON lines.

One such process stands in each place, so that one client's CPU does not disturb another. It is started with the environment of
`atoll exec --from PLACE`, opens one connection per path, and answers every command with one line.
"""

from __future__ import annotations

import base64
import gc
import hashlib
import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import botocore.session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from atoll.lab.readings import Readings, Row

REPORT_EVERY_S = 0.5  # what was read so far; between two reads, never in one
Command = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Way:
    """A path to the objects: a client with one connection, and the bucket or access point that it asks."""

    client: Any
    bucket: str

    def read(self, key: str) -> bytes:
        return bytes(self.client.get_object(Bucket=self.bucket, Key=key)["Body"].read())


class WrongContent(Exception):
    """An answer that is not what was stored."""


@dataclass(slots=True)
class Caller:
    """`on_message` writes a line to whoever commands."""

    on_message: Callable[[Mapping[str, Any]], None]
    ways: dict[str, Way] = field(default_factory=dict)
    session: Any = field(default_factory=botocore.session.get_session)

    def execute(self, command: Command) -> Mapping[str, Any]:
        match command["do"]:
            case "open":
                return self._open(command)
            case "call":
                return self._call(command)
            case "put":
                return self._put(command)
            case "read":
                return self._read(command)
            case "watch":
                return self._watch(command)
            case "poll":
                return self._poll(command)
        raise ValueError(f"unknown command {command['do']!r}")

    def _open(self, command: Command) -> Mapping[str, Any]:
        # A read that was tried twice would be two reads in one figure: no retries on measured paths.
        config = Config(max_pool_connections=1, retries={"total_max_attempts": 1})
        for path, (region, bucket) in command["ways"].items():
            self.ways[path] = Way(self.session.create_client("s3", region_name=region, config=config), bucket)
        return {}

    def _call(self, command: Command) -> Mapping[str, Any]:
        """Any operation, for setting up."""
        client = self.session.create_client(command["service"], region_name=command["region"])
        result = client._make_api_call(command["operation"], command["members"])
        result.pop("ResponseMetadata", None)
        return {"answer": result}

    def _put(self, command: Command) -> Mapping[str, Any]:
        """Each file in turn; when the last one began to be written and when it was acknowledged (monotonic seconds)."""
        way, began, answered = self.ways[command["path"]], 0.0, 0.0
        for key, content in command["files"]:
            body = base64.b64decode(content)
            began = time.monotonic()
            way.client.put_object(
                Bucket=way.bucket, Key=key, Body=body, ContentType="application/json", ContentEncoding="gzip"
            )
            answered = time.monotonic()
        return {"began": began, "answered": answered}

    def _read(self, command: Command) -> Mapping[str, Any]:
        """Milliseconds per path, round and file, one read at a time. The paths of one file follow each other closely, and
        which goes first changes, so that all of them meet the same minute. Rows of path, round, milliseconds and this
        process's CPU in them are told while it goes on, so that nothing is lost with a caller that is stopped.
        `pause_s` before each read, not timed. No file is begun later than `limit_s` after the first."""
        for path in command["paths"]:  # opens the connection; not timed
            self._checked(path, *command["files"][0])
        gc.collect()
        gc.disable()
        readings = Readings()
        try:
            for rows in _now_and_then(self._rounds(command)):
                self.on_message({"rows": rows})
                readings.add("here", rows)
        finally:
            gc.enable()
        return {"samples": readings.samples.get("here", {}), "cpu_ms": readings.cpu_ms.get("here", {})}

    def _rounds(self, command: Command) -> Iterator[Row]:
        pause_s, end = command.get("pause_s", 0.0), time.monotonic() + command.get("limit_s", math.inf)
        for number in range(command["rounds"]):
            for index, (key, md5) in enumerate(command["files"]):
                if time.monotonic() > end:
                    return
                for path in _rotated(command["paths"], number + index):
                    if pause_s:
                        time.sleep(pause_s)
                    yield path, number, *self._checked(path, key, md5)

    def _checked(self, path: str, key: str, md5: str) -> tuple[float, float]:
        """One read, in milliseconds as the caller sees it: from the call to the last byte; and this thread's CPU in it."""
        way = self.ways[path]
        cpu, began = time.thread_time(), time.perf_counter()
        content = way.read(key)
        took, used = time.perf_counter() - began, time.thread_time() - cpu
        if hashlib.md5(content).hexdigest() != md5:
            raise WrongContent(f"{key} through {path} is not what was stored")
        return took * 1000, used * 1000

    def _watch(self, command: Command) -> Mapping[str, Any]:
        """Read until every path shows the new content. When it did, and when the reads began that still showed old content."""
        wanted, key, waiting = base64.b64decode(command["content"]), command["key"], list(command["paths"])
        end = time.monotonic() + command["timeout_s"]
        seen: dict[str, float] = {}
        stale: dict[str, list[float]] = {path: [] for path in waiting}
        announced = False
        while waiting and time.monotonic() < end:
            for path in tuple(waiting):
                began = time.monotonic()
                if self.ways[path].read(key) == wanted:
                    seen[path] = time.monotonic()
                    waiting.remove(path)
                else:
                    stale[path].append(began)
            if not announced:
                self.on_message({"watching": True})
                announced = True
            time.sleep(command["pause_s"])
        return {"seen": seen, "stale": stale}

    def _poll(self, command: Command) -> Mapping[str, Any]:
        """Read one file again and again until so many reads were answered, or the time is over: when each read began and
        ended, and the error's code. A wrong content is an error too."""
        (key, md5), end, answered = command["file"], time.monotonic() + command["timeout_s"], 0
        reads: list[tuple[float, float, str]] = []
        while answered < command["answered"] and time.monotonic() < end:
            began = time.monotonic()
            error = self._failure(command["path"], key, md5)
            reads.append((began, time.monotonic(), error))
            answered += not error
            self.on_message({"answered": answered})
            time.sleep(command["pause_s"])
        return {"reads": reads}

    def _failure(self, path: str, key: str, md5: str) -> str:
        try:
            self._checked(path, key, md5)
        except ClientError as error:
            return str(error.response["Error"]["Code"])
        except (BotoCoreError, WrongContent) as error:
            return type(error).__name__
        return ""


def _now_and_then(rows: Iterator[Row]) -> Iterator[list[Row]]:
    """What came since the last time, twice a second, and the rest."""
    kept: list[Row] = []
    last = time.monotonic()
    for row in rows:
        kept.append(row)
        if time.monotonic() - last > REPORT_EVERY_S:
            yield kept
            kept, last = [], time.monotonic()
    yield kept


def _rotated(paths: list[str], by: int) -> list[str]:
    first = by % len(paths)
    return paths[first:] + paths[:first]


def _commands() -> Iterator[Command]:
    for line in sys.stdin:
        yield json.loads(line)


def _write_message(message: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(message, default=str) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Until standard input ends."""
    caller = Caller(_write_message)
    for command in _commands():
        try:
            _write_message({"done": caller.execute(command)})
        except ClientError as error:
            _write_message({"failed": str(error), "code": error.response["Error"]["Code"]})
        except (BotoCoreError, WrongContent, OSError) as error:
            _write_message({"failed": f"{type(error).__name__}: {error}", "code": ""})


if __name__ == "__main__":
    main()
