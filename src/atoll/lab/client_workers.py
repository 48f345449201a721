"""Starts and commands the client processes of all places, one after another or side by side."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from atoll.processes.client_environment import place_of, setting

SILENCE_S = 120.0  # longer than any single step of a caller; then it is given up
LEAVE_S = 5.0

Message = dict[str, Any]


class LabFailed(Exception):
    """The experiment cannot go on. The text says what happened, and where."""


class Refused(LabFailed):
    """A call was answered with an AWS error. `code` is AWS's."""

    def __init__(self, text: str, code: str) -> None:
        self.code = code
        super().__init__(text)


class CallerProcess:
    """One place's client process. `ask` is a command and its answer; `tell` and `run_together` let several work side by side."""

    def __init__(self, place: str, environment: Mapping[str, str], stderr: Path) -> None:
        self.place = place
        self.stderr = stderr
        with stderr.open("wb") as errors:
            self._process = subprocess.Popen(
                (sys.executable, "-m", "atoll.lab.client_worker"),
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
            raise self._process_ended() from error

    def lines(self) -> list[Message]:
        """What has arrived, whole lines only. Call it when the descriptor is readable."""
        piece = os.read(self.fileno(), 1 << 16)
        if not piece:
            raise self._process_ended()
        *whole, self._received = (self._received + piece).split(b"\n")
        return [self._checked(json.loads(line)) for line in whole]

    def ask(self, do: str, **members: Any) -> Message:
        """One command; its answer."""
        return run_together([self], {"do": do, **members})[self.place]

    def call(self, service: str, region: str, operation: str, **members: Any) -> Message:
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

    def _checked(self, message: Message) -> Message:
        if "failed" in message:
            raise Refused(f"in {self.place}: {message['failed']}", message["code"])
        return message

    def _process_ended(self) -> LabFailed:
        words = self.stderr.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return LabFailed(f"the caller in {self.place} ended: {words[-1] if words else 'without a word'}")


def run_together(
    callers: Sequence[CallerProcess],
    command: Mapping[str, Any] | Callable[[CallerProcess], Mapping[str, Any]],
    on_message: Callable[[str, Message], None] = lambda _place, _message: None,
) -> dict[str, Message]:
    """The same command, or one made for each, to several callers side by side; their answers by place."""
    for caller in callers:
        caller.tell(command(caller) if callable(command) else command)
    return collect(callers, on_message)


def collect(callers: Sequence[CallerProcess], on_message: Callable[[str, Message], None], *, until: str = "done") -> dict[str, Message]:
    """Wait until every caller said `until`; what else they say is `on_message`. Raises LabFailed when all are silent too long."""

    def one() -> Generator[Wait, dict[str, Message], dict[str, Message]]:
        return (yield Wait(callers, on_message, until))

    [answers] = side_by_side(one())
    return dict(answers)


@dataclass(frozen=True, slots=True)
class Wait:
    """What a conversation waits for: that each of `callers` says `until`. What else they say goes to `on_message`."""

    callers: Sequence[CallerProcess]
    on_message: Callable[[str, Message], None] = lambda _place, _message: None
    until: str = "done"


Conversation = Generator[Wait, dict[str, Message], Any]


class _Running:
    """A conversation under way: what it waits for, and who has answered."""

    def __init__(self, conversation: Conversation, selector: selectors.BaseSelector) -> None:
        self.conversation, self.selector = conversation, selector
        self.result: Any = None
        self.wait = Wait(())
        self.answers: dict[str, Message] = {}
        self.resume(None)

    def resume(self, answers: dict[str, Message] | None) -> None:
        try:
            self.wait = next(self.conversation) if answers is None else self.conversation.send(answers)
        except StopIteration as ended:
            self.result = ended.value
            return
        self.answers = {}
        for caller in self.wait.callers:
            self.selector.register(caller, selectors.EVENT_READ, (self, caller))

    def hear(self, caller: CallerProcess) -> None:
        for message in caller.lines():
            if self.wait.until not in message:
                self.wait.on_message(caller.place, message)
                continue
            result = message[self.wait.until]
            self.answers[caller.place] = result if isinstance(result, dict) else message
            self.selector.unregister(caller)
        if len(self.answers) == len(self.wait.callers):
            self.resume(self.answers)


def side_by_side(*conversations: Conversation) -> list[Any]:
    """Several conversations at once, each with callers of its own: generators that yield a Wait and are sent the answers by
    place. What each returned. Raises LabFailed when all callers are silent too long, and whatever a conversation raises."""
    with selectors.DefaultSelector() as selector:
        running = [_Running(conversation, selector) for conversation in conversations]
        while selector.get_map():
            ready = selector.select(SILENCE_S)
            if not ready:
                silent = ", ".join(key.data[1].place for key in selector.get_map().values())
                raise LabFailed(f"no word for {SILENCE_S:.0f} s from the callers in {silent}")
            for key, _ in ready:
                one, caller = key.data
                one.hear(caller)
    return [one.result for one in running]


class Callers:
    """A caller in each place of a running world. `kind` tells several sets of them apart."""

    def __init__(self, run: Mapping[str, Any], home: Path, places: Sequence[str], kind: str = "caller") -> None:
        self.by_place = {
            place: CallerProcess(
                place, setting(run, home, place_of(run, place)).applied_to(os.environ), home / "logs" / f"{kind}-{place}.err"
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
