"""Walks rows and files of a store and names each broken invariant; changes nothing."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import msgspec
from awscrt.checksums import crc64nvme

from atoll.domain.objects import ObjectMetadata, Stamp
from atoll.domain.quotas import MiB
from atoll.object_store.disk.blob_files import Blobs
from atoll.object_store.disk.folder_lock import claim
from atoll.object_store.disk.row_codec import Segment, decode, decode_segments
from atoll.object_store.disk.schema import DATABASE, FILE, INLINE, JOINED, NOTHING, open_reader, signed

READ_BYTES: Final = 1 * MiB

Kind = Literal[
    "database", "facts", "columns", "order", "segments", "blob-missing", "blob-unused", "file-missing", "file-orphan",
    "size", "checksum", "feed",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class BrokenInvariant:
    """One broken invariant. `key` is bucket/name, or a path for what belongs to no key."""

    kind: Kind
    key: str
    detail: str


def check(folder: Path) -> Iterator[BrokenInvariant]:
    """Every broken invariant of the store in `folder`. Raises FileNotFoundError when there is none.

    A store that a process has open is read as of one moment; files that no row refers to are not judged then, because a
    write on its way in looks the same.
    """
    if not (folder / DATABASE).exists():
        raise FileNotFoundError(f"there is no store in {folder}")
    lock = claim(folder)
    try:
        with closing(open_reader(folder)) as db:
            db.execute("BEGIN")  # one snapshot for all that follows
            yield from _Walk(db, Blobs(folder), alone=lock is not None).all()
    finally:
        if lock is not None:
            os.close(lock)


class _Walk:
    def __init__(self, db: sqlite3.Connection, blobs: Blobs, *, alone: bool) -> None:
        self._db = db
        self._blobs = blobs
        self._alone = alone
        self._used: dict[int, str] = {}

    def all(self) -> Iterator[BrokenInvariant]:
        broken = list(self._database())
        yield from broken
        if broken:  # rows cannot be believed
            return
        steps: list[Callable[[], Iterable[BrokenInvariant]]] = [self._versions, self._order, self._blob_rows, self._files, self._feed]
        for step in steps:
            yield from step()

    def _database(self) -> Iterator[BrokenInvariant]:
        try:
            for (line,) in self._db.execute("PRAGMA integrity_check(100)").fetchall():
                if line != "ok":
                    yield BrokenInvariant("database", DATABASE, line)
        except sqlite3.DatabaseError as fault:
            yield BrokenInvariant("database", DATABASE, str(fault))

    def _versions(self) -> Iterator[BrokenInvariant]:
        rows = self._db.execute(
            "SELECT id, bucket, name, version, ms, origin, marker, place, size, facts, segments FROM version ORDER BY id"
        )
        for id_, bucket, name, version, ms, origin_region, marker, place, size, packed, segments in rows:
            key = f"{bucket}/{name}"
            yield from _metadata(key, packed, (version, Stamp(ms, origin_region, version), bool(marker), size))
            yield from self._claim_blobs(key, id_, place, size, segments)

    def _claim_blobs(self, key: str, id_: int, place: int, size: int, packed: bytes | None) -> Iterator[BrokenInvariant]:
        try:
            segments = _segments(id_, place, size, packed)
        except msgspec.DecodeError as fault:
            yield BrokenInvariant("segments", key, f"do not decode: {fault}")
            return
        if sum(segment.size for segment in segments) != size:
            yield BrokenInvariant("size", key, f"segments do not add up to {size}")
        for segment in segments:
            if segment.id in self._used:
                yield BrokenInvariant("segments", key, f"blob {segment.id:x} also belongs to {self._used[segment.id]}")
            self._used[segment.id] = key
            yield from self._blob_of(key, segment, sums=place == JOINED)

    def _blob_of(self, key: str, segment: Segment, *, sums: bool) -> Iterator[BrokenInvariant]:
        row = self._db.execute("SELECT size, crc, bytes IS NOT NULL FROM blob WHERE id = ?", (segment.id,)).fetchone()
        if row is None:
            yield BrokenInvariant("blob-missing", key, f"blob {segment.id:x} has no row")
        elif (row[0], bool(row[2])) != (segment.size, segment.inline) or (sums and row[1] != segment.crc):
            yield BrokenInvariant("segments", key, f"blob {segment.id:x} is not what its version says")

    def _order(self) -> Iterator[BrokenInvariant]:
        """Of each key the one row with the highest stamp is the latest."""
        rows = self._db.execute(
            """SELECT bucket, name, latest, row_number() OVER
               (PARTITION BY bucket, name ORDER BY ms DESC, origin DESC, version DESC) FROM version"""
        )
        for bucket, name, latest, rank in rows:
            if bool(latest) != (rank == 1):
                yield BrokenInvariant("order", f"{bucket}/{name}", f"version {rank} from the top has latest = {latest}")
        twice = self._db.execute("SELECT bucket, name, version FROM version GROUP BY 1, 2, 3 HAVING count(*) > 1")
        for bucket, name, version in twice:
            yield BrokenInvariant("order", f"{bucket}/{name}", f"version {version} is there twice")

    def _blob_rows(self) -> Iterator[BrokenInvariant]:
        for id_, size, crc, content in self._db.execute("SELECT id, size, crc, bytes FROM blob ORDER BY id"):
            key = self._used.get(id_, f"blob {id_:x}")
            if id_ not in self._used:
                yield BrokenInvariant("blob-unused", key, "no version refers to it")
            if content is None:
                yield from self._file(key, id_, size, crc)
            else:
                yield from _sums(key, len(content), signed(crc64nvme(content)), size, crc)

    def _file(self, key: str, id_: int, size: int, crc: int) -> Iterator[BrokenInvariant]:
        try:
            found, sums = _sum_file(self._blobs.path(id_))
        except FileNotFoundError:
            if self._alone or self._still_there(id_):
                yield BrokenInvariant("file-missing", key, f"the file of blob {id_:x} is gone")
            return
        yield from _sums(key, found, sums, size, crc)

    def _still_there(self, id_: int) -> bool:
        """In the store as it is now: the version may have been deleted since our snapshot."""
        with closing(open_reader(self._blobs.folder)) as db:
            return db.execute("SELECT 1 FROM blob WHERE id = ?", (id_,)).fetchone() is not None

    def _files(self) -> Iterator[BrokenInvariant]:
        if not self._alone:
            return
        known = {id_ for (id_,) in self._db.execute("SELECT id FROM blob WHERE bytes IS NULL")}
        for id_, path in self._blobs.files():
            if id_ not in known:
                yield BrokenInvariant("file-orphan", str(path.relative_to(self._blobs.folder)), "no row refers to it")
        for path in self._blobs.temporary_files():
            yield BrokenInvariant("file-orphan", str(path.relative_to(self._blobs.folder)), "was never finished")

    def _feed(self) -> Iterator[BrokenInvariant]:
        """What was put must be there, unless the feed also tells, later on, how it went."""
        rows = self._db.execute(
            """SELECT f.bucket, f.name, f.version, f.seq, f.kind,
               EXISTS (SELECT 1 FROM version v WHERE v.bucket = f.bucket AND v.name = f.name AND v.version = f.version
                       AND v.latest = 1) OR
               EXISTS (SELECT 1 FROM version v WHERE v.bucket = f.bucket AND v.name = f.name AND v.version = f.version
                       AND v.latest = 0)
               FROM feed f ORDER BY f.bucket, f.seq DESC"""
        )
        deleted = set()
        for bucket, name, version, seq, kind, there in rows:
            if kind == "delete":
                deleted.add((bucket, name, version))
            elif not there and (bucket, name, version) not in deleted:
                yield BrokenInvariant("feed", f"{bucket}/{name}", f"entry {seq} ({kind}) speaks of a version that is not there")


def _segments(id_: int, place: int, size: int, packed: bytes | None) -> list[Segment]:
    if place == JOINED:
        return decode_segments(packed or b"")
    return [] if place == NOTHING else [Segment(id_, size, place == INLINE, 0)] if place in (INLINE, FILE) else []


def _metadata(key: str, packed: bytes, columns: tuple[str, Stamp, bool, int]) -> Iterator[BrokenInvariant]:
    try:
        metadata: ObjectMetadata = decode(packed)
    except msgspec.DecodeError as fault:
        yield BrokenInvariant("facts", key, f"do not decode: {fault}")
        return
    if (metadata.version, metadata.stamp, metadata.marker, metadata.size) != columns:
        yield BrokenInvariant("columns", key, f"facts and columns of version {columns[0]} differ")


def _sum_file(path: Path) -> tuple[int, int]:
    size = crc = 0
    with path.open("rb") as file:
        while piece := file.read(READ_BYTES):
            size, crc = size + len(piece), crc64nvme(piece, crc)
    return size, signed(crc)


def _sums(key: str, size: int, crc: int, wanted_size: int, wanted_crc: int) -> Iterator[BrokenInvariant]:
    if size != wanted_size:
        yield BrokenInvariant("size", key, f"{size} bytes, {wanted_size} were written")
    elif crc != wanted_crc:
        yield BrokenInvariant("checksum", key, "the bytes are not the ones that were written")
