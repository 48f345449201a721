"""Files of large bodies: written aside, flushed, renamed, the folder flushed; read in pieces."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final, TypeVar

from awscrt.checksums import crc64nvme

from atoll.domain.errors import ApiError
from atoll.domain.quotas import KiB, MiB
from atoll.object_store.disk.blob_record_locks import FileLocks
from atoll.object_store.disk.schema import BLOBS, TEMPORARY

THREADS: Final = 4  # bounds concurrent flushes; each waits for the disk
WRITE_BYTES: Final = 1 * MiB
READ_BYTES: Final = 256 * KiB
WRITEV_MAX: Final = 512  # IOV_MAX is 1,024 on Linux

R = TypeVar("R")
_log = logging.getLogger(__name__)


class Blobs:
    """The folders blobs/ and tmp/ of a store, and the threads that wait for them.

    `locks` say what other processes read: such files are removed later. None: there are no other processes.
    """

    def __init__(self, folder: Path, locks: FileLocks | None = None) -> None:
        self.folder = folder
        self._locks = locks
        self._lingering: list[int] = []  # wanted gone, but read elsewhere when last tried
        self._blobs = folder / BLOBS
        self._drafts = folder / TEMPORARY
        self._pool = ThreadPoolExecutor(THREADS, "atoll-blobs")
        self._folders: set[Path] = set()
        self.closed = False

    def make_folders(self) -> None:
        for each in (self._blobs, self._drafts):
            each.mkdir(exist_ok=True)
            flush_folder(each.parent)

    def path(self, id: int) -> Path:
        return self._blobs / f"{id & 0xFF:02x}" / f"{id:x}"

    def temporary_path(self, id: int) -> Path:
        return self._drafts / f"{id:x}"

    def submit(self, job: Callable[[], R]) -> Future[R]:
        """Raises ServiceUnavailable after close()."""
        if self.closed:
            raise ApiError("ServiceUnavailable", "The store is closed.")
        return self._pool.submit(job)

    async def run(self, job: Callable[[], R]) -> R:
        return await asyncio.wrap_future(self.submit(job))

    def folder_of(self, id: int) -> Path:
        """Makes sure that it is there, for good."""
        folder = self.path(id).parent
        if folder not in self._folders:
            folder.mkdir(exist_ok=True)
            flush_folder(self._blobs)
            self._folders.add(folder)
        return folder

    def unlink(self, ids: Sequence[int]) -> None:
        """Later, in the pool. What cannot be removed is an orphan, which the next opening removes."""
        if not self.closed:
            self._pool.submit(self._unlink, list(ids))

    def _unlink(self, ids: Sequence[int]) -> None:
        """And what could not be removed before."""
        wanted, self._lingering = [*self._lingering, *ids], []
        self._lingering += [blob for blob in wanted if not self.remove(blob)]

    def remove(self, blob: int) -> bool:
        """Now, unless another process reads it."""
        with self._locks.alone(blob) if self._locks else contextlib.nullcontext(True) as alone:
            if not alone:
                return False
            try:
                self.path(blob).unlink(missing_ok=True)
            except OSError:
                _log.exception("cannot remove blob %x", blob)
        return True

    @property
    def lingering(self) -> bool:
        """Are there files that nothing refers to any more?"""
        return bool(self._lingering)

    def linger(self, blob: int) -> None:
        """Try this one again with the next removal."""
        self._lingering.append(blob)

    def files(self) -> Iterator[tuple[int, Path]]:
        """All blob files with their ids."""
        for path in self._blobs.glob("??/*"):
            with contextlib.suppress(ValueError):
                yield int(path.name, 16), path

    def temporary_files(self) -> Iterator[Path]:
        return self._drafts.iterdir()

    def close(self) -> None:
        """What was begun is done when this returns."""
        if not self.closed:
            self.closed = True
            self._pool.shutdown(wait=True)
            self._unlink(())


def flush_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class BlobWriter:
    """A file on its way in. Ends with finish() or discard(); every step runs in the pool, one after the other.

    A step that was begun cannot be cancelled: discard() waits its turn behind it, or it would close the file under it.
    """

    def __init__(self, blobs: Blobs, id: int) -> None:
        self.id = id
        self.size = 0
        self.crc = 0
        self._blobs = blobs
        self._file = -1
        self._step: Future[None] | None = None

    async def write(self, pieces: Sequence[bytes]) -> None:
        """Raises ServiceUnavailable when the disk refuses."""
        await self._run(lambda: self._write(pieces))

    async def finish(self) -> None:
        """Flush and put in place. Raises ServiceUnavailable when the disk refuses."""
        await self._run(self._finish)

    def discard(self) -> None:
        """Leave no trace. Returns at once."""
        step = self._step
        if step is not None and not step.done():
            step.add_done_callback(lambda _: self._discard())
        elif self._blobs.closed:
            self._discard()
        else:
            self._blobs.submit(self._discard)

    async def _run(self, job: Callable[[], None]) -> None:
        self._step = self._blobs.submit(job)
        try:
            await asyncio.wrap_future(self._step)
        except OSError as fault:
            raise ApiError("ServiceUnavailable", f"The disk refuses: {fault.strerror}.") from fault

    def _write(self, pieces: Sequence[bytes]) -> None:
        if self._file < 0:
            self._file = os.open(self._blobs.temporary_path(self.id), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        for piece in pieces:
            self.crc = crc64nvme(piece, self.crc)
            self.size += len(piece)
        for first in range(0, len(pieces), WRITEV_MAX):
            _write_all(self._file, pieces[first : first + WRITEV_MAX])

    def _finish(self) -> None:
        os.fsync(self._file)
        self._close()
        folder = self._blobs.folder_of(self.id)
        self._blobs.temporary_path(self.id).rename(self._blobs.path(self.id))
        flush_folder(folder)

    def _discard(self) -> None:
        self._close()
        for path in (self._blobs.temporary_path(self.id), self._blobs.path(self.id)):
            path.unlink(missing_ok=True)

    def _close(self) -> None:
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)


def _write_all(file: int, pieces: Sequence[bytes]) -> None:
    """All of it, although writev may write short."""
    written = os.writev(file, pieces)
    if written == sum(map(len, pieces)):
        return
    rest = memoryview(b"".join(pieces))[written:]
    while rest:
        rest = rest[os.write(file, rest) :]


def cached(file: int, last: int) -> bool:
    """Is the byte at `last` in the page cache, so that reading up to it will not wait for the disk?"""
    try:
        return os.preadv(file, [bytearray(1)], last, os.RWF_NOWAIT) == 1
    except OSError:  # not there (EAGAIN), or a file system that cannot tell
        return False


async def read_file(blobs: Blobs, file: int, first: int, size: int) -> AsyncIterator[bytes]:
    """`size` bytes from `first` on, in pieces. Ends early only when the file does."""
    end = first + size
    while first < end:
        count = min(READ_BYTES, end - first)
        if cached(file, first + count - 1):
            piece = os.pread(file, count, first)
        else:
            piece = await blobs.run(lambda first=first, count=count: os.pread(file, count, first))  # type: ignore[misc]
        if not piece:
            return
        first += len(piece)
        yield piece
