"""How are the callers in their places told what to do, one after another or side by side?"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from atoll.node.environment import place_of, setting

SILENCE_S = 120.0  # longer than any single step of a caller; then it is given up
LEAVE_S = 5.0

Told = dict[str, Any]


class LabFailed(Exception):
    """The experiment cannot go on. The text says what happened, and where."""


class Refused(LabFailed):
    """A call was answered with an AWS error. `code` is AWS's."""

    def __init__(self, text: str, code: str) -> None:
        self.code = code
        super().__init__(text)


class CallerProcess:
    """One place's client process. `ask` is a command and its answer; `tell` and `together` let several work side by side."""

    def __init__(self, place: str, environment: Mapping[str, str], stderr: Path) -> None:
        self.place = place
        self.stderr = stderr
        with stderr.open("wb") as errors:
            self._process = subprocess.Popen(
                (sys.executable, "-m", "atoll.lab.caller"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=dict(environment),
                process_group=0,  # a Ctrl-C in the terminal is the lab's business; one session with all that is measured: see awake
            )
        self._received = b""

    def fileno(self) -> int:
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def tell(self, command: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(command).encode() + b"\n")
            self._process.stdin.flush()
        except OSError as error:
            raise self._gone() from error

    def lines(self) -> list[Told]:
        """What has arrived, whole lines only. Call it when the descriptor is readable."""
        piece = os.read(self.fileno(), 1 << 16)
        if not piece:
            raise self._gone()
        *whole, self._received = (self._received + piece).split(b"\n")
        return [self._checked(json.loads(line)) for line in whole]

    def ask(self, do: str, **members: Any) -> Told:
        """One command; its answer."""
        return together([self], {"do": do, **members})[self.place]

    def call(self, service: str, region: str, operation: str, **members: Any) -> Told:
        """One operation of an AWS API. Raises Refused."""
        done = self.ask("call", service=service, region=region, operation=operation, members=members)
        return dict(done["answer"])

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.close()
        except OSError:
            pass  # it has left before
        try:
            self._process.wait(LEAVE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def interrupt(self) -> None:
        """Do not wait for a running command."""
        self._process.terminate()

    def _checked(self, told: Told) -> Told:
        if "failed" in told:
            raise Refused(f"in {self.place}: {told['failed']}", told["code"])
        return told

    def _gone(self) -> LabFailed:
        words = self.stderr.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return LabFailed(f"the caller in {self.place} ended: {words[-1] if words else 'without a word'}")


def together(
    callers: Sequence[CallerProcess],
    command: Mapping[str, Any] | Callable[[CallerProcess], Mapping[str, Any]],
    heard: Callable[[str, Told], None] = lambda _place, _told: None,
) -> dict[str, Told]:
    """The same command, or one made for each, to several callers side by side; their answers by place."""
    for caller in callers:
        caller.tell(command(caller) if callable(command) else command)
    return collect(callers, heard)


def collect(callers: Sequence[CallerProcess], heard: Callable[[str, Told], None], *, until: str = "done") -> dict[str, Told]:
    """Wait until every caller said `until`; what else they say is `heard`. Raises LabFailed when all are silent too long."""
    answers: dict[str, Told] = {}
    with selectors.DefaultSelector() as selector:
        for caller in callers:
            selector.register(caller, selectors.EVENT_READ, caller)
        while selector.get_map():
            ready = selector.select(SILENCE_S)
            if not ready:
                silent = ", ".join(key.data.place for key in selector.get_map().values())
                raise LabFailed(f"no word for {SILENCE_S:.0f} s from the callers in {silent}")
            for key, _ in ready:
                for told in key.data.lines():
                    if until in told:
                        answers[key.data.place] = told[until] if isinstance(told[until], dict) else told
                        selector.unregister(key.data)
                    else:
                        heard(key.data.place, told)
    return answers


class Callers:
    """A caller in each place of a running world."""

    def __init__(self, run: Mapping[str, Any], home: Path, places: Sequence[str]) -> None:
        self.by_place = {
            place: CallerProcess(
                place, setting(run, home, place_of(run, place)).onto(os.environ), home / "logs" / f"caller-{place}.err"
            )
            for place in places
        }

    def __getitem__(self, place: str) -> CallerProcess:
        return self.by_place[place]

    def all(self) -> list[CallerProcess]:
        return list(self.by_place.values())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for caller in self.all():
            if kind is not None:
                caller.interrupt()
            caller.close()


def wait_for(what: str, holds: Callable[[], bool], *, timeout_s: float, pause_s: float = 0.1) -> float:
    """Seconds until `holds`. Raises LabFailed."""
    began = time.monotonic()
    while not holds():
        if time.monotonic() - began > timeout_s:
            raise LabFailed(f"{what}: not within {timeout_s:.0f} s")
        time.sleep(pause_s)
    return time.monotonic() - began
