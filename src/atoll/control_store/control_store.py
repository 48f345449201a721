"""The control store: transactions write, everything else reads a snapshot in memory."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import msgspec

from atoll.control_store import sqlite_file
from atoll.control_store.announced_version import AnnouncedVersion
from atoll.control_store.file_follower import POLL_S, Follower
from atoll.control_store.record_table import Table
from atoll.control_store.snapshot import Batch, Snapshot
from atoll.control_store.transaction import Transaction
from atoll.domain.errors import ApiError

R = TypeVar("R", bound=msgspec.Struct)
T = TypeVar("T")

TRANSACTIONS_WAITING_MAX = 256  # changes of this process in the queue of its one writing thread; more answer 503


class ControlStore:
    """Control-plane records: changed in transactions, read from memory.

    Reads (`get`, `items`, `version`) never wait and go on while the file is away. One event loop owns a State; changes run
    in one thread beside it. Every process of a world opens the same file; `follow()` brings in what the others commit.
    """

    def __init__(self, path: Path | None, writer: sqlite3.Connection, follower: Follower | None) -> None:
        self._path = path
        self._inode = path.stat().st_ino if path else 0
        self._writer = writer
        self._follower = follower
        self._announced = AnnouncedVersion(path) if path else None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="state")
        self._waiting = 0
        self._snapshot = Snapshot()
        self._turn = asyncio.Event()  # set, and replaced, at every new version

    @classmethod
    def open(cls, path: Path, *, busy_s: float = sqlite_file.BUSY_TIMEOUT_S) -> ControlStore:
        """Raises Unreadable for a file of a newer Atoll, sqlite3.Error or OSError when there is no reading it at all."""
        sqlite_file.create(path)
        follower = Follower(path)
        state = cls(path, sqlite_file.connect(path, busy_s), follower)
        state._apply(follower.first())
        return state

    @classmethod
    def memory(cls) -> ControlStore:
        """A state that nobody shares, for tests and for worlds that leave nothing behind."""
        writer = sqlite_file.connect(None)
        sqlite_file.create_tables(writer)
        return cls(None, writer, None)

    @property
    def version(self) -> int:
        """Rises with every change that this process has seen."""
        return self._snapshot.version

    @property
    def last_error(self) -> str:
        """Why the file could not be read lately; "" when all is well."""
        return self._follower.last_error if self._follower else ""

    @property
    def unreadable(self) -> int:
        """How many records were met that a newer Atoll wrote and this one cannot read."""
        return self._snapshot.unreadable

    def get(self, table: Table[R], key: str) -> R | None:
        """The same object until the record changes, so that forms derived from it can be kept by identity."""
        return self._snapshot.get(table, key)

    def items(self, table: Table[R], prefix: str = "") -> list[tuple[str, R]]:
        """In order of the keys, as of now."""
        return self._snapshot.items(table, prefix)

    async def transact(self, fn: Callable[[Transaction], T]) -> T:
        """Run `fn` in a transaction that excludes all others, in any process; what it wrote is on disk and in the snapshot
        when this returns.

        `fn` runs in another thread: it touches nothing but its Change and its own variables. What it raises undoes
        everything. Raises ServiceUnavailable when the file is locked for too long, away, or its disk refuses.
        """
        if self._waiting >= TRANSACTIONS_WAITING_MAX:
            raise ApiError("ServiceUnavailable", "Too many changes are waiting for the control state.")
        loop = asyncio.get_running_loop()
        self._waiting += 1
        try:
            return await loop.run_in_executor(self._thread, self._commit, fn, loop)
        finally:
            self._waiting -= 1

    def catch_up(self) -> None:
        """Before a request is judged: bring in whatever any process of this machine has committed. A memory read when there is
        nothing, so a change holds for every request that begins after its answer, in whichever process."""
        if self._announced is not None and self._announced.read() > self._snapshot.version:
            self.refresh()

    async def changed(self, since: int) -> int:
        """Wait until there is a version after `since`, and return it."""
        while self._snapshot.version <= since:
            await self._turn.wait()
        return self._snapshot.version

    async def follow(self) -> None:
        """Bring in what other processes commit, for as long as this runs."""
        while True:
            self.refresh()
            await asyncio.sleep(POLL_S)

    def refresh(self) -> None:
        """Look now: what `follow` does every POLL_S, for who was told that there is news."""
        batch = self._follower.poll(self.version) if self._follower else None
        if batch is not None:
            self._apply(batch)

    def close(self) -> None:
        """Waits for the change that is running. Nothing is lost by not calling it."""
        self._thread.shutdown(wait=True, cancel_futures=True)
        self._writer.close()
        if self._follower:
            self._follower.close()
        if self._announced:
            self._announced.close()

    def _apply(self, batch: Batch) -> None:
        if self._snapshot.apply(batch):
            self._turn.set()
            self._turn = asyncio.Event()

    def _commit(self, fn: Callable[[Transaction], T], loop: asyncio.AbstractEventLoop) -> T:
        """In the writing thread. The batch reaches the loop before the result does, also when nobody waits for that."""
        try:
            self._begin()
            try:
                result = fn(Transaction(self._writer))
                batch = sqlite_file.since(self._writer, self.version)
                self._print_places(batch.upto)
                self._writer.execute("COMMIT")
            except BaseException:
                self._writer.rollback()
                raise
        except (sqlite3.Error, OSError) as error:
            raise ApiError("ServiceUnavailable", "The control state cannot be changed at the moment.") from error
        loop.call_soon_threadsafe(self._apply, batch)
        return result

    def _print_places(self, version: int) -> None:
        if self._announced is not None:
            self._announced.write(version)

    def _begin(self) -> None:
        """A file that was moved or replaced would swallow the change: SQLite goes on with what it has open."""
        if self._path and self._path.stat().st_ino != self._inode:
            raise FileNotFoundError(self._path)
        self._writer.execute("BEGIN IMMEDIATE")
