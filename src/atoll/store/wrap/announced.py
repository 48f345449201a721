"""Who hears at once that a bucket has changed? A Store around a Store that tells after each commit."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from atoll.domain.message import Body
from atoll.domain.objects import ALWAYS, Condition, Facts, Key, Seal
from atoll.domain.shapes import Store
from atoll.store.wrap.through import Through


class Announced(Through):
    """Calls `ring(bucket)` when a write to the bucket is durable."""

    def __init__(self, store: Store, ring: Callable[[str], None]) -> None:
        super().__init__(store)
        self._ring = ring

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
