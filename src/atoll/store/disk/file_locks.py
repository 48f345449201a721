"""Which body files does another process of the region read? Record locks (fcntl(2)) on one file, a byte per body file.

A reading process holds a shared lock on the byte at the body's id for as long as it streams it; the writer removes a body
file only while it has the exclusive one. The kernel drops the locks of a process that dies. Closing any descriptor of the
locked file would drop them too, so a process opens it once.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

FILE: Final = "readers"


class FileLocks:
    """This process's view of the file."""

    def __init__(self, folder: Path) -> None:
        """Raises OSError."""
        self._file = os.open(folder / FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def hold(self, ids: Iterable[int]) -> None:
        """Returns when the writer is removing none of them; whether they are still there is to be looked at afterwards."""
        for first, count in runs(ids):
            fcntl.lockf(self._file, fcntl.LOCK_SH, count, first)

    def release(self, ids: Iterable[int]) -> None:
        for first, count in runs(ids):
            fcntl.lockf(self._file, fcntl.LOCK_UN, count, first)

    @contextmanager
    def alone(self, id: int) -> Iterator[bool]:
        """Is there no reader, and will there be none within this block?"""
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, id)
        except (BlockingIOError, PermissionError):  # POSIX allows both
            yield False
            return
        try:
            yield True
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, id)

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
