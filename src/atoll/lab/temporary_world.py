"""A world of its own in a temporary folder, that goes when the experiment goes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from atoll.lab.client_workers import LabFailed
from atoll.processes.home_folder import Home
from atoll.processes.supervisor import NotRunning, ask, die_with_parent
from atoll.processes.world_config import Profile, builtin_text

READY_S = 60.0
LEAVE_S = 20.0
POLL_S = 0.05
STOPPING = (signal.SIGINT, signal.SIGTERM)


@dataclass(frozen=True, slots=True)
class LabWorld:
    """A running world: its folder, and what `run.json` says."""

    home: Home
    run: dict[str, Any]


@contextmanager
def temporary(profile: Profile, create_delay_s: float | None = None) -> Iterator[LabWorld]:
    """A new world with ports of its own. It is taken down, and its folder removed, however the block ends.
    `create_delay_s`: how long its access points take to be made, None as the profile has it."""
    home = Home(Path(tempfile.mkdtemp(prefix="atoll-lab-")))
    try:
        process = _start(home, profile, create_delay_s)
        try:
            _wait_ready(home, process)
            yield LabWorld(home, home.read_run() or {})
        finally:
            with _signals_held_back():
                _stop(process)
    finally:
        shutil.rmtree(home.root, ignore_errors=True)


def _start(home: Home, profile: Profile, create_delay_s: float | None) -> subprocess.Popen[bytes]:
    home.make()
    if create_delay_s is not None:
        home.world.write_text(f"create_delay_s = {create_delay_s}\n{builtin_text()}", encoding="utf-8")
    with (home.logs / "up.err").open("wb") as words:
        return subprocess.Popen(  # noqa: S603 - our own interpreter and package
            (sys.executable, "-m", "atoll", "up", "--home", str(home.root), "--profile", profile),
            stdin=subprocess.DEVNULL,
            stdout=words,
            stderr=words,
            process_group=0,  # a Ctrl-C in the terminal is the lab's business; one session with all that is measured: see awake
            preexec_fn=die_with_parent,  # noqa: PLW1509 - the lab has one thread; a lab that is killed takes its world along
        )


def _wait_ready(home: Home, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + READY_S
    while time.monotonic() < end:
        if process.poll() is not None:
            raise LabFailed(f"the lab's world did not come up: {_error_output(home)}")
        if _is_ready(home):
            return
        time.sleep(POLL_S)
    raise LabFailed(f"the lab's world was not ready within {READY_S:.0f} s: {_error_output(home)}")


def _is_ready(home: Home) -> bool:
    try:
        reply = ask(home.socket, {"do": "status"})
    except NotRunning:
        return False
    return home.run.exists() and all(place["state"] == "ready" for place in reply["places"])


def _error_output(home: Home) -> str:
    output = (home.logs / "up.err").read_text(encoding="utf-8", errors="replace").strip()
    return output.splitlines()[-1] if output else "it said nothing"


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(LEAVE_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def _signals_held_back() -> Iterator[None]:
    """A second Ctrl-C must not leave a world behind."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in STOPPING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def interruptible() -> Iterator[None]:
    """SIGTERM ends an experiment the way Ctrl-C does: with everything taken down. Only the first of either is heard: while
    things are taken down and what was measured is written, a second one would lose it."""
    before = {number: signal.signal(number, _interrupt) for number in STOPPING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
