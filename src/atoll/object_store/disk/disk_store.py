"""The disk store: SQLite rows with small bodies inside, files for large ones, one commit thread."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from pathlib import Path

from awscrt.checksums import crc64nvme

from atoll.domain.http_message import Body
from atoll.domain.objects import ALWAYS, Condition, Key, MakeMetadata, ObjectMetadata, StoreCapabilities
from atoll.object_store.disk.blob_files import WRITE_BYTES, Blobs, BlobWriter
from atoll.object_store.disk.blob_record_locks import FileLocks
from atoll.object_store.disk.file_pins import Pins
from atoll.object_store.disk.group_commit import Committer
from atoll.object_store.disk.index_reader import Reads
from atoll.object_store.disk.index_writer import Index
from atoll.object_store.disk.point_read import Finding
from atoll.object_store.disk.read_cache import ReadCache
from atoll.object_store.disk.recovery import Opened, open_folder
from atoll.object_store.disk.schema import INLINE_MAX_BYTES, open_reader, signed
from atoll.object_store.disk.sequence_locks import Generations
from atoll.object_store.disk.write_operations import Bytes, Delete, Drop, Join, Put, Trim, UpdateMetadata
from atoll.object_store.version_order import check_join


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

    capabilities = StoreCapabilities()

    def __init__(
        self, opened: Opened, reads: Reads, blobs: Blobs, shared: Shared, origin_region: str, now_ms: Callable[[], int]
    ) -> None:
        pins, read_cache = Pins(blobs.unlink), ReadCache()
        super().__init__(reads, blobs, pins, read_cache)
        self._opened = opened
        self._shared = shared
        self._ids = itertools.count(opened.next_id)
        self._pinned = pins
        index = Index(opened.db, origin_region, now_ms)
        loop = asyncio.get_running_loop()
        self._committer = Committer(index, loop, pins.retire, read_cache, shared.generations)

    @classmethod
    async def open(cls, folder: Path, origin_region: str, now_ms: Callable[[], int]) -> DiskStore:
        """`origin_region` is this region's name, `now_ms` the wall clock in milliseconds (called in another thread); both go
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
        return cls(opened, Reads(open_reader(folder)), blobs, shared, origin_region, now_ms)

    async def close(self) -> None:
        """Waits for what was begun. May be called again."""
        await self._committer.close()
        self._pinned.settle()
        await asyncio.get_running_loop().run_in_executor(None, self._blobs.close)
        self._reads.close()
        self._opened.close(orphans=self._blobs.lingering)
        self._shared.close()

    # Writes

    async def put(self, key: Key, body: Body, make_metadata: MakeMetadata, condition: Condition = ALWAYS) -> ObjectMetadata:
        small = body.small
        if small is None or len(small) >= INLINE_MAX_BYTES:
            return await self._put_stream(key, body, make_metadata, condition)
        return await self._committer.submit(Put(next(self._ids), key, make_metadata(), _inline(small), condition))

    async def _put_stream(self, key: Key, body: Body, make_metadata: MakeMetadata, condition: Condition) -> ObjectMetadata:
        batches = _batches(body)
        first: list[bytes] = await anext(batches, [])
        if sum(map(len, first)) < INLINE_MAX_BYTES:
            small = _inline(b"".join(first))
            return await self._committer.submit(Put(next(self._ids), key, make_metadata(), small, condition))
        blob_writer = BlobWriter(self._blobs, next(self._ids))
        try:
            await blob_writer.write(first)
            async for batch in batches:
                await blob_writer.write(batch)
            await blob_writer.finish()
            metadata = make_metadata()  # and at once into the queue: who closes a bucket waits behind all that was sealed while it was open
            write = Put(blob_writer.id, key, metadata, Bytes(blob_writer.size, signed(blob_writer.crc), None), condition)
            committed = self._committer.submit(write)
        except BaseException:
            blob_writer.discard()
            raise
        return await committed  # from here on the committer knows whether the file is wanted

    async def delete(self, key: Key, version: str, condition: Condition = ALWAYS) -> ObjectMetadata | None:
        return await self._committer.submit(Delete(key, version, condition))

    async def update_metadata(self, key: Key, version: str, change: Callable[[ObjectMetadata], ObjectMetadata]) -> ObjectMetadata | None:
        return await self._committer.submit(UpdateMetadata(key, version, change))

    async def join(
        self, key: Key, parts: Sequence[Key], metadata: ObjectMetadata, *, discard: Key, condition: Condition = ALWAYS
    ) -> ObjectMetadata:
        check_join(key, parts, discard)
        return await self._committer.submit(Join((next(self._ids), key, metadata, condition), parts, discard))

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
