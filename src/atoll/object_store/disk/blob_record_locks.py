"""Record locks (fcntl(2)) that keep a body file while another process of the region reads it: one file, a byte per body file.

A reading process holds a shared lock on the byte at the body's id for as long as it streams it; the writer removes a body
file only while it has the exclusive one. The locks belong to the open file (F_OFD_SETLK, Linux), so the kernel drops them
when a process dies, and two stores of one process see each other's.
"""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

FILE: Final = "readers"
_FLOCK: Final = struct.Struct("hhqqi4x")  # struct flock of 64-bit Linux: type, whence, start, length, pid


class FileLocks:
    """One opening of the file."""

    def __init__(self, folder: Path) -> None:
        """Raises OSError."""
        self._file = os.open(folder / FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def hold(self, ids: Iterable[int]) -> None:
        """Returns when the writer is removing none of them; whether they are still there is to be looked at afterwards."""
        for first, count in runs(ids):
            self._set(fcntl.F_OFD_SETLKW, fcntl.F_RDLCK, first, count)

    def release(self, ids: Iterable[int]) -> None:
        for first, count in runs(ids):
            self._set(fcntl.F_OFD_SETLK, fcntl.F_UNLCK, first, count)

    @contextmanager
    def alone(self, blob: int) -> Iterator[bool]:
        """Is there no reader, and will there be none within this block?"""
        try:
            self._set(fcntl.F_OFD_SETLK, fcntl.F_WRLCK, blob, 1)
        except BlockingIOError:
            yield False
            return
        try:
            yield True
        finally:
            self.release((blob,))

    def _set(self, how: int, kind: int, first: int, count: int) -> None:
        fcntl.fcntl(self._file, how, _FLOCK.pack(kind, os.SEEK_SET, first, count, 0))

    def close(self) -> None:
        os.close(self._file)


def runs(ids: Iterable[int]) -> list[tuple[int, int]]:
    """First and length of each run of neighbours: parts of an upload often are, and one call locks a run."""
    found: list[tuple[int, int]] = []
    for byte in sorted(set(ids)):
        if found and sum(found[-1]) == byte:
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((byte, 1))
    return found
