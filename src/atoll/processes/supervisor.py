"""Forks the processes of a world, restarts the dead, answers `status`, `up` and `down`.

Single-threaded, without an event loop, a CRT event-loop group or an open database, so that fork is safe: children are ready
in tens of milliseconds because everything is imported already. One JSON line in, one JSON line out, over a unix socket.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import selectors
import signal
import socket
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from atoll.domain.os_error_messages import in_words

# A process's body: called in the child with the file descriptor on which it writes one byte when its listeners answer.
Start = Callable[[int], None]
ChildState = Literal["starting", "ready", "stopping", "stopped", "restarting"]

RESTART_MIN_S, RESTART_MAX_S = 0.05, 5.0  # wait before a dead process is started again, doubling
HEALTHY_S = 5.0  # a process that lived so long starts over at RESTART_MIN_S
START_FAILURES_MAX = 3  # a process that never was ready is started so often; then the world has failed to come up
STOP_GRACE_S = 10.0  # SIGTERM, then SIGKILL
REQUEST_MAX_BYTES = 64 * 1024
PR_SET_PDEATHSIG = 1  # prctl(2)


@dataclass
class Child:
    """One supervised process and the places it stands for (rows of `status`, a name in each).

    `place`: the processes of one place stop and start together; "" is the place of this name.
    """

    name: str
    start: Start
    stderr: Path
    places: tuple[Mapping[str, Any], ...]
    place: str = ""
    pid: int | None = None
    state: ChildState = "stopped"
    restarts: int = 0
    was_ready: bool = False
    since: float = 0.0
    wait_s: float = RESTART_MIN_S
    again_at: float = 0.0
    kill_at: float = 0.0
    ready_fd: int = -1
    again: bool = False  # told to start while it was stopping

    @property
    def alive(self) -> bool:
        return self.pid is not None


@dataclass
class Waiting:
    """A client that gets its answer when `done` is true, or a refusal at `until`."""

    connection: socket.socket
    done: Callable[[], bool]
    reply: Callable[[], Mapping[str, Any]]
    until: float = field(default_factory=lambda: time.monotonic() + 30.0)


def die_with_parent() -> None:
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


class StartFailed(RuntimeError):
    """A process of the world died several times before it was ready. The text says where its words are."""


class Supervisor:
    """Keeps `children` as they are wanted until `shutdown`. `status_fields` are what `status` says besides."""

    def __init__(self, children: list[Child], socket_path: str, status_fields: Mapping[str, Any]) -> None:
        self.children = {child.name: child for child in children}
        self.status_fields = status_fields
        self.running = True
        self.failed = ""
        self._path = socket_path
        self._waiting: list[Waiting] = []
        self._selector = selectors.DefaultSelector()
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(self._woken, False)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)

    # -- life

    def run(self, on_ready: Callable[[], None]) -> None:
        """Start every child, call `on_ready` once all are ready, and serve until shutdown. Raises Stillborn."""
        self._listen()
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._signalled)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        self._selector.register(self._woken, selectors.EVENT_READ, self._drain)
        gc.collect()
        gc.freeze()
        for child in self.children.values():
            self._fork(child)
        announced = False
        while self.running or any(child.alive for child in self.children.values()):
            self._turn()
            if not announced and all(child.state == "ready" for child in self.children.values()):
                announced = True
                on_ready()
        self._answer_waiting()
        self._close()
        if self.failed:
            raise StartFailed(self.failed)

    def _turn(self) -> None:
        for key, _ in self._selector.select(self._pause()):
            key.data()
        self._reap()
        self._start_due()
        self._answer_waiting()

    def _pause(self) -> float:
        times = [child.again_at for child in self.children.values() if child.state == "restarting"]
        times += [child.kill_at for child in self.children.values() if child.state == "stopping"]
        times += [waiting.until for waiting in self._waiting]
        return max(0.0, min(times, default=time.monotonic() + 60.0) - time.monotonic())

    def _signalled(self, number: int, _frame: object) -> None:
        if number in (signal.SIGTERM, signal.SIGINT):
            self.shutdown()

    def _drain(self) -> None:
        os.read(self._woken, 4096)

    # -- processes

    def _fork(self, child: Child) -> None:
        ready, report = os.pipe()
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            self._child(child, report, parent)
        os.close(report)
        child.pid, child.state, child.since, child.ready_fd = pid, "starting", time.monotonic(), ready
        self._selector.register(ready, selectors.EVENT_READ, lambda: self._on_ready(child))

    def _child(self, child: Child, report: int, parent: int) -> None:
        """Never returns."""
        status = 1
        try:
            die_with_parent()
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)
            if os.getppid() != parent:
                os._exit(1)
            self._close(child=True)
            os.setpgid(0, 0)  # a Ctrl-C in the terminal is the supervisor's business
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            log = os.open(child.stderr, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.dup2(log, 1)
            os.dup2(log, 2)
            child.start(report)
            status = 0
        except SystemExit as leaving:
            status = leaving.code if isinstance(leaving.code, int) else 1
        except BaseException:  # noqa: BLE001 - the last frame of a process: say why, then leave without unwinding into the parent's stack
            traceback.print_exc()
        finally:
            os._exit(status)

    def _on_ready(self, child: Child) -> None:
        self._selector.unregister(child.ready_fd)
        ready = os.read(child.ready_fd, 1)
        os.close(child.ready_fd)
        child.ready_fd = -1
        if ready and child.state == "starting":
            child.state, child.was_ready = "ready", True

    def _reap(self) -> None:
        for child in self.children.values():
            if child.pid is None:
                continue
            pid, _status = os.waitpid(child.pid, os.WNOHANG)
            if pid:
                self._on_exit(child)

    def _on_exit(self, child: Child) -> None:
        child.pid = None
        if child.ready_fd >= 0:
            self._on_ready(child)
        if child.state == "stopping" or not self.running:
            child.state = "stopped"
            if child.again and self.running:
                self._fork(child)
            return
        if time.monotonic() - child.since > HEALTHY_S:
            child.wait_s = RESTART_MIN_S
        child.state, child.restarts = "restarting", child.restarts + 1
        if not child.was_ready and child.restarts >= START_FAILURES_MAX:
            self.failed = f"{child.name} does not start; see {child.stderr}"
            self.shutdown()
            return
        child.again_at = time.monotonic() + child.wait_s
        child.wait_s = min(child.wait_s * 2, RESTART_MAX_S)

    def _start_due(self) -> None:
        now = time.monotonic()
        for child in self.children.values():
            if child.state == "restarting" and child.again_at <= now:
                self._fork(child)
            elif child.state == "stopping" and child.kill_at <= now and child.pid is not None:
                os.kill(child.pid, signal.SIGKILL)
                child.kill_at = now + STOP_GRACE_S

    def _stop(self, child: Child) -> None:
        if child.pid is None:
            child.state = "stopped"
        elif child.state != "stopping":
            child.state, child.kill_at = "stopping", time.monotonic() + STOP_GRACE_S
            os.kill(child.pid, signal.SIGTERM)

    def shutdown(self) -> None:
        """Stop everything; `run` returns when all have ended."""
        self.running = False
        for child in self.children.values():
            self._stop(child)

    # -- the socket

    def _listen(self) -> None:
        if not self._path.startswith("\0"):
            Path(self._path).unlink(missing_ok=True)
        self._listener.bind(self._path)
        if not self._path.startswith("\0"):
            Path(self._path).chmod(0o600)
        self._listener.listen(16)
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        connection.settimeout(2.0)  # a client sends its one line at once
        try:
            self._answer(connection, json.loads(_line(connection)))
        except (OSError, ValueError, KeyError) as error:
            _reply(connection, {"error": f"not understood: {error}"})

    def _answer(self, connection: socket.socket, asked: Mapping[str, Any]) -> None:
        match asked:
            case {"do": "status"}:
                _reply(connection, self.status())
            case {"do": "shutdown"}:
                self.shutdown()
                self._waiting.append(Waiting(connection, self._all_stopped, self.status))
            case {"do": "stop" | "start" as verb, "place": str(place)} if self._of(place):
                self._start_or_stop(connection, verb, self._of(place))
            case {"do": "stop" | "start", "place": place}:
                _reply(connection, {"error": f"{place} is no process of this world; there are: {', '.join(self._names())}"})
            case _:
                _reply(connection, {"error": f"unknown request {asked!r}"})

    def _of(self, place: str) -> list[Child]:
        return [child for child in self.children.values() if (child.place or child.name) == place]

    def _names(self) -> list[str]:
        return list(dict.fromkeys(child.place or child.name for child in self.children.values()))

    def _start_or_stop(self, connection: socket.socket, verb: str, processes: list[Child]) -> None:
        wanted = "stopped" if verb == "stop" else "ready"
        # known as waiting before a fork, so that the child closes its copy of the connection
        self._waiting.append(Waiting(connection, lambda: all(child.state == wanted for child in processes), self.status))
        for child in processes:
            if verb == "stop":
                child.again = False
                self._stop(child)
            else:
                self._begin(child)

    def _begin(self, child: Child) -> None:
        if child.pid is None:
            self._fork(child)
        child.again = child.state == "stopping"

    def _all_stopped(self) -> bool:
        return not any(child.alive for child in self.children.values())

    def _answer_waiting(self) -> None:
        now = time.monotonic()
        for waiting in tuple(self._waiting):
            if waiting.done():
                _reply(waiting.connection, waiting.reply())
            elif now >= waiting.until:
                _reply(waiting.connection, {"error": "it takes too long; `atoll status` and the logs say more"})
            else:
                continue
            self._waiting.remove(waiting)

    def status(self) -> dict[str, Any]:
        """Every place with the process that stands for it."""
        places = [
            {**place, **_life(child), "process": child.name, **self._workers(child)}
            for child in self.children.values()
            for place in child.places
        ]
        return {**self.status_fields, "supervisor": os.getpid(), "places": places}

    def _workers(self, child: Child) -> dict[str, Any]:
        """The other processes of a place that has several."""
        others = [one for one in self._of(child.place) if one is not child] if child.place else []
        return {"workers": [{"process": one.name, **_life(one)} for one in others]} if others else {}

    def _close(self, *, child: bool = False) -> None:
        self._selector.close()
        self._listener.close()
        os.close(self._woken)
        os.close(self._wake)
        for waiting in self._waiting:
            waiting.connection.close()
        if not child and not self._path.startswith("\0"):
            Path(self._path).unlink(missing_ok=True)


def _life(child: Child) -> dict[str, Any]:
    return {"state": child.state, "pid": child.pid, "restarts": child.restarts}


def _line(connection: socket.socket) -> bytes:
    received = b""
    while not received.endswith(b"\n"):
        piece = connection.recv(4096)
        received += piece
        if not piece or len(received) > REQUEST_MAX_BYTES:
            raise ValueError("no whole line")
    return received


def _reply(connection: socket.socket, reply: Mapping[str, Any]) -> None:
    with connection:
        try:
            connection.sendall(json.dumps(reply).encode() + b"\n")
        except OSError:
            return  # the asker has left


class NotRunning(Exception):
    """No supervisor answers for this home."""


def ask(socket_path: str, request: Mapping[str, Any], timeout_s: float = 40.0) -> dict[str, Any]:
    """One request to the supervisor of a home. Raises NotRunning."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout_s)
        try:
            connection.connect(socket_path)
            connection.sendall(json.dumps(request).encode() + b"\n")
            received = b""
            while piece := connection.recv(65536):
                received += piece
        except OSError as error:
            raise NotRunning(in_words(error)) from error
    if not received:
        raise NotRunning("the supervisor left without an answer")
    return dict(json.loads(received))
