"""Counters in shared memory that tell the processes of a region whether the writer has changed a key.

Each key belongs to one of SLOTS counters. The writer makes the counters of a commit odd before it commits and even after it,
so a reader that finds an even counter unchanged knows that no commit of those keys began meanwhile (a sequence lock). A
writer that dies in between leaves odd counters: readers then keep nothing of those keys until the next writer has opened the
store, and ask the database.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final
from zlib import crc32

from atoll.domain.objects import Key

FILE: Final = "generations"
SLOTS: Final = 1 << 14  # of keys; two keys of one slot cost each other a look at the database, nothing else
ANY: Final = SLOTS  # the counter of commits that may touch any key
SIZE: Final = 8 * (SLOTS + 1)  # bytes

Generation = tuple[int, int]


class Generations:
    """The counters of one store. One process at a time writes: the one that has the store."""

    def __init__(self, folder: Path) -> None:
        """Raises OSError."""
        file = os.open(folder / FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if os.fstat(file).st_size < SIZE:
                os.ftruncate(file, SIZE)
            self._map = mmap.mmap(file, SIZE)
        finally:
            os.close(file)
        self._counters = memoryview(self._map).cast("Q")

    # The writer's

    def settle(self) -> None:
        """At opening, after recovery: what a writer that died left odd is over."""
        for slot in range(SLOTS + 1):
            if self._counters[slot] & 1:
                self._counters[slot] += 1

    def begin(self, keys: Iterable[Key | None]) -> frozenset[int]:
        """Before a commit that touches these keys; None is any key. Returns what `end` wants."""
        slots = frozenset(ANY if key is None else slot_of(key) for key in keys)
        self.end(slots)
        return slots

    def end(self, slots: frozenset[int]) -> None:
        """After the commit, or when it was undone."""
        for slot in slots:
            self._counters[slot] += 1

    # The readers'

    def of(self, key: Key) -> Generation | None:
        """What to remember with something that is read from the database after this; None when a commit is under way."""
        found = (self._counters[ANY], self._counters[slot_of(key)])
        return None if (found[0] | found[1]) & 1 else found

    def close(self) -> None:
        self._counters.release()
        self._map.close()


def slot_of(key: Key) -> int:
    return crc32(f"{key.bucket}/{key.name}".encode()) % SLOTS
