"""A Store around a Store that fails where a test says so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

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

Operation = Literal["put", "get", "head", "delete", "amend", "join", "drop", "scan", "changes", "trim"]
When = Literal["before", "after"]


@dataclass(slots=True)
class _Plan:
    operation: Operation
    fault: BaseException
    skip: int
    times: int
    when: When

    def applies(self, operation: Operation, when: When) -> bool:
        if self.operation != operation or self.when != when or not self.times:
            return False
        if self.skip:
            self.skip -= 1
            return False
        self.times -= 1
        return True


class Faulty:
    """`fail()` plans a fault; without plans this is the inner store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._plans: list[_Plan] = []
        self.capabilities = store.capabilities

    def fail(
        self, operation: Operation, fault: BaseException, *, skip: int = 0, times: int = 1, when: When = "before"
    ) -> None:
        """After `skip` good calls of `operation`, `times` calls raise `fault`.

        when="after": the inner store did it, and only the answer is lost.
        """
        self._plans.append(_Plan(operation, fault, skip, times, when))

    def _check(self, operation: Operation, when: When = "before") -> None:
        for plan in self._plans:
            if plan.applies(operation, when):
                raise plan.fault

    async def put(self, key: Key, body: Body, make_metadata: MakeMetadata, condition: Condition = ALWAYS) -> ObjectMetadata:
        self._check("put")
        made = await self._store.put(key, body, make_metadata, condition)
        self._check("put", "after")
        return made

    async def get(self, key: Key, version: str | None = None) -> StoredObject | None:
        self._check("get")
        return await self._store.get(key, version)

    async def head(self, key: Key, version: str | None = None) -> ObjectMetadata | None:
        self._check("head")
        return await self._store.head(key, version)

    async def delete(self, key: Key, version: str, condition: Condition = ALWAYS) -> ObjectMetadata | None:
        self._check("delete")
        gone = await self._store.delete(key, version, condition)
        self._check("delete", "after")
        return gone

    async def update_metadata(self, key: Key, version: str, change: Callable[[ObjectMetadata], ObjectMetadata]) -> ObjectMetadata | None:
        self._check("amend")
        changed = await self._store.update_metadata(key, version, change)
        self._check("amend", "after")
        return changed

    async def join(
        self, key: Key, parts: Sequence[Key], metadata: ObjectMetadata, *, discard: Key, condition: Condition = ALWAYS
    ) -> ObjectMetadata:
        self._check("join")
        made = await self._store.join(key, parts, metadata, discard=discard, condition=condition)
        self._check("join", "after")
        return made

    async def drop(self, discard: Key) -> None:
        self._check("drop")
        await self._store.drop(discard)
        self._check("drop", "after")

    async def scan(
        self, bucket: str, *, prefix: str = "", after: ScanCursor = START, limit: int = 1000, versions: bool = False
    ) -> Sequence[ScanEntry]:
        self._check("scan")
        return await self._store.scan(bucket, prefix=prefix, after=after, limit=limit, versions=versions)

    async def changes(self, bucket: str, since: int, limit: int = 1000) -> Sequence[Change]:
        self._check("changes")
        return await self._store.changes(bucket, since, limit)

    async def trim(self, bucket: str, upto: int) -> None:
        self._check("trim")
        await self._store.trim(bucket, upto)

    async def close(self) -> None:
        await self._store.close()
