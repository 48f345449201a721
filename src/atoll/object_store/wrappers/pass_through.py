"""A Store around a Store that hands everything on; the base of the others."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from atoll.domain.http_message import Body
from atoll.domain.interfaces import Store
from atoll.domain.objects import (
    ALWAYS,
    START,
    Change,
    Condition,
    Key,
    MakeMetadata,
    ObjectMetadata,
    ScanCursor,
    ScanEntry,
    StoredObject,
)


class PassThroughStore:
    """The base of wrappers: no coroutine of its own, so that what passes costs nothing."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.capabilities = store.capabilities

    def put(
        self, key: Key, body: Body, make_metadata: MakeMetadata, condition: Condition = ALWAYS
    ) -> Coroutine[Any, Any, ObjectMetadata]:
        return self._store.put(key, body, make_metadata, condition)

    def get(self, key: Key, version: str | None = None) -> Coroutine[Any, Any, StoredObject | None]:
        return self._store.get(key, version)

    def head(self, key: Key, version: str | None = None) -> Coroutine[Any, Any, ObjectMetadata | None]:
        return self._store.head(key, version)

    def delete(self, key: Key, version: str, condition: Condition = ALWAYS) -> Coroutine[Any, Any, ObjectMetadata | None]:
        return self._store.delete(key, version, condition)

    def update_metadata(self, key: Key, version: str, change: Callable[[ObjectMetadata], ObjectMetadata]) -> Coroutine[Any, Any, ObjectMetadata | None]:
        return self._store.update_metadata(key, version, change)

    def join(
        self, key: Key, parts: Sequence[Key], metadata: ObjectMetadata, *, discard: Key, condition: Condition = ALWAYS
    ) -> Coroutine[Any, Any, ObjectMetadata]:
        return self._store.join(key, parts, metadata, discard=discard, condition=condition)

    def drop(self, discard: Key) -> Coroutine[Any, Any, None]:
        return self._store.drop(discard)

    def scan(
        self, bucket: str, *, prefix: str = "", after: ScanCursor = START, limit: int = 1000, versions: bool = False
    ) -> Coroutine[Any, Any, Sequence[ScanEntry]]:
        return self._store.scan(bucket, prefix=prefix, after=after, limit=limit, versions=versions)

    def changes(self, bucket: str, since: int, limit: int = 1000) -> Coroutine[Any, Any, Sequence[Change]]:
        return self._store.changes(bucket, since, limit)

    def trim(self, bucket: str, upto: int) -> Coroutine[Any, Any, None]:
        return self._store.trim(bucket, upto)

    def close(self) -> Coroutine[Any, Any, None]:
        return self._store.close()
