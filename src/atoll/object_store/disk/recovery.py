"""Opens a store's folder: takes its lock, opens the database, removes what a crash left behind."""

from __future__ import annotations

import logging
import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from atoll.object_store.disk.blob_files import Blobs, flush_folder
from atoll.object_store.disk.folder_lock import claim
from atoll.object_store.disk.schema import open_writer

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Opened:
    """A store that is ours until close()."""

    db: sqlite3.Connection
    next_id: int
    _lock: int

    def close(self, *, orphans: bool = False) -> None:
        """In good order: the next opening need not look for orphans, unless there are. May be called again."""
        lock, self._lock = self._lock, -1
        if lock < 0:
            return
        try:
            if not orphans:
                self.db.execute("INSERT OR REPLACE INTO meta VALUES ('open', 0)")
        except sqlite3.Error:  # a full disk, say: the next opening looks for orphans, that is all
            _log.exception("the store could not note that it was closed")
        finally:
            self.db.close()
            os.close(lock)


def open_folder(folder: Path, blobs: Blobs) -> Opened:
    """Raises BlockingIOError when another process has the store. Replaying the write-ahead log is SQLite's."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = claim(folder)
    if lock is None:
        raise BlockingIOError(f"another process has the store in {folder}")
    try:
        blobs.make_folders()
        db = open_writer(folder)
        flush_folder(folder)
        flush_folder(folder.parent)
        left = _sweep(db, blobs)
        db.execute("INSERT OR REPLACE INTO meta VALUES ('open', 1)")
        return Opened(db, _next_id(db, left), lock)
    except BaseException:
        os.close(lock)
        raise


def _sweep(db: sqlite3.Connection, blobs: Blobs) -> list[int]:
    """Remove files that were never finished, and after a crash those that no row refers to. Returns the ids of the ones that
    a reading process, which may outlive a writer, still streams."""
    left: list[int] = []
    for path in blobs.temporary_files():
        path.unlink()
    row = db.execute("SELECT value FROM meta WHERE name = 'open'").fetchone()
    if row is None or row[0]:
        known = {blob for (blob,) in db.execute("SELECT id FROM blob WHERE bytes IS NULL")}
        left = [blob for blob, _ in blobs.files() if blob not in known and not blobs.remove(blob)]
        for blob in left:
            blobs.linger(blob)
    return left


def _next_id(db: sqlite3.Connection, left: list[int]) -> int:
    """Above every row, and every file that is left without one."""
    (highest,) = db.execute("SELECT max(id) FROM (SELECT max(id) AS id FROM version UNION ALL SELECT max(id) FROM blob)").fetchone()
    return max(int(highest or 0), *left, 0) + 1
