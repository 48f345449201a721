"""Reading one key of a disk store: the row, then its bytes from memory, from the row or from files that stay while they are read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Protocol

from atoll.domain.errors import ApiError
from atoll.domain.http_message import Body
from atoll.domain.objects import START, ByteRange, Change, Key, ObjectMetadata, ScanCursor, ScanEntry, StoredObject
from atoll.object_store.disk.blob_files import Blobs
from atoll.object_store.disk.body_reader import Files, Held, Run, corrupt_body, crc_matches, inline_body
from atoll.object_store.disk.index_reader import Hit, Reads
from atoll.object_store.disk.row_codec import decode_segments
from atoll.object_store.disk.schema import FILE, INLINE, NOTHING

LOOKS_MAX = 64  # at a key that is replaced between finding and holding its files; each repetition needs a commit in microseconds


class Kept(Protocol):
    """Current versions with small bodies that cannot have changed since they were read."""

    def get(self, key: Key) -> Hit | None: ...
    def keep(self, key: Key, hit: Hit) -> None: ...


class Pinning(Protocol):
    """Keeps files from being removed."""

    def pin(self, ids: Iterable[int]) -> Held: ...


class Finding:
    """The reading half of the Store shape over committed rows. Belongs to one loop; reads wait for nothing but a body's file."""

    def __init__(self, reads: Reads, blobs: Blobs, pins: Pinning, kept: Kept) -> None:
        self._reads = reads
        self._blobs = blobs
        self._pins = pins
        self._kept = kept

    async def get(self, key: Key, version: str | None = None) -> StoredObject | None:
        hit = self._kept.get(key)
        if hit is not None and hit.content is not None and (version is None or version == hit.metadata.version):
            return StoredObject(hit.metadata, partial(inline_body, hit.content))  # which was checked when it came from the disk
        hit = self._reads.find(key, version)
        if hit is None:
            return None
        if hit.place == INLINE:
            return self._inline(key, hit, keep=version is None)
        if hit.place == NOTHING:
            return StoredObject(hit.metadata, _no_bytes)
        return self._in_files(key, version, hit)

    def _inline(self, key: Key, hit: Hit, *, keep: bool) -> StoredObject:
        """Damaged bytes do not keep anybody from the metadata: it is the body that cannot be had."""
        assert hit.content is not None
        assert hit.crc is not None
        if not crc_matches(hit.content, hit.crc):
            return StoredObject(hit.metadata, partial(corrupt_body, key))
        if keep:
            self._kept.keep(key, hit)
        return StoredObject(hit.metadata, partial(inline_body, hit.content))

    def _in_files(self, key: Key, version: str | None, hit: Hit) -> StoredObject | None:
        """What was found is looked at once more when its files are held: the writer commits before it removes a file, so a row
        that is still there has its files, and they stay."""
        for _ in range(LOOKS_MAX):
            runs = self._runs(hit)
            held = self._pins.pin(run.id for run in runs if run.content is None)
            again = self._reads.find(key, version)
            if again is not None and (again.id, again.segments) == (hit.id, hit.segments):
                files = Files(self._blobs, key, runs, held)
                return StoredObject(hit.metadata, files.body, files.close)
            held.close()
            if again is None:
                return None
            if again.place in (INLINE, NOTHING):
                return self._inline(key, again, keep=False) if again.place == INLINE else StoredObject(again.metadata, _no_bytes)
            hit = again
        raise ApiError("SlowDown", "The object is being replaced too quickly to be read.")

    def _runs(self, hit: Hit) -> list[Run]:
        """Inline runs are read now: their rows may go before the body is read. Each is below 64 KiB, and S3 lets only the
        last part of an upload be that small."""
        if hit.place == FILE:
            return [Run(hit.id, hit.metadata.size, hit.crc or 0, None)]
        assert hit.segments is not None
        return [
            Run(each.id, each.size, each.crc, self._reads.content(each.id) if each.inline else None)
            for each in decode_segments(hit.segments)
        ]

    async def head(self, key: Key, version: str | None = None) -> ObjectMetadata | None:
        return self._reads.head(key, version)

    async def scan(
        self, bucket: str, *, prefix: str = "", after: ScanCursor = START, limit: int = 1000, versions: bool = False
    ) -> Sequence[ScanEntry]:
        read = self._reads.versions if versions else self._reads.live
        return read(bucket, prefix, after, limit)

    async def changes(self, bucket: str, since: int, limit: int = 1000) -> Sequence[Change]:
        return self._reads.changes(bucket, since, limit)


def _no_bytes(byte_range: ByteRange | None) -> Body:
    assert byte_range is None, "a span of nothing"
    return Body.of(b"")
