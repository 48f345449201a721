"""kill -9 during writes: nothing acknowledged is lost, nothing torn is served, nothing is left lying around."""

import asyncio
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from atoll.domain.objects import Key
from atoll.object_store.disk.disk_store import DiskStore
from atoll.object_store.disk.integrity_check import check
from atoll.object_store.disk.read_only_store import ReadingStore

CRASHER = Path(__file__).with_name("crasher.py")


def bytes_of(seed, size):
    return random.Random(seed).randbytes(size)


class History:
    """What a store may hold: per name the versions that are there for sure, and what was under way when the process died."""

    def __init__(self):
        self.held = {}  # name -> {version: (content, size)}, oldest first
        self.open = {}  # name -> operation

    def take(self, state, kind, name, version, content, size):
        operation = (kind, version, content, size)
        if state == "begin":
            self.open[name] = operation
        else:
            del self.open[name]
            self.held[name] = apply(self.held.get(name, {}), operation)

    def settle(self, name, found):
        """Either the open operation happened or it did not; both are right, anything else is not."""
        before = self.held.get(name, {})
        after = apply(before, self.open.pop(name)) if name in self.open else before
        assert list(found.items()) in (list(before.items()), list(after.items())), name
        self.held[name] = found


def apply(held, operation):
    kind, version, content, size = operation
    after = dict(held)
    if kind == "delete":
        if after:
            del after[list(after)[-1]]
        return after
    after.pop(version, None)
    after[version] = (content, size)
    return after


def run_until_killed(folder, seed, history, lines):
    """Kills the writer after so many lines, wherever it then is; it goes on writing until the signal arrives."""
    child = subprocess.Popen([sys.executable, str(CRASHER), str(folder), str(seed)], stdout=subprocess.PIPE)
    try:
        for number, line in enumerate(child.stdout):
            state, *operation = json.loads(line)
            if state != "ready":
                history.take(state, *operation)
            if number == lines:
                child.kill()
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


async def contents(store):
    """Every version by name, its bytes looked at."""
    found = {}
    for entry in reversed(await store.scan("bucket", limit=100_000, versions=True)):
        found.setdefault(entry.name, {})[entry.metadata.version] = (int(entry.metadata.etag), entry.metadata.size)
        body = (await store.get(Key("bucket", entry.name), entry.metadata.version)).body()
        assert b"".join([piece async for piece in body]) == bytes_of(int(entry.metadata.etag), entry.metadata.size)
    return found


async def verify(folder, history):
    store = await DiskStore.open(folder, "here", lambda: 0)
    found = await contents(store)
    for name in {*history.held, *history.open, *found}:
        history.settle(name, found.get(name, {}))
    await store.drop(Key("b!uploads", ""))
    await store.close()


def rounds(folder, count, seed):
    rng = random.Random(seed)
    history = History()
    for number in range(count):
        run_until_killed(folder, seed + number, history, rng.randrange(1, 150))
        asyncio.run(verify(folder, history))
        assert list(check(folder)) == []


def test_nothing_acknowledged_is_lost_and_nothing_torn_is_served(tmp_path):
    rounds(tmp_path, 20, 1)


async def rounds_beside_a_reader(folder, count, seed):
    """As rounds; a reading process of the region lives through all the crashes, and sees the same as the next writer."""
    rng, history = random.Random(seed), History()
    await verify(folder, history)
    reader = await ReadingStore.open(folder)
    for number in range(count):
        await asyncio.to_thread(run_until_killed, folder, seed + number, history, rng.randrange(1, 150))
        seen = await contents(reader)
        assert {name: list(versions.items()) for name, versions in (await contents(reader)).items()} == {
            name: list(versions.items()) for name, versions in seen.items()
        }
        await verify(folder, history)
        assert await contents(reader) == {name: held for name, held in history.held.items() if held}
        assert list(check(folder)) == []
    await reader.close()


def test_a_reading_process_lives_through_crashes_of_the_writer_and_sees_what_is_there(tmp_path):
    asyncio.run(rounds_beside_a_reader(tmp_path, 10, 7))


@pytest.mark.soak
def test_a_reading_process_lives_through_two_hundred_crashes(tmp_path):
    asyncio.run(rounds_beside_a_reader(tmp_path, 200, 5000))


@pytest.mark.soak
def test_nothing_is_lost_in_two_hundred_crashes(tmp_path):
    rounds(tmp_path, 200, 1000)
