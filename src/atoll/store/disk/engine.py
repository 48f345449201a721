"""How does a disk store keep its promises? SQLite rows with small bodies inside, files for large ones, one commit thread."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from pathlib import Path

from awscrt.checksums import crc64nvme

from atoll.domain.message import Body
from atoll.domain.objects import ALWAYS, Ability, Condition, Facts, Key, Seal
from atoll.store.disk.blobs import WRITE_BYTES, Blobs, Draft
from atoll.store.disk.commit import Committer
from atoll.store.disk.file_locks import FileLocks
from atoll.store.disk.finding import Finding
from atoll.store.disk.generations import Generations
from atoll.store.disk.index import Index
from atoll.store.disk.pins import Pins
from atoll.store.disk.reads import Reads
from atoll.store.disk.recent import Recent
from atoll.store.disk.recovery import Opened, open_folder
from atoll.store.disk.schema import INLINE_MAX_BYTES, open_reader, signed
from atoll.store.disk.writes import Amend, Bytes, Delete, Drop, Join, Put, Trim
from atoll.store.order import check_join


class Shared:
    """What the writer shares with the reading processes of its region."""

    def __init__(self, folder: Path) -> None:
        """Raises OSError."""
        folder.mkdir(parents=True, exist_ok=True)
        self.locks = FileLocks(folder)
        self.generations = Generations(folder)
        self._open = True

    def close(self) -> None:
        """May be called again."""
        if self._open:
            self._open = False
            self.locks.close()
            self.generations.close()


class DiskStore(Finding):
    """Made by open(). Belongs to the loop that opened it, in the one process that has the store; others of its region read."""

    able = Ability()

    def __init__(
        self, opened: Opened, reads: Reads, blobs: Blobs, shared: Shared, origin: str, now_ms: Callable[[], int]
    ) -> None:
        pins, recent = Pins(blobs.unlink), Recent()
        super().__init__(reads, blobs, pins, recent)
        self._opened = opened
        self._shared = shared
        self._ids = itertools.count(opened.next_id)
        self._pinned = pins
        index = Index(opened.db, origin, now_ms)
        loop = asyncio.get_running_loop()
        self._committer = Committer(index, loop, pins.retire, recent, shared.generations)

    @classmethod
    async def open(cls, folder: Path, origin: str, now_ms: Callable[[], int]) -> DiskStore:
        """`origin` is this region's name, `now_ms` the wall clock in milliseconds (called in another thread); both go
        into stamps. Raises BlockingIOError when another process has the store.
        """
        shared = Shared(folder)
        blobs = Blobs(folder, shared.locks)
        try:
            opened = await blobs.run(partial(open_folder, folder, blobs))
        except BaseException:
            blobs.close()
            shared.close()
            raise
        shared.generations.settle()
        return cls(opened, Reads(open_reader(folder)), blobs, shared, origin, now_ms)

    async def close(self) -> None:
        """Waits for what was begun. May be called again."""
        await self._committer.close()
        self._pinned.settle()
        await asyncio.get_running_loop().run_in_executor(None, self._blobs.close)
        self._reads.close()
        self._opened.close(orphans=self._blobs.lingering)
        self._shared.close()

    # Writes

    async def put(self, key: Key, body: Body, seal: Seal, condition: Condition = ALWAYS) -> Facts:
        small = body.small
        if small is None or len(small) >= INLINE_MAX_BYTES:
            return await self._put_stream(key, body, seal, condition)
        return await self._committer.submit(Put(next(self._ids), key, seal(), _inline(small), condition))

    async def _put_stream(self, key: Key, body: Body, seal: Seal, condition: Condition) -> Facts:
        batches = _batches(body)
        first: list[bytes] = await anext(batches, [])
        if sum(map(len, first)) < INLINE_MAX_BYTES:
            small = _inline(b"".join(first))
            return await self._committer.submit(Put(next(self._ids), key, seal(), small, condition))
        draft = Draft(self._blobs, next(self._ids))
        try:
            await draft.write(first)
            async for batch in batches:
                await draft.write(batch)
            await draft.finish()
            facts = seal()  # and at once into the queue: who closes a bucket waits behind all that was sealed while it was open
            write = Put(draft.id, key, facts, Bytes(draft.size, signed(draft.crc), None), condition)
            committed = self._committer.submit(write)
        except BaseException:
            draft.discard()
            raise
        return await committed  # from here on the committer knows whether the file is wanted

    async def delete(self, key: Key, version: str, condition: Condition = ALWAYS) -> Facts | None:
        return await self._committer.submit(Delete(key, version, condition))

    async def amend(self, key: Key, version: str, change: Callable[[Facts], Facts]) -> Facts | None:
        return await self._committer.submit(Amend(key, version, change))

    async def join(
        self, key: Key, parts: Sequence[Key], facts: Facts, *, discard: Key, condition: Condition = ALWAYS
    ) -> Facts:
        check_join(key, parts, discard)
        return await self._committer.submit(Join((next(self._ids), key, facts, condition), parts, discard))

    async def drop(self, discard: Key) -> None:
        await self._committer.submit(Drop(discard))

    async def trim(self, bucket: str, upto: int) -> None:
        await self._committer.submit(Trim(bucket, upto))


def _inline(content: bytes) -> Bytes:
    return Bytes(len(content), signed(crc64nvme(content)), content)


async def _batches(body: Body) -> AsyncIterator[list[bytes]]:
    """The pieces of a body in lists worth a write."""
    batch: list[bytes] = []
    size = 0
    async for piece in body:
        batch.append(piece)
        size += len(piece)
        if size >= WRITE_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
