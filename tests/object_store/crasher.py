"""A process that writes to a store until it is killed, and tells of each write when it begins and when it is acknowledged.

python crasher.py FOLDER SEED. Lines on stdout: JSON [state, operation, name, version, seed of the content, size].
"""

import asyncio
import json
import os
import random
import sys
import time
from pathlib import Path

from atoll.domain.http_message import Body
from atoll.domain.objects import Key, ObjectMetadata
from atoll.object_store.disk import group_commit
from atoll.object_store.disk.disk_store import DiskStore

SIZES = (0, 100, 4096, 60_000, 65_536, 70_000, 300_000, 1_200_000)
WRITERS = 8


def bytes_of(seed, size):
    return random.Random(seed).randbytes(size)


def tell(*words):
    os.write(1, (json.dumps(words) + "\n").encode())  # one write: whole lines, in order


def make_metadata(version, content):
    return lambda: ObjectMetadata(version=version, etag=f"{content}")


async def write(store, rng, name, number):
    """One operation of a writer that owns its names, so that the order of its operations is known."""
    content, size = rng.randrange(1 << 30), rng.choice(SIZES)
    version = rng.choice(["null", f"v{number}"])
    kind = rng.choices(["put", "delete", "join"], [6, 2, 2])[0]
    tell("begin", kind, name, version, content, size)
    if kind == "put":
        await store.put(Key("bucket", name), Body.of(bytes_of(content, size)), make_metadata(version, content))
    elif kind == "delete":
        current = await store.head(Key("bucket", name))
        if current is not None:
            await store.delete(Key("bucket", name), current.version)
    else:
        whole = bytes_of(content, size)
        parts = [Key("b!uploads", f"{name}/{part}") for part in (1, 2)]
        await store.put(parts[0], Body.of(whole[: size // 2]), ObjectMetadata)
        await store.put(parts[1], Body.of(whole[size // 2 :]), ObjectMetadata)
        discard = Key("b!uploads", f"{name}/")
        await store.join(Key("bucket", name), parts, make_metadata(version, content)(), discard=discard)
    tell("done", kind, name, version, content, size)


async def writer(store, number, seed):
    rng = random.Random(seed * 100 + number)
    for turn in range(1_000_000):
        await write(store, rng, f"w{number}/{rng.randrange(4)}", f"{seed}-{number}-{turn}")


async def main(folder, seed):
    group_commit.CHECKPOINT_PAGES = 50  # often enough to be killed in the middle of one
    store = await DiskStore.open(folder, "here", lambda: int(time.time() * 1000))
    tell("ready", "", "", "", 0, 0)
    async with asyncio.TaskGroup() as group:
        for number in range(WRITERS):
            group.create_task(writer(store, number, seed))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
