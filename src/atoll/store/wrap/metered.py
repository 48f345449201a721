"""How often is a store asked, for how long, and with what success? A store around a store that counts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from atoll.domain.errors import ApiError
from atoll.domain.message import Body
from atoll.domain.objects import ALWAYS, START, Change, Condition, Entry, Facts, Found, Key, Mark, Seal
from atoll.domain.shapes import Store

R = TypeVar("R")


@dataclass(slots=True)
class Tally:
    """Of one operation: calls, those that were refused (ApiError), those that failed otherwise, seconds in all."""

    calls: int = 0
    refused: int = 0
    failed: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class Tallies:
    """By name of the operation."""

    of: dict[str, Tally] = field(default_factory=dict)

    def __getitem__(self, operation: str) -> Tally:
        return self.of.setdefault(operation, Tally())


class Metered:
    """`monotonic` gives seconds. `tallies` may be read at any time. A get counts until the version is found."""

    def __init__(self, store: Store, monotonic: Callable[[], float]) -> None:
        self._store = store
        self._monotonic = monotonic
        self.able = store.able
        self.tallies = Tallies()

    async def _count(self, operation: str, call: Awaitable[R]) -> R:
        tally = self.tallies[operation]
        begin = self._monotonic()
        tally.calls += 1
        try:
            return await call
        except ApiError:
            tally.refused += 1
            raise
        except BaseException:
            tally.failed += 1
            raise
        finally:
            tally.seconds += self._monotonic() - begin

    async def put(self, key: Key, body: Body, seal: Seal, condition: Condition = ALWAYS) -> Facts:
        return await self._count("put", self._store.put(key, body, seal, condition))

    async def get(self, key: Key, version: str | None = None) -> Found | None:
        return await self._count("get", self._store.get(key, version))

    async def head(self, key: Key, version: str | None = None) -> Facts | None:
        return await self._count("head", self._store.head(key, version))

    async def delete(self, key: Key, version: str, condition: Condition = ALWAYS) -> Facts | None:
        return await self._count("delete", self._store.delete(key, version, condition))

    async def amend(self, key: Key, version: str, change: Callable[[Facts], Facts]) -> Facts | None:
        return await self._count("amend", self._store.amend(key, version, change))

    async def join(
        self, key: Key, parts: Sequence[Key], facts: Facts, *, discard: Key, condition: Condition = ALWAYS
    ) -> Facts:
        call = self._store.join(key, parts, facts, discard=discard, condition=condition)
        return await self._count("join", call)

    async def drop(self, discard: Key) -> None:
        await self._count("drop", self._store.drop(discard))

    async def scan(
        self, bucket: str, *, prefix: str = "", after: Mark = START, limit: int = 1000, versions: bool = False
    ) -> Sequence[Entry]:
        call = self._store.scan(bucket, prefix=prefix, after=after, limit=limit, versions=versions)
        return await self._count("scan", call)

    async def changes(self, bucket: str, since: int, limit: int = 1000) -> Sequence[Change]:
        return await self._count("changes", self._store.changes(bucket, since, limit))

    async def trim(self, bucket: str, upto: int) -> None:
        await self._count("trim", self._store.trim(bucket, upto))

    async def close(self) -> None:
        await self._store.close()
