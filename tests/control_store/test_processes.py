"""Several processes on one file: no change is lost, news travels, and a killed one leaves nothing half done."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

import atoll
from atoll.control_store import ControlStore, Table

CHILD = """
import asyncio, sys, time
import msgspec
from pathlib import Path
from atoll.control_store import ControlStore, Table

class Thing(msgspec.Struct, frozen=True):
    size: int

THINGS = Table("thing", Thing)

def count(change):
    found = change.get(THINGS, "n")
    change.put(THINGS, "n", Thing(found.size + 1 if found else 1))

def linger(change):
    change.put(THINGS, "n", Thing(-1))
    print("inside", flush=True)
    sys.stdin.read()

async def main(what, path, times):
    state = ControlStore.open(Path(path))
    print("ready", flush=True)
    sys.stdin.readline()
    for _ in range(int(times)):
        await state.transact({"count": count, "linger": linger}[what])
    print(time.monotonic(), flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


class Thing(msgspec.Struct, frozen=True):
    size: int


THINGS = Table("thing", Thing)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state.db"


@pytest.fixture
def start(path):
    """Start a child that has the file open and waits for a line."""
    children = []

    def start(what: str, times: int = 1) -> subprocess.Popen:
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, what, str(path), str(times)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(atoll.__file__).parent.parent)},
        )
        children.append(child)
        assert child.stdout.readline() == "ready\n"
        return child

    yield start
    for child in children:
        child.kill()
        child.wait()
        child.stdin.close()
        child.stdout.close()


def go(child: subprocess.Popen) -> None:
    child.stdin.write("go\n")
    child.stdin.flush()


def read(path) -> Thing | None:
    state = ControlStore.open(path)
    found = state.get(THINGS, "n")
    state.close()
    return found


def test_no_change_is_lost_between_processes(path, start):
    one, two = start("count", 60), start("count", 60)
    go(one)
    go(two)
    assert one.wait(30) == 0
    assert two.wait(30) == 0
    assert read(path) == Thing(120)


def test_a_follower_sees_the_change_of_another_process_within_200_ms(path, start):
    """The quickest of three: a busy machine may delay any one of them, not the mechanism."""

    async def main():
        state = ControlStore.open(path)
        delays = []
        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            following = group.create_task(state.follow())
            for child in [start("count") for _ in range(3)]:
                before = state.version
                go(child)
                await state.changed(before)
                seen = time.monotonic()
                delays.append(seen - float(child.stdout.readline()))
            following.cancel()
        state.close()
        return delays, state.get(THINGS, "n")

    delays, found = asyncio.run(main())
    assert min(delays) < 0.2
    assert found == Thing(3)


def test_who_catches_up_sees_every_change_that_was_answered_before(path, start):
    """Nobody follows here: it is the look before each request that counts."""
    state = ControlStore.open(path)
    for expected, child in enumerate([start("count") for _ in range(5)], 1):
        go(child)
        child.stdout.readline()
        state.catch_up()
        assert state.get(THINGS, "n") == Thing(expected)
    state.close()


def test_a_change_that_was_announced_and_never_came_misleads_nobody(path, start):
    state = ControlStore.open(path)
    child = start("linger")
    go(child)
    assert child.stdout.readline() == "inside\n"
    state._announced.write(state.version + 1)  # as a process that dies between the announcement and the commit
    child.kill()
    child.wait(30)
    before = state.version
    state.catch_up()
    assert (state.version, state.get(THINGS, "n")) == (before, None)
    other = start("count")
    go(other)
    other.stdout.readline()
    state.catch_up()
    assert state.get(THINGS, "n") == Thing(1)
    state.close()


def test_a_process_that_is_killed_inside_a_change_leaves_the_old_state(path, start):
    counted = start("count")
    go(counted)
    counted.wait(30)
    lingering = start("linger")
    go(lingering)
    assert lingering.stdout.readline() == "inside\n"
    os.kill(lingering.pid, signal.SIGKILL)
    lingering.wait(30)
    assert read(path) == Thing(1)


def test_after_a_kill_the_others_go_on_changing(path, start):
    waiting, lingering = start("count"), start("linger")
    go(lingering)
    assert lingering.stdout.readline() == "inside\n"
    os.kill(lingering.pid, signal.SIGKILL)
    go(waiting)
    assert waiting.wait(30) == 0
    assert read(path) == Thing(1)


def test_what_a_process_was_told_is_committed_survives_its_kill(path, start):
    child = start("count", 5)
    go(child)
    child.stdout.readline()
    os.kill(child.pid, signal.SIGKILL)
    child.wait(30)
    assert read(path) == Thing(5)
