"""The records in SQLite, and what changed since a version."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

from atoll.control_store.record_table import Unreadable
from atoll.control_store.snapshot import Batch, Row

BUSY_TIMEOUT_S = 5.0  # how long a change waits for other processes' changes before it answers 503
LAYOUT = 1  # PRAGMA user_version: a file with a higher number is left alone
TOMBSTONES_KEPT = 10_000  # versions; who has seen less than that reads everything again
_TRIM_EVERY = 256  # versions
_RETRY_S = 0.01

_SCHEMA = """
CREATE TABLE IF NOT EXISTS records (
  kind TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, body BLOB, PRIMARY KEY (kind, key)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS records_by_version ON records (version);
CREATE TABLE IF NOT EXISTS head (
  one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL, trimmed INTEGER NOT NULL
);
INSERT OR IGNORE INTO head VALUES (1, 0, 0);
"""


def create(path: Path) -> None:
    """Make the file ready, or find it ready: any number of processes may do so at once. It holds secrets: mode 0600."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
    connection = connect(path)
    try:
        _write_ahead(connection)
        create_tables(connection)
    finally:
        connection.close()


def connect(path: Path | None, busy_s: float = BUSY_TIMEOUT_S) -> sqlite3.Connection:
    """A connection without transactions of its own. None: in memory. Each is used by one thread at a time."""
    connection = sqlite3.connect(path or ":memory:", timeout=busy_s, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA synchronous = FULL")  # with WAL: a commit is on disk when it returns
    return connection


def create_tables(connection: sqlite3.Connection) -> None:
    """Raises Unreadable when a newer Atoll made this file."""
    found = connection.execute("PRAGMA user_version").fetchone()[0]
    if found > LAYOUT:
        raise Unreadable(f"the state file has layout {found}, this Atoll reads {LAYOUT}")
    if found < LAYOUT:
        connection.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {LAYOUT}; COMMIT")


def since(connection: sqlite3.Connection, seen: int) -> Batch:
    """What changed after the version `seen`. Run it inside a transaction: two SELECTs must see one state."""
    version, trimmed = connection.execute("SELECT version, trimmed FROM head").fetchone()
    whole = seen < trimmed
    rows = connection.execute("SELECT kind, key, version, body FROM records WHERE version > ?", (0 if whole else seen,))
    return Batch(version, [Row(*row) for row in rows], whole)


def advance(connection: sqlite3.Connection) -> int:
    """The version that this transaction writes; now and then forgets old deletions."""
    version = int(connection.execute("UPDATE head SET version = version + 1 RETURNING version").fetchone()[0])
    if version % _TRIM_EVERY == 0:
        trim(connection, version - TOMBSTONES_KEPT)
    return version


def trim(connection: sqlite3.Connection, upto: int) -> None:
    gone = connection.execute("DELETE FROM records WHERE body IS NULL AND version <= ?", (upto,))
    if gone.rowcount:
        connection.execute("UPDATE head SET trimmed = ?", (upto,))


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switching to WAL wants the file alone and does not always wait: SQLite calls no busy handler for it."""
    deadline = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_S)
