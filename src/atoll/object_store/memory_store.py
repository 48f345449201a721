"""The reference engine: everything in dictionaries, the shortest that keeps each promise."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from atoll.domain.http_message import Body
from atoll.domain.objects import (
    ALWAYS,
    NULL_VERSION,
    START,
    Change,
    Condition,
    Key,
    MakeMetadata,
    ObjectMetadata,
    ScanCursor,
    ScanEntry,
    Stamp,
    StoreCapabilities,
    StoredObject,
)
from atoll.object_store.version_order import (
    ChangeKind,
    after_prefix,
    check_join,
    cut,
    keeps_feed,
    missing_part,
    next_stamp,
    with_metadata,
)
from atoll.rules.conditional_requests import judge_write


@dataclass(slots=True)
class _Version:
    metadata: ObjectMetadata
    bytes: bytes

    @property
    def stamp(self) -> Stamp:
        assert self.metadata.stamp is not None
        return self.metadata.stamp


@dataclass(slots=True)
class _Bucket:
    """`versions` are newest first. `names` are the keys of `versions` in order (code points sort as UTF-8 bytes do)."""

    versions: dict[str, list[_Version]] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    feed: list[Change] = field(default_factory=list)

    def find(self, name: str, version: str | None) -> _Version | None:
        held = self.versions.get(name, [])
        if version is None:
            return held[0] if held else None
        return next((each for each in held if each.metadata.version == version), None)

    def insert(self, name: str, new: _Version) -> None:
        if name not in self.versions:
            insort(self.names, name)
        held = self.versions.setdefault(name, [])
        held.append(new)
        held.sort(key=lambda each: each.stamp, reverse=True)

    def remove(self, name: str, old: _Version) -> None:
        held = self.versions[name]
        held.remove(old)
        if not held:
            del self.versions[name]
            del self.names[bisect_left(self.names, name)]

    def under(self, prefix: str, after: str = "", *, include: bool = False) -> Iterator[str]:
        """Names with the prefix, from `after` on."""
        first = max(bisect_left(self.names, prefix), (bisect_left if include else bisect_right)(self.names, after))
        end = after_prefix(prefix)
        return iter(self.names[first : len(self.names) if end is None else bisect_left(self.names, end)])


class MemoryStore:
    """`origin_region` is this region's name, `now_ms` the wall clock in milliseconds; both go into stamps."""

    capabilities = StoreCapabilities()

    def __init__(self, origin_region: str, now_ms: Callable[[], int]) -> None:
        self._origin_region = origin_region
        self._now_ms = now_ms
        self._buckets: dict[str, _Bucket] = {}
        self._seq = 0

    def _bucket(self, name: str) -> _Bucket:
        return self._buckets.setdefault(name, _Bucket())

    def _note(self, key: Key, version: str, kind: ChangeKind) -> None:
        if keeps_feed(key.bucket):
            self._seq += 1
            self._bucket(key.bucket).feed.append(Change(self._seq, key.name, version, kind))

    async def put(self, key: Key, body: Body, make_metadata: MakeMetadata, condition: Condition = ALWAYS) -> ObjectMetadata:
        content = b"".join([piece async for piece in body])
        return self._insert(key, content, make_metadata(), condition)

    def _insert(self, key: Key, content: bytes, metadata: ObjectMetadata, condition: Condition) -> ObjectMetadata:
        bucket = self._bucket(key.bucket)
        old, current = bucket.find(key.name, metadata.version), bucket.find(key.name, None)
        if old is not None and metadata.version != NULL_VERSION:
            return old.metadata
        judge_write(condition, current.metadata if current else None)
        stamp = next_stamp(metadata, current.stamp.ms if current else None, self._origin_region, self._now_ms)
        new = _Version(replace(metadata, stamp=stamp, size=len(content)), content)
        if old is not None:
            bucket.remove(key.name, old)
        bucket.insert(key.name, new)
        self._note(key, metadata.version, "marker" if metadata.marker else "put")
        return new.metadata

    async def get(self, key: Key, version: str | None = None) -> StoredObject | None:
        found = self._bucket(key.bucket).find(key.name, version)
        if found is None:
            return None
        content = found.bytes
        return StoredObject(found.metadata, lambda byte_range: Body.of(cut(content, byte_range)))

    async def head(self, key: Key, version: str | None = None) -> ObjectMetadata | None:
        found = self._bucket(key.bucket).find(key.name, version)
        return found.metadata if found else None

    async def delete(self, key: Key, version: str, condition: Condition = ALWAYS) -> ObjectMetadata | None:
        bucket = self._bucket(key.bucket)
        current = bucket.find(key.name, None)
        judge_write(condition, current.metadata if current else None)
        old = bucket.find(key.name, version)
        if old is None:
            return None
        bucket.remove(key.name, old)
        self._note(key, version, "delete")
        return old.metadata

    async def update_metadata(self, key: Key, version: str, change: Callable[[ObjectMetadata], ObjectMetadata]) -> ObjectMetadata | None:
        found = self._bucket(key.bucket).find(key.name, version)
        if found is None:
            return None
        changed = change(found.metadata)
        if changed is not found.metadata:
            found.metadata = with_metadata(found.metadata, changed)
            self._note(key, version, "amend")
        return found.metadata

    async def join(
        self, key: Key, parts: Sequence[Key], metadata: ObjectMetadata, *, discard: Key, condition: Condition = ALWAYS
    ) -> ObjectMetadata:
        check_join(key, parts, discard)
        content = b"".join([self._part(part).bytes for part in parts])
        made = self._insert(key, content, metadata, condition)
        self._discard(discard)
        return made

    def _part(self, key: Key) -> _Version:
        found = self._bucket(key.bucket).find(key.name, None)
        if found is None or found.metadata.marker:
            raise missing_part(key)
        return found

    async def drop(self, discard: Key) -> None:
        self._discard(discard)

    def _discard(self, discard: Key) -> None:
        bucket = self._bucket(discard.bucket)
        for name in bucket.under(discard.name, include=True):
            for old in list(bucket.versions[name]):
                bucket.remove(name, old)
                self._note(Key(discard.bucket, name), old.metadata.version, "delete")

    async def scan(
        self, bucket: str, *, prefix: str = "", after: ScanCursor = START, limit: int = 1000, versions: bool = False
    ) -> Sequence[ScanEntry]:
        rows = self._all(bucket, prefix, after) if versions else self._current(bucket, prefix, after)
        return list(islice(rows, limit))

    def _current(self, bucket: str, prefix: str, after: ScanCursor) -> Iterator[ScanEntry]:
        held = self._bucket(bucket)
        for name in held.under(prefix, after.name):
            if not held.versions[name][0].metadata.marker:
                yield ScanEntry(name, held.versions[name][0].metadata)

    def _all(self, bucket: str, prefix: str, after: ScanCursor) -> Iterator[ScanEntry]:
        held = self._bucket(bucket)
        cursor = held.find(after.name, after.version) if after.version is not None else None
        for name in held.under(prefix, after.name, include=after.version is not None):
            for each in held.versions[name]:
                if name != after.name or cursor is None or each.stamp < cursor.stamp:
                    yield ScanEntry(name, each.metadata, latest=each is held.versions[name][0])

    async def changes(self, bucket: str, since: int, limit: int = 1000) -> Sequence[Change]:
        return [change for change in self._bucket(bucket).feed if change.seq > since][:limit]

    async def trim(self, bucket: str, upto: int) -> None:
        held = self._bucket(bucket)
        held.feed = [change for change in held.feed if change.seq > upto]

    async def close(self) -> None:
        self._buckets.clear()
