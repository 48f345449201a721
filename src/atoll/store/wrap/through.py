"""What does a Store around a Store do where it has nothing to add? Hands everything on."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from atoll.domain.message import Body
from atoll.domain.objects import ALWAYS, START, Change, Condition, Entry, Facts, Found, Key, Mark, Seal
from atoll.domain.shapes import Store


class Through:
    """The base of wrappers: no coroutine of its own, so that what passes costs nothing."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.able = store.able

    def put(
        self, key: Key, body: Body, seal: Seal, condition: Condition = ALWAYS
    ) -> Coroutine[Any, Any, Facts]:
        return self._store.put(key, body, seal, condition)

    def get(self, key: Key, version: str | None = None) -> Coroutine[Any, Any, Found | None]:
        return self._store.get(key, version)

    def head(self, key: Key, version: str | None = None) -> Coroutine[Any, Any, Facts | None]:
        return self._store.head(key, version)

    def delete(self, key: Key, version: str, condition: Condition = ALWAYS) -> Coroutine[Any, Any, Facts | None]:
        return self._store.delete(key, version, condition)

    def amend(self, key: Key, version: str, change: Callable[[Facts], Facts]) -> Coroutine[Any, Any, Facts | None]:
        return self._store.amend(key, version, change)

    def join(
        self, key: Key, parts: Sequence[Key], facts: Facts, *, discard: Key, condition: Condition = ALWAYS
    ) -> Coroutine[Any, Any, Facts]:
        return self._store.join(key, parts, facts, discard=discard, condition=condition)

    def drop(self, discard: Key) -> Coroutine[Any, Any, None]:
        return self._store.drop(discard)

    def scan(
        self, bucket: str, *, prefix: str = "", after: Mark = START, limit: int = 1000, versions: bool = False
    ) -> Coroutine[Any, Any, Sequence[Entry]]:
        return self._store.scan(bucket, prefix=prefix, after=after, limit=limit, versions=versions)

    def changes(self, bucket: str, since: int, limit: int = 1000) -> Coroutine[Any, Any, Sequence[Change]]:
        return self._store.changes(bucket, since, limit)

    def trim(self, bucket: str, upto: int) -> Coroutine[Any, Any, None]:
        return self._store.trim(bucket, upto)

    def close(self) -> Coroutine[Any, Any, None]:
        return self._store.close()
