"""Statements on committed rows, in the loop's own thread: a point read takes microseconds.

Every statement is run to its end at once: an open cursor would keep the write-ahead log from being taken in.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import islice
from typing import NamedTuple

from atoll.domain.objects import Change, Key, ObjectMetadata, ScanCursor, ScanEntry, Stamp
from atoll.object_store.disk.row_codec import decode
from atoll.object_store.disk.schema import NO_END
from atoll.object_store.version_order import after_prefix, first_after

_FIND = """SELECT v.facts, v.place, v.id, v.segments, b.crc, b.bytes FROM version v LEFT JOIN blob b ON b.id = v.id
           WHERE v.bucket = ? AND v.name = ?"""
_FIND_CURRENT = f"{_FIND} AND v.latest = 1"
_FIND_NAMED = f"{_FIND} AND v.version = ? AND v.latest = 0"
_HEAD = "SELECT facts FROM version WHERE bucket = ? AND name = ?"
_HEAD_CURRENT = f"{_HEAD} AND latest = 1"
_HEAD_VERSION = f"{_HEAD} AND version = ? AND latest = 1 UNION ALL {_HEAD} AND version = ? AND latest = 0"
_BLOB = "SELECT bytes FROM blob WHERE id = ?"
_LIVE = """SELECT name, facts FROM version
           WHERE bucket = ? AND latest = 1 AND marker = 0 AND name >= ? AND name < ? ORDER BY name LIMIT ?"""
_ALL_CURRENT = """SELECT name, ms, origin, version, facts FROM version
           WHERE bucket = ? AND latest = 1 AND name >= ? AND name < ? ORDER BY name LIMIT ?"""
_ALL_OLDER = """SELECT name, ms, origin, version, facts FROM version INDEXED BY older
           WHERE bucket = ? AND latest = 0 AND name >= ? AND name < ?
           ORDER BY name, ms DESC, origin DESC, version DESC LIMIT ?"""
_REST = """SELECT name, ms, origin, version, facts FROM version
           WHERE bucket = ? AND latest = 0 AND name = ? AND (ms, origin, version) < (?, ?, ?)
           ORDER BY ms DESC, origin DESC, version DESC LIMIT ?"""
_CHANGES = "SELECT seq, name, version, kind FROM feed WHERE bucket = ? AND seq > ? ORDER BY seq LIMIT ?"

_Version = tuple[str, int, str, str, bytes]  # name, ms, origin, version, packed metadata


def _range(bucket: str, prefix: str, after: ScanCursor) -> tuple[str, str, str | bytes]:
    """Names with the prefix that come after the mark's, as one closed-open range: what an index can use on both sides."""
    first = prefix if prefix > after.name else first_after(after.name) if after.name else ""
    return bucket, first, after_prefix(prefix) or NO_END


class Hit(NamedTuple):
    """A version that was found. `crc` and `content` are of its only blob; `content` None when that is a file."""

    metadata: ObjectMetadata
    place: int
    id: int
    segments: bytes | None
    crc: int | None
    content: bytes | None


class Reads:
    """Over a connection that never writes."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._run = db.cursor().execute

    def close(self) -> None:
        self._db.close()

    def find(self, key: Key, version: str | None) -> Hit | None:
        row = self._run(_FIND_CURRENT, key).fetchone()
        if row is None:
            return None
        metadata = decode(row[0])
        if version is not None and metadata.version != version:
            row = self._run(_FIND_NAMED, (*key, version)).fetchone()
            if row is None:
                return None
            metadata = decode(row[0])
        return Hit(metadata, *row[1:])

    def head(self, key: Key, version: str | None) -> ObjectMetadata | None:
        if version is None:
            row = self._run(_HEAD_CURRENT, key).fetchone()
        else:
            row = next(iter(self._run(_HEAD_VERSION, (*key, version, *key, version)).fetchall()), None)
        return None if row is None else decode(row[0])

    def content(self, id: int) -> bytes | None:
        """Inline bytes of one blob."""
        row = self._run(_BLOB, (id,)).fetchone()
        return None if row is None else row[0]

    def live(self, bucket: str, prefix: str, after: ScanCursor, limit: int) -> list[ScanEntry]:
        rows = self._run(_LIVE, (*_range(bucket, prefix, after), limit)).fetchall()
        return [ScanEntry(name, decode(packed)) for name, packed in rows]

    def versions(self, bucket: str, prefix: str, after: ScanCursor, limit: int) -> list[ScanEntry]:
        """Newest first within a key: what is left of the key of the mark, then two ordered streams merged."""
        entries = [ScanEntry(row[0], decode(row[4]), latest) for row, latest in self._rest(bucket, prefix, after, limit)]
        bounds = (*_range(bucket, prefix, after), limit - len(entries))
        current = ((row, True) for row in self._run(_ALL_CURRENT, bounds).fetchall())
        older = ((row, False) for row in self._run(_ALL_OLDER, bounds).fetchall())
        both = merge(current, older, key=lambda pair: (pair[0][0], not pair[1]))
        entries += [ScanEntry(row[0], decode(row[4]), latest) for row, latest in islice(both, limit - len(entries))]
        return entries

    def _rest(self, bucket: str, prefix: str, after: ScanCursor, limit: int) -> Iterator[tuple[_Version, bool]]:
        """The versions of the mark's own key that come after it; all of them when the marked one is gone."""
        if after.version is None or not after.name.startswith(prefix):
            return
        key = Key(bucket, after.name)
        marked = self.head(key, after.version)
        stamp = None if marked is None else marked.stamp
        if stamp is None:
            stamp = Stamp(2**63 - 1, "", "")
        current = self._current(key)
        if current is not None and current[1:4] < stamp and limit:
            yield current, True
            limit -= 1
        for row in self._run(_REST, (*key, *stamp, limit)).fetchall():
            yield row, False

    def _current(self, key: Key) -> _Version | None:
        row = self._run(
            "SELECT name, ms, origin, version, facts FROM version WHERE bucket = ? AND name = ? AND latest = 1", key
        ).fetchone()
        return None if row is None else (row[0], row[1], row[2], row[3], row[4])

    def changes(self, bucket: str, since: int, limit: int) -> Sequence[Change]:
        return [Change(*row) for row in self._run(_CHANGES, (bucket, since, limit)).fetchall()]


