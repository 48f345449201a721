"""What does a correct store do? The reference engine: everything in dictionaries, the shortest that keeps each promise."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from atoll.domain.message import Body
from atoll.domain.objects import (
    ALWAYS,
    NULL_VERSION,
    START,
    Ability,
    Change,
    Condition,
    Entry,
    Facts,
    Found,
    Key,
    Mark,
    Seal,
    Stamp,
)
from atoll.rules.conditional import judge_write
from atoll.store.order import ChangeKind, after_prefix, amended, check_join, cut, keeps_feed, missing_part, next_stamp


@dataclass(slots=True)
class _Version:
    facts: Facts
    bytes: bytes

    @property
    def stamp(self) -> Stamp:
        assert self.facts.stamp is not None
        return self.facts.stamp


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
        return next((each for each in held if each.facts.version == version), None)

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
    """`origin` is this region's name, `now_ms` the wall clock in milliseconds; both go into stamps."""

    able = Ability()

    def __init__(self, origin: str, now_ms: Callable[[], int]) -> None:
        self._origin = origin
        self._now_ms = now_ms
        self._buckets: dict[str, _Bucket] = {}
        self._seq = 0

    def _bucket(self, name: str) -> _Bucket:
        return self._buckets.setdefault(name, _Bucket())

    def _note(self, key: Key, version: str, kind: ChangeKind) -> None:
        if keeps_feed(key.bucket):
            self._seq += 1
            self._bucket(key.bucket).feed.append(Change(self._seq, key.name, version, kind))

    async def put(self, key: Key, body: Body, seal: Seal, condition: Condition = ALWAYS) -> Facts:
        content = b"".join([piece async for piece in body])
        return self._insert(key, content, seal(), condition)

    def _insert(self, key: Key, content: bytes, facts: Facts, condition: Condition) -> Facts:
        bucket = self._bucket(key.bucket)
        old, current = bucket.find(key.name, facts.version), bucket.find(key.name, None)
        if old is not None and facts.version != NULL_VERSION:
            return old.facts
        judge_write(condition, current.facts if current else None)
        stamp = next_stamp(facts, current.stamp.ms if current else None, self._origin, self._now_ms)
        new = _Version(replace(facts, stamp=stamp, size=len(content)), content)
        if old is not None:
            bucket.remove(key.name, old)
        bucket.insert(key.name, new)
        self._note(key, facts.version, "marker" if facts.marker else "put")
        return new.facts

    async def get(self, key: Key, version: str | None = None) -> Found | None:
        found = self._bucket(key.bucket).find(key.name, version)
        if found is None:
            return None
        content = found.bytes
        return Found(found.facts, lambda span: Body.of(cut(content, span)))

    async def head(self, key: Key, version: str | None = None) -> Facts | None:
        found = self._bucket(key.bucket).find(key.name, version)
        return found.facts if found else None

    async def delete(self, key: Key, version: str, condition: Condition = ALWAYS) -> Facts | None:
        bucket = self._bucket(key.bucket)
        current = bucket.find(key.name, None)
        judge_write(condition, current.facts if current else None)
        old = bucket.find(key.name, version)
        if old is None:
            return None
        bucket.remove(key.name, old)
        self._note(key, version, "delete")
        return old.facts

    async def amend(self, key: Key, version: str, change: Callable[[Facts], Facts]) -> Facts | None:
        found = self._bucket(key.bucket).find(key.name, version)
        if found is None:
            return None
        changed = change(found.facts)
        if changed is not found.facts:
            found.facts = amended(found.facts, changed)
            self._note(key, version, "amend")
        return found.facts

    async def join(
        self, key: Key, parts: Sequence[Key], facts: Facts, *, discard: Key, condition: Condition = ALWAYS
    ) -> Facts:
        check_join(key, parts, discard)
        content = b"".join([self._part(part).bytes for part in parts])
        made = self._insert(key, content, facts, condition)
        self._discard(discard)
        return made

    def _part(self, key: Key) -> _Version:
        found = self._bucket(key.bucket).find(key.name, None)
        if found is None or found.facts.marker:
            raise missing_part(key)
        return found

    async def drop(self, discard: Key) -> None:
        self._discard(discard)

    def _discard(self, discard: Key) -> None:
        bucket = self._bucket(discard.bucket)
        for name in bucket.under(discard.name, include=True):
            for old in list(bucket.versions[name]):
                bucket.remove(name, old)
                self._note(Key(discard.bucket, name), old.facts.version, "delete")

    async def scan(
        self, bucket: str, *, prefix: str = "", after: Mark = START, limit: int = 1000, versions: bool = False
    ) -> Sequence[Entry]:
        rows = self._all(bucket, prefix, after) if versions else self._current(bucket, prefix, after)
        return list(islice(rows, limit))

    def _current(self, bucket: str, prefix: str, after: Mark) -> Iterator[Entry]:
        held = self._bucket(bucket)
        for name in held.under(prefix, after.name):
            if not held.versions[name][0].facts.marker:
                yield Entry(name, held.versions[name][0].facts)

    def _all(self, bucket: str, prefix: str, after: Mark) -> Iterator[Entry]:
        held = self._bucket(bucket)
        mark = held.find(after.name, after.version) if after.version is not None else None
        for name in held.under(prefix, after.name, include=after.version is not None):
            for each in held.versions[name]:
                if name != after.name or mark is None or each.stamp < mark.stamp:
                    yield Entry(name, each.facts, latest=each is held.versions[name][0])

    async def changes(self, bucket: str, since: int, limit: int = 1000) -> Sequence[Change]:
        return [change for change in self._bucket(bucket).feed if change.seq > since][:limit]

    async def trim(self, bucket: str, upto: int) -> None:
        held = self._bucket(bucket)
        held.feed = [change for change in held.feed if change.seq > upto]

    async def close(self) -> None:
        self._buckets.clear()
