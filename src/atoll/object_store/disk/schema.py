"""The tables of a disk store, and how its database is opened.

version  one row per version or marker. `place` tells where the bytes are: NOTHING, INLINE (blob row with the same id), FILE
         (blob row with the same id, bytes in blobs/xx/id), JOINED (`segments` lists blob ids).
         `latest` is 1 on the one row with the highest stamp of its key. A fresh key touches one index only: `current` finds
         it and lists what a plain listing shows; `older` orders the other versions, `named` finds them by id.
blob     integrity of a run of bytes (CRC64NVME as a signed integer), and the bytes when they are inline.
feed     the change feed, one sequence for all buckets.
meta     seq: highest of the feed, kept when entries are trimmed. open: 1 while a process has the store, so 1 at opening means
         that it died.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

from atoll.domain.quotas import KiB, MiB

FORMAT: Final = 1
DATABASE: Final = "index.db"
BLOBS: Final = "blobs"
TEMPORARY: Final = "tmp"
LOCK: Final = "lock"

NOTHING, INLINE, FILE, JOINED = 0, 1, 2, 3

NO_END: Final = b"\xff"  # as an upper bound of names: SQLite sorts every blob behind every text

INLINE_MAX_BYTES: Final = 64 * KiB  # a body of this size or more gets a file
PAGE_BYTES: Final = 4 * KiB  # larger pages make savepoints copy more: 37 us per put with 4 KiB, 52 with 16 KiB
WAL_MAX_PAGES: Final = 8000  # the commit thread checkpoints long before; this bounds the log should it not get to it
WRITER_CACHE_BYTES: Final = 32 * MiB
READER_CACHE_BYTES: Final = 16 * MiB

TABLES: Final = """
CREATE TABLE version (
  id INTEGER PRIMARY KEY, bucket TEXT NOT NULL, name TEXT NOT NULL, version TEXT NOT NULL,
  ms INTEGER NOT NULL, origin TEXT NOT NULL, marker INTEGER NOT NULL, latest INTEGER NOT NULL,
  place INTEGER NOT NULL, size INTEGER NOT NULL, facts BLOB NOT NULL, segments BLOB
) STRICT;
CREATE UNIQUE INDEX current ON version (bucket, name, marker) WHERE latest = 1;
CREATE INDEX older ON version (bucket, name, ms DESC, origin DESC, version DESC) WHERE latest = 0;
CREATE INDEX named ON version (bucket, name, version) WHERE latest = 0;
CREATE TABLE blob (id INTEGER PRIMARY KEY, size INTEGER NOT NULL, crc INTEGER NOT NULL, bytes BLOB) STRICT;
CREATE TABLE feed (
  bucket TEXT NOT NULL, seq INTEGER NOT NULL, name TEXT NOT NULL, version TEXT NOT NULL, kind TEXT NOT NULL,
  PRIMARY KEY (bucket, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
"""


def open_writer(folder: Path) -> sqlite3.Connection:
    """The one connection that writes. Every commit is flushed. Only this one checkpoints."""
    db = sqlite3.connect(folder / DATABASE, isolation_level=None, check_same_thread=False)
    db.execute(f"PRAGMA page_size = {PAGE_BYTES}")
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA temp_store = MEMORY")  # savepoints spill here
    db.execute(f"PRAGMA wal_autocheckpoint = {WAL_MAX_PAGES}")
    db.execute(f"PRAGMA cache_size = -{WRITER_CACHE_BYTES // KiB}")
    _lay_out(db)
    return db


def _lay_out(db: sqlite3.Connection) -> None:
    (found,) = db.execute("PRAGMA user_version").fetchone()
    if found not in (0, FORMAT):
        raise RuntimeError(f"the store has format {found}, this Atoll reads format {FORMAT}")
    if found == 0:
        db.executescript(f"BEGIN IMMEDIATE; {TABLES} PRAGMA user_version = {FORMAT}; COMMIT;")


def open_reader(folder: Path) -> sqlite3.Connection:
    """A connection that sees what is committed and never writes."""
    db = sqlite3.connect(f"{(folder / DATABASE).absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
    db.execute("PRAGMA query_only = 1")
    db.execute("PRAGMA wal_autocheckpoint = 0")
    db.execute(f"PRAGMA cache_size = -{READER_CACHE_BYTES // KiB}")
    return db


def signed(crc: int) -> int:
    """CRC64 as SQLite keeps integers."""
    return crc - (1 << 64) if crc >> 63 else crc
