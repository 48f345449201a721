"""The newest version of the control state, in memory that every process of a machine shares.

A change writes its number here before it commits, while it holds the file's write lock, so whoever answers a request later
sees at the price of one memory read that its own snapshot is old, and reads the file first. A number whose change never came
(a rollback, a kill) costs its readers one look at the file per request until the next change, and nothing else.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path
from typing import Final

SUFFIX: Final = ".version"
SIZE: Final = 8  # bytes: one unsigned integer, written whole


class AnnouncedVersion:
    """One number in a file beside the state's, mapped into every process that has the state open."""

    def __init__(self, state: Path) -> None:
        """Raises OSError."""
        file = os.open(state.with_name(state.name + SUFFIX), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if os.fstat(file).st_size < SIZE:
                os.ftruncate(file, SIZE)
            self._map = mmap.mmap(file, SIZE)
        finally:
            os.close(file)
        self._number = memoryview(self._map).cast("Q")

    def read(self) -> int:
        return self._number[0]

    def write(self, version: int) -> None:
        """Only by who holds the write lock of the state's file."""
        self._number[0] = version

    def close(self) -> None:
        self._number.release()
        self._map.close()
