"""A Store around a Store that tells who follows a bucket after each commit."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from atoll.domain.http_message import Body
from atoll.domain.interfaces import Store
from atoll.domain.objects import ALWAYS, Condition, Key, MakeMetadata, ObjectMetadata
from atoll.object_store.wrappers.pass_through import PassThroughStore


class AnnouncedStore(PassThroughStore):
    """Calls `notify(bucket)` when a write to the bucket is durable."""

    def __init__(self, store: Store, notify: Callable[[str], None]) -> None:
        super().__init__(store)
        self._notify = notify

    async def put(self, key: Key, body: Body, make_metadata: MakeMetadata, condition: Condition = ALWAYS) -> ObjectMetadata:
        metadata = await self._store.put(key, body, make_metadata, condition)
        self._notify(key.bucket)
        return metadata

    async def delete(self, key: Key, version: str, condition: Condition = ALWAYS) -> ObjectMetadata | None:
        removed = await self._store.delete(key, version, condition)
        self._notify(key.bucket)
        return removed

    async def update_metadata(self, key: Key, version: str, change: Callable[[ObjectMetadata], ObjectMetadata]) -> ObjectMetadata | None:
        metadata = await self._store.update_metadata(key, version, change)
        self._notify(key.bucket)
        return metadata

    async def join(
        self, key: Key, parts: Sequence[Key], metadata: ObjectMetadata, *, discard: Key, condition: Condition = ALWAYS
    ) -> ObjectMetadata:
        joined = await self._store.join(key, parts, metadata, discard=discard, condition=condition)
        self._notify(key.bucket)
        return joined
