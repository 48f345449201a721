"""The write operations: each judges inside the group's transaction, then changes rows."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from atoll.domain.objects import ALWAYS, NULL_VERSION, Condition, Key, ObjectMetadata, Stamp
from atoll.object_store.disk.index_writer import Index, Row
from atoll.object_store.disk.row_codec import Segment, encode_segments, stamped
from atoll.object_store.disk.schema import FILE, INLINE, JOINED, NOTHING
from atoll.object_store.version_order import is_internal, missing_part, next_stamp, with_metadata
from atoll.rules.conditional_requests import judge_write

R = TypeVar("R")


class Write(ABC, Generic[R]):
    """One operation waiting for its commit.

    `future` belongs to the loop. `weight` are inline bytes. `fresh` is the id of a file that the operation brings: when the
    operation fails, nothing refers to that file. `gone` are files that nothing refers to once the commit has succeeded.
    `touches` is the only key outside internal areas whose versions it changes, None when there may be others.
    """

    __slots__ = ("fresh", "future", "gone", "touches", "weight")
    future: asyncio.Future[R]

    def __init__(self, touches: Key | None = None) -> None:
        self.touches = touches
        self.weight = 0
        self.fresh: int | None = None
        self.gone: list[int] = []

    @abstractmethod
    def apply(self, index: Index) -> R:
        """Runs in the commit thread. What it raises undoes what it did and reaches the waiter."""


class Bytes:
    """A body that has been read: inline `content`, or None for a file that was flushed under the same id. `crc` signed."""

    __slots__ = ("content", "crc", "size")

    def __init__(self, size: int, crc: int, content: bytes | None) -> None:
        self.size = size
        self.crc = crc
        self.content = content


class _Arrival(Write[ObjectMetadata]):
    """A new version of `key`, on its way in under the row id `id`."""

    __slots__ = ("condition", "id", "key", "metadata")

    def __init__(self, id: int, key: Key, metadata: ObjectMetadata, condition: Condition) -> None:
        super().__init__(key)
        self.id = id
        self.key = key
        self.metadata = metadata
        self.condition = condition

    def enter(self, index: Index, place: int, size: int, segments: bytes | None = None) -> tuple[ObjectMetadata, bool]:
        """Judge, give a stamp, insert in order. Returns the metadata that are stored, and False when they were there before."""
        key, metadata = self.key, self.metadata
        current = index.current(key)
        old = index.find(key, metadata.version, current)
        if old is not None and metadata.version != NULL_VERSION:
            return old.metadata, False
        if self.condition is not ALWAYS:
            judge_write(self.condition, current.metadata if current else None)
        stamp = next_stamp(metadata, current.ms if current else None, index.origin_region, index.now_ms)
        made = stamped(metadata, stamp, size)
        if old is not None:
            current = self._make_room(index, old, current, stamp)
        latest = current is None or stamp > current.stamp
        if latest and current is not None:
            index.demote(current)
        index.insert(self.id, key, made, latest=latest, place=place, segments=segments)
        index.note(key, made.version, "marker" if made.marker else "put")
        return made, True


    def _make_room(self, index: Index, old: Row, current: Row | None, stamp: Stamp) -> Row | None:
        """Take the version out that is replaced. Returns which one is current then; None also when nobody need be found,
        because the new one is higher than all (the usual overwrite)."""
        if old is not current:
            self.gone += index.remove(old)
            return current
        if stamp > old.stamp:
            self.gone += index.remove(old)
            return None
        self.gone += _remove_version(index, self.key, old)
        return index.current(self.key)


class Put(_Arrival):
    __slots__ = ("_body",)

    def __init__(self, id: int, key: Key, metadata: ObjectMetadata, body: Bytes, condition: Condition) -> None:
        super().__init__(id, key, metadata, condition)
        self._body = body
        if body.content is None:
            self.fresh = id
        else:
            self.weight = body.size

    def apply(self, index: Index) -> ObjectMetadata:
        body = self._body
        place = FILE if body.content is None else INLINE if body.size else NOTHING
        made, new = self.enter(index, place, body.size)
        if new and body.size:
            index.insert_blob(self.id, body.size, body.crc, body.content)
        elif not new and place == FILE:
            self.gone.append(self.id)
        return made


def _remove_version(index: Index, key: Key, row: Row) -> list[int]:
    files = index.remove(row)
    if row.latest:
        index.promote_next(key)
    return files


class Delete(Write[ObjectMetadata | None]):
    __slots__ = ("_condition", "_key", "_version")

    def __init__(self, key: Key, version: str, condition: Condition) -> None:
        super().__init__(key)
        self._key = key
        self._version = version
        self._condition = condition

    def apply(self, index: Index) -> ObjectMetadata | None:
        current = index.current(self._key)
        judge_write(self._condition, current.metadata if current else None)
        old = index.find(self._key, self._version, current)
        if old is None:
            return None
        self.gone = _remove_version(index, self._key, old)
        index.note(self._key, self._version, "delete")
        return old.metadata


class UpdateMetadata(Write[ObjectMetadata | None]):
    __slots__ = ("_change", "_key", "_version")

    def __init__(self, key: Key, version: str, change: Callable[[ObjectMetadata], ObjectMetadata]) -> None:
        super().__init__(key)
        self._key = key
        self._version = version
        self._change = change

    def apply(self, index: Index) -> ObjectMetadata | None:
        row = index.find(self._key, self._version, index.current(self._key))
        if row is None:
            return None
        metadata = row.metadata
        changed = self._change(metadata)
        if changed is not metadata:
            index.rewrite(row, with_metadata(metadata, changed))
            index.note(self._key, self._version, "amend")
        return changed


class Join(_Arrival):
    """A part's blob is inherited, not copied: only rows move."""

    __slots__ = ("_discard", "_parts")

    def __init__(self, arrival: tuple[int, Key, ObjectMetadata, Condition], parts: Sequence[Key], discard: Key) -> None:
        super().__init__(*arrival)
        self.touches = self.key if is_internal(discard.bucket) else None
        self._parts = parts
        self._discard = discard

    def apply(self, index: Index) -> ObjectMetadata:
        rows = index.under(self._discard)
        current = {row.name: row for row in rows if row.latest}
        segments = [segment for part in self._parts for segment in _segments(current, part)]
        packed = encode_segments(segments) if segments else None
        size = sum(segment.size for segment in segments)
        made, new = self.enter(index, JOINED if segments else NOTHING, size, packed)
        self.gone += _discard(index, self._discard, rows, {segment.id for segment in segments} if new else set())
        return made


def _segments(current: dict[str, Row], part: Key) -> list[Segment]:
    row = current.get(part.name)
    if row is None or row.marker:
        raise missing_part(part)
    return row.parts()


def _discard(index: Index, discard: Key, rows: list[Row], keep: set[int]) -> list[int]:
    """Remove these rows and their bytes, but for blobs in `keep`. Returns files that nothing refers to any more."""
    index.delete_rows_under(discard)
    for row in rows:
        index.note(Key(discard.bucket, row.name), row.version, "delete")
    return index.remove_blobs(segment for row in rows for segment in row.parts() if segment.id not in keep)


class Drop(Write[None]):
    __slots__ = ("_discard",)

    def __init__(self, discard: Key) -> None:
        super().__init__(discard if is_internal(discard.bucket) else None)
        self._discard = discard

    def apply(self, index: Index) -> None:
        self.gone = _discard(index, self._discard, index.under(self._discard), set())


class Trim(Write[None]):
    __slots__ = ("_bucket", "_upto")

    def __init__(self, bucket: str, upto: int) -> None:
        super().__init__(Key(bucket, ""))  # no version of anything
        self._bucket = bucket
        self._upto = upto

    def apply(self, index: Index) -> None:
        index.trim(self._bucket, self._upto)
