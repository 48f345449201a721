"""Follows what other processes commit to the state file."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from atoll.control_store import sqlite_file
from atoll.control_store.snapshot import Batch

POLL_S = 0.05  # how often a follower asks; one question is a read of shared memory


class Follower:
    """Reads what others commit, on a connection of its own that never waits for a lock.

    `last_error` says why the file could not be read when it was last tried; "" when all is well.
    """

    __slots__ = ("_connection", "_data_version", "last_error")

    def __init__(self, path: Path) -> None:
        self._connection = sqlite_file.connect(path)
        self._data_version = -1
        self.last_error = ""

    def first(self) -> Batch:
        """Everything, waiting for locks as a start may (several processes open a new file at once); from then on `poll`
        waits for none. Raises sqlite3.Error."""
        batch = self.read(0)
        self._connection.execute("PRAGMA busy_timeout = 0")
        return batch

    def poll(self, seen: int) -> Batch | None:
        """What changed after `seen`; None when nothing did, or when the file cannot be read now (static stability)."""
        try:
            found = int(self._connection.execute("PRAGMA data_version").fetchone()[0])
            batch = self.read(seen) if found != self._data_version else None
        except sqlite3.Error as error:
            self.last_error = str(error)
            return None
        self._data_version = found
        self.last_error = ""
        return batch

    def read(self, seen: int) -> Batch:
        """As poll, without asking first. Raises sqlite3.Error."""
        self._connection.execute("BEGIN")
        try:
            return sqlite_file.since(self._connection, seen)
        finally:
            self._connection.execute("ROLLBACK")

    def close(self) -> None:
        self._connection.close()
