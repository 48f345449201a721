"""Reads the bytes of a version, whole or in part, and never torn."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import NamedTuple, Protocol

from awscrt.checksums import crc64nvme

from atoll.domain.errors import ApiError
from atoll.domain.http_message import Body
from atoll.domain.objects import ByteRange, Key
from atoll.object_store.disk.blob_files import Blobs, read_file
from atoll.object_store.disk.schema import signed
from atoll.object_store.version_order import cut

_log = logging.getLogger(__name__)


class Held(Protocol):
    """Files that stay until this is closed."""

    def close(self) -> None: ...


class Run(NamedTuple):
    """Bytes of one blob: in memory, or (None) in the file `id`. `crc` signed."""

    id: int
    size: int
    crc: int
    content: bytes | None


def corrupt_error(key: Key, what: str) -> ApiError:
    """The disk does not have what was written: an answer that names the key, and a line in the log."""
    _log.error("%s/%s: %s", key.bucket, key.name, what)
    return ApiError("InternalError", f"The stored bytes of {key.name!r} are damaged.", Key=key.name)


def crc_matches(content: bytes, crc: int) -> bool:
    """Are these the bytes that were written? Asked once for each read from the disk."""
    return signed(crc64nvme(content)) == crc


def corrupt_body(key: Key, _byte_range: ByteRange | None) -> Body:
    raise corrupt_error(key, "an inline blob has another checksum")


def inline_body(content: bytes, byte_range: ByteRange | None) -> Body:
    return Body.of(content if byte_range is None else cut(content, byte_range))


class Files:
    """The bytes of a version of which at least one run is a file. `pin` keeps the files while this is in use."""

    def __init__(self, blobs: Blobs, key: Key, runs: Sequence[Run], pin: Held) -> None:
        self._blobs = blobs
        self._key = key
        self._runs = runs
        self._pin = pin

    def body(self, byte_range: ByteRange | None) -> Body:
        """Opens the first file, so that a missing one is an error and not a body cut short."""
        size = sum(run.size for run in self._runs)
        byte_range = byte_range or ByteRange(0, size - 1)
        assert byte_range.last < size, "a span beyond the end"
        pieces = list(_pieces(self._runs, byte_range))
        first = self._open(pieces[0][0])
        return Body(self._stream(pieces, first), byte_range.size)

    def _open(self, run: Run) -> OpenFile:
        try:
            return OpenFile(os.open(self._blobs.path(run.id), os.O_RDONLY) if run.content is None else -1)
        except FileNotFoundError as fault:
            raise corrupt_error(self._key, f"blob {run.id:x} is missing") from fault

    async def _stream(self, pieces: Sequence[tuple[Run, ByteRange]], first: OpenFile) -> AsyncIterator[bytes]:
        file: OpenFile | None = first
        try:
            for run, byte_range in pieces:
                file = file or self._open(run)
                async for piece in self._read(run, byte_range, file):
                    yield piece
                file.close()
                file = None
        finally:
            if file is not None:
                file.close()
            self._pin.close()

    async def _read(self, run: Run, byte_range: ByteRange, file: OpenFile) -> AsyncIterator[bytes]:
        """The last piece of a run that is read whole is handed out only when the checksum is right."""
        if run.content is not None:
            if signed(crc64nvme(run.content)) != run.crc:
                raise corrupt_error(self._key, f"blob {run.id:x} has another checksum")
            yield cut(run.content, byte_range)
            return
        crc, left = 0, byte_range.size
        async for piece in read_file(self._blobs, file.number, byte_range.first, byte_range.size):
            left -= len(piece)
            if byte_range.size == run.size:
                crc = crc64nvme(piece, crc)
                if not left and signed(crc) != run.crc:
                    raise corrupt_error(self._key, f"blob {run.id:x} has another checksum")
            yield piece
        if left:
            raise corrupt_error(self._key, f"blob {run.id:x} is {left} bytes short")

    def close(self) -> None:
        self._pin.close()


class OpenFile:
    """A file descriptor that is closed at the latest when nobody knows it any more (a body that was never begun)."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def close(self) -> None:
        number, self.number = self.number, -1
        if number >= 0:
            os.close(number)

    __del__ = close


def _pieces(runs: Sequence[Run], byte_range: ByteRange) -> Iterator[tuple[Run, ByteRange]]:
    """The runs that a span touches, each with the part of it that is wanted."""
    begin = 0
    for run in runs:
        first, last = max(byte_range.first - begin, 0), min(byte_range.last - begin, run.size - 1)
        if first <= last:
            yield run, ByteRange(first, last)
        begin += run.size


