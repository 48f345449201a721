"""How does a disk store keep its promises? SQLite rows with small bodies inside, files for large ones, one commit thread."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from pathlib import Path

from awscrt.checksums import crc64nvme

from atoll.domain.message import Body
from atoll.domain.objects import ALWAYS, START, Ability, Change, Condition, Entry, Facts, Found, Key, Mark, Seal, Span
from atoll.store.disk.blobs import WRITE_BYTES, Blobs, Draft
from atoll.store.disk.bodies import Files, Run, inline_body, is_sound, torn_body
from atoll.store.disk.codec import decode_segments
from atoll.store.disk.commit import Committer
from atoll.store.disk.index import Index
from atoll.store.disk.pins import Pins
from atoll.store.disk.reads import Hit, Reads
from atoll.store.disk.recent import Recent
from atoll.store.disk.recovery import Opened, open_folder
from atoll.store.disk.schema import FILE, INLINE, INLINE_MAX_BYTES, NOTHING, open_reader, signed
from atoll.store.disk.writes import Amend, Bytes, Delete, Drop, Join, Put, Trim
from atoll.store.order import check_join


class DiskStore:
    """Made by open(). Belongs to the loop that opened it."""

    able = Ability()

    def __init__(self, opened: Opened, reads: Reads, blobs: Blobs, origin: str, now_ms: Callable[[], int]) -> None:
        self._opened = opened
        self._reads = reads
        self._blobs = blobs
        self._ids = itertools.count(opened.next_id)
        self._pins = Pins(blobs.unlink)
        self._recent = Recent()
        index = Index(opened.db, origin, now_ms)
        self._committer = Committer(index, asyncio.get_running_loop(), self._pins.retire, self._recent)

    @classmethod
    async def open(cls, folder: Path, origin: str, now_ms: Callable[[], int]) -> DiskStore:
        """`origin` is this region's name, `now_ms` the wall clock in milliseconds (called in another thread); both go
        into stamps. Raises BlockingIOError when another process has the store.
        """
        blobs = Blobs(folder)
        try:
            opened = await blobs.run(partial(open_folder, folder, blobs))
        except BaseException:
            blobs.close()
            raise
        return cls(opened, Reads(open_reader(folder)), blobs, origin, now_ms)

    async def close(self) -> None:
        """Waits for what was begun. May be called again."""
        await self._committer.close()
        self._pins.settle()
        await asyncio.get_running_loop().run_in_executor(None, self._blobs.close)
        self._reads.close()
        self._opened.close()

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

    # Reads

    async def get(self, key: Key, version: str | None = None) -> Found | None:
        hit = self._recent.get(key)
        if hit is not None and hit.content is not None and (version is None or version == hit.facts.version):
            return Found(hit.facts, partial(inline_body, hit.content))  # which was checked when it came from the disk
        hit = self._reads.find(key, version)
        if hit is None:
            return None
        if hit.place == INLINE:
            return self._inline(key, hit, keep=version is None)
        if hit.place == NOTHING:
            return Found(hit.facts, _no_bytes)
        runs = self._runs(hit)
        files = Files(self._blobs, key, runs, self._pins.pin(run.id for run in runs if run.content is None))
        return Found(hit.facts, files.body, files.close)

    def _inline(self, key: Key, hit: Hit, *, keep: bool) -> Found:
        """Damaged bytes do not keep anybody from the facts: it is the body that cannot be had."""
        assert hit.content is not None
        assert hit.crc is not None
        if not is_sound(hit.content, hit.crc):
            return Found(hit.facts, partial(torn_body, key))
        if keep:
            self._recent.keep(key, hit)
        return Found(hit.facts, partial(inline_body, hit.content))

    def _runs(self, hit: Hit) -> list[Run]:
        """Inline runs are read now: their rows may go before the body is read. Each is below 64 KiB, and S3 lets only the
        last part of an upload be that small."""
        if hit.place == FILE:
            return [Run(hit.id, hit.facts.size, hit.crc or 0, None)]
        assert hit.segments is not None
        return [
            Run(each.id, each.size, each.crc, self._reads.content(each.id) if each.inline else None)
            for each in decode_segments(hit.segments)
        ]

    async def head(self, key: Key, version: str | None = None) -> Facts | None:
        return self._reads.head(key, version)

    async def scan(
        self, bucket: str, *, prefix: str = "", after: Mark = START, limit: int = 1000, versions: bool = False
    ) -> Sequence[Entry]:
        read = self._reads.versions if versions else self._reads.live
        return read(bucket, prefix, after, limit)

    async def changes(self, bucket: str, since: int, limit: int = 1000) -> Sequence[Change]:
        return self._reads.changes(bucket, since, limit)


def _inline(content: bytes) -> Bytes:
    return Bytes(len(content), signed(crc64nvme(content)), content)


def _no_bytes(span: Span | None) -> Body:
    assert span is None, "a span of nothing"
    return Body.of(b"")


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
