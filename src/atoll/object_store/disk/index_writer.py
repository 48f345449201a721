"""Statements of the writer, each a step inside the commit thread's transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from atoll.domain.objects import Key, ObjectMetadata, Stamp
from atoll.object_store.disk.row_codec import Segment, decode, decode_segments, encode
from atoll.object_store.disk.schema import FILE, INLINE, JOINED, NO_END
from atoll.object_store.version_order import ChangeKind, after_prefix, keeps_feed

_ROW = "id, name, version, ms, origin, latest, marker, place, size, facts, segments"
_FROM = f"SELECT {_ROW} FROM version WHERE bucket = ? AND name = ?"  # noqa: S608  # constants
_CURRENT = f"{_FROM} AND latest = 1"
_NAMED = f"{_FROM} AND version = ? AND latest = 0"
_NEXT = """SELECT id FROM version WHERE bucket = ? AND name = ? AND latest = 0
           ORDER BY ms DESC, origin DESC, version DESC LIMIT 1"""
_INSERT = "INSERT INTO version VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_BLOB = "INSERT INTO blob VALUES (?, ?, ?, ?)"
_FEED = "INSERT INTO feed VALUES (?, ?, ?, ?, ?)"
_UNDER_ROW = f"SELECT {_ROW}, (SELECT crc FROM blob WHERE blob.id = version.id) FROM version"  # noqa: S608  # constants
_UNDER = "bucket = ? AND name >= ? AND name < ? AND latest ="


class Row(NamedTuple):
    """One version as the writer sees it."""

    id: int
    name: str
    version: str
    ms: int
    origin_region: str
    latest: int
    marker: int
    place: int
    size: int
    packed: bytes
    segments: bytes | None
    crc: int | None = None  # of its only blob, where the statement asks for it

    @property
    def metadata(self) -> ObjectMetadata:
        return decode(self.packed)

    @property
    def stamp(self) -> Stamp:
        return Stamp(self.ms, self.origin_region, self.version)

    def parts(self) -> list[Segment]:
        """Where its bytes are."""
        if self.place == JOINED:
            assert self.segments is not None
            return decode_segments(self.segments)
        if self.place in (INLINE, FILE):
            return [Segment(self.id, self.size, self.place == INLINE, self.crc or 0)]
        return []


class Index:
    """`origin_region` and `now_ms` go into stamps. Not thread-safe: belongs to the commit thread."""

    def __init__(self, db: sqlite3.Connection, origin_region: str, now_ms: Callable[[], int]) -> None:
        self.db = db
        self.origin_region = origin_region
        self.now_ms = now_ms
        self._run = db.cursor().execute
        self.seq = self._highest_seq()

    def _highest_seq(self) -> int:
        row = self._run("SELECT max(value) FROM (SELECT value FROM meta WHERE name = 'seq' UNION ALL SELECT max(seq) FROM feed)")
        return int(row.fetchone()[0] or 0)

    def current(self, key: Key) -> Row | None:
        row = self._run(_CURRENT, key).fetchone()
        return None if row is None else Row(*row)

    def find(self, key: Key, version: str, current: Row | None) -> Row | None:
        """The given version, `current` being what current() said of the key."""
        if current is None or current.version == version:
            return current
        row = self._run(_NAMED, (*key, version)).fetchone()
        return None if row is None else Row(*row)

    def insert(self, id: int, key: Key, metadata: ObjectMetadata, *, latest: bool, place: int, segments: bytes | None = None) -> None:
        stamp = metadata.stamp
        assert stamp is not None
        row = (
            id, key.bucket, key.name, metadata.version, stamp.ms, stamp.origin_region, metadata.marker, latest,
            place, metadata.size, encode(metadata), segments,
        )  # fmt: skip
        self._run(_INSERT, row)

    def insert_blob(self, id: int, size: int, crc: int, content: bytes | None) -> None:
        """`crc` signed. `content` None: the bytes are in a file."""
        self._run(_BLOB, (id, size, crc, content))

    def demote(self, row: Row) -> None:
        self._run("UPDATE version SET latest = 0 WHERE id = ?", (row.id,))

    def promote_next(self, key: Key) -> None:
        """After the current version went: the highest of the others takes its place."""
        row = self._run(_NEXT, key).fetchone()
        if row is not None:
            self._run("UPDATE version SET latest = 1 WHERE id = ?", row)

    def rewrite(self, row: Row, metadata: ObjectMetadata) -> None:
        self._run("UPDATE version SET facts = ? WHERE id = ?", (encode(metadata), row.id))

    def remove(self, row: Row) -> list[int]:
        """Forget one version and its bytes. Returns the ids of files that nothing refers to any more."""
        self._run("DELETE FROM version WHERE id = ?", (row.id,))
        return self.remove_blobs(row.parts())

    def remove_blobs(self, segments: Iterable[Segment]) -> list[int]:
        files = []
        for segment in segments:
            self._run("DELETE FROM blob WHERE id = ?", (segment.id,))
            if not segment.inline:
                files.append(segment.id)
        return files

    def under(self, discard: Key) -> list[Row]:
        """All versions in that bucket whose name starts so, by name, newest first."""
        rows = [Row(*row) for latest in (1, 0) for row in self._under(_UNDER_ROW, discard, latest)]
        rows.sort(key=lambda row: row.stamp, reverse=True)
        rows.sort(key=lambda row: row.name)
        return rows

    def delete_rows_under(self, discard: Key) -> None:
        """Their rows only, in one stroke: bytes are the caller's business."""
        for latest in (1, 0):
            self._under("DELETE FROM version", discard, latest)

    def _under(self, what: str, discard: Key, latest: int) -> list[Any]:
        bounds = (discard.bucket, discard.name, after_prefix(discard.name) or NO_END)
        return self._run(f"{what} WHERE {_UNDER} {latest}", bounds).fetchall()

    def note(self, key: Key, version: str, kind: ChangeKind) -> None:
        if keeps_feed(key.bucket):
            self.seq += 1
            self._run(_FEED, (key.bucket, self.seq, key.name, version, kind))

    def trim(self, bucket: str, upto: int) -> None:
        self._run("DELETE FROM feed WHERE bucket = ? AND seq <= ?", (bucket, upto))
        self._run("INSERT OR REPLACE INTO meta VALUES ('seq', ?)", (self.seq,))
