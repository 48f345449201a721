"""Who hears at once that a bucket has changed? A Store around a Store that tells after each commit."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from atoll.domain.message import Body
from atoll.domain.objects import ALWAYS, START, Change, Condition, Entry, Facts, Found, Key, Mark, Seal
from atoll.domain.shapes import Store


class Announced:
    """Calls `ring(bucket)` when a write to the bucket is durable."""

    def __init__(self, store: Store, ring: Callable[[str], None]) -> None:
        self._store = store
        self._ring = ring
        self.able = store.able

    def get(self, key: Key, version: str | None = None) -> Coroutine[Any, Any, Found | None]:
        return self._store.get(key, version)

    def head(self, key: Key, version: str | None = None) -> Coroutine[Any, Any, Facts | None]:
        return self._store.head(key, version)

    async def put(self, key: Key, body: Body, seal: Seal, condition: Condition = ALWAYS) -> Facts:
        facts = await self._store.put(key, body, seal, condition)
        self._ring(key.bucket)
        return facts

    async def delete(self, key: Key, version: str, condition: Condition = ALWAYS) -> Facts | None:
        removed = await self._store.delete(key, version, condition)
        self._ring(key.bucket)
        return removed

    async def amend(self, key: Key, version: str, change: Callable[[Facts], Facts]) -> Facts | None:
        facts = await self._store.amend(key, version, change)
        self._ring(key.bucket)
        return facts

    async def join(
        self, key: Key, parts: Sequence[Key], facts: Facts, *, discard: Key, condition: Condition = ALWAYS
    ) -> Facts:
        joined = await self._store.join(key, parts, facts, discard=discard, condition=condition)
        self._ring(key.bucket)
        return joined

    async def drop(self, discard: Key) -> None:
        await self._store.drop(discard)

    async def scan(
        self, bucket: str, *, prefix: str = "", after: Mark = START, limit: int = 1000, versions: bool = False
    ) -> Sequence[Entry]:
        return await self._store.scan(bucket, prefix=prefix, after=after, limit=limit, versions=versions)

    async def changes(self, bucket: str, since: int, limit: int = 1000) -> Sequence[Change]:
        return await self._store.changes(bucket, since, limit)

    async def trim(self, bucket: str, upto: int) -> None:
        await self._store.trim(bucket, upto)

    async def close(self) -> None:
        await self._store.close()
