"""A disk store as the reading processes of a region have it: what the writer committed, and no way to write."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter, deque
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NoReturn

from atoll.domain.objects import StoreCapabilities
from atoll.object_store.disk.blob_files import Blobs
from atoll.object_store.disk.blob_record_locks import FileLocks
from atoll.object_store.disk.index_reader import Reads
from atoll.object_store.disk.point_read import Finding
from atoll.object_store.disk.schema import FORMAT, open_reader
from atoll.object_store.disk.sequence_locks import Generations
from atoll.object_store.disk.validated_read_cache import Watched

OPENING_S: Final = 30.0  # how long the writer may take to make or mend the store
UNLOCK_S: Final = 1.0
_LOOK_S: Final = 0.02


class LockedPin:
    """Files that the writer leaves alone until this is closed, or forgotten by everybody (then at the next pin)."""

    __slots__ = ("_ids", "_returned")

    def __init__(self, returned: deque[tuple[int, ...]], ids: tuple[int, ...]) -> None:
        self._returned = returned
        self._ids = ids

    def close(self) -> None:
        """May be called again, and in any thread: the garbage collector's, say."""
        ids, self._ids = self._ids, ()
        if ids:
            self._returned.append(ids)

    __del__ = close


class LockedPins:
    """Counts this process's readers per file: the kernel's record locks do not nest. Belongs to the loop's thread."""

    def __init__(self, locks: FileLocks) -> None:
        self._locks = locks
        self._readers: Counter[int] = Counter()
        self._returned: deque[tuple[int, ...]] = deque()

    def pin(self, ids: Iterable[int]) -> LockedPin:
        self.settle()
        held = tuple(ids)
        self._locks.hold(blob for blob in held if not self._readers[blob])
        self._readers.update(held)
        return LockedPin(self._returned, held)

    def settle(self) -> None:
        """Unlock what was let go."""
        while self._returned:
            let_go = self._returned.popleft()
            self._readers.subtract(let_go)
            unread = [blob for blob in let_go if self._readers[blob] <= 0]
            for blob in unread:
                self._readers.pop(blob, None)
            self._locks.release(unread)


class ReadingStore(Finding):
    """Made by open(). The Store shape whose writes are the writer's: requests for them never come here."""

    capabilities = StoreCapabilities()

    def __init__(self, folder: Path) -> None:
        """Raises OSError or sqlite3.Error when the writer has not made the store yet."""
        reads = Reads(open_reader(folder))
        self._locks = FileLocks(folder)
        self._generations = Generations(folder)
        blobs = Blobs(folder)
        self._locked = LockedPins(self._locks)
        super().__init__(reads, blobs, self._locked, Watched(self._generations))

    async def unlock(self) -> None:
        """Let go of what is read no more, for as long as this runs: a quiet process must not keep a removed file on the disk."""
        while True:
            await asyncio.sleep(UNLOCK_S)
            self._locked.settle()

    @classmethod
    async def open(cls, folder: Path) -> ReadingStore:
        """Waits for the writer to make the store. Raises TimeoutError."""
        async with asyncio.timeout(OPENING_S):
            while not _is_made(folder):  # noqa: ASYNC110 - another process makes it
                await asyncio.sleep(_LOOK_S)
        return cls(folder)

    async def close(self) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self._blobs.close)
        self._reads.close()
        self._generations.close()
        self._locks.close()

    async def _refuse(self, *_given: Any, **_named: Any) -> NoReturn:
        raise AssertionError("a reading process was asked to write")

    put = delete = update_metadata = join = drop = trim = _refuse


def _is_made(folder: Path) -> bool:
    try:
        db = open_reader(folder)
    except sqlite3.Error:
        return False
    try:
        return bool(db.execute("PRAGMA user_version").fetchone()[0] == FORMAT)
    except sqlite3.Error:
        return False
    finally:
        db.close()
