"""Pins that keep body files while somebody in this process reads them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence


class Pin:
    """Holds files of one version until it is closed, or forgotten by everybody (then the garbage collector closes it)."""

    __slots__ = ("_ids", "_pins")

    def __init__(self, pins: Pins, ids: tuple[int, ...]) -> None:
        self._pins = pins
        self._ids = ids

    def close(self) -> None:
        """May be called again."""
        self._let_go()
        self._pins.settle()

    def _let_go(self) -> None:
        ids, self._ids = self._ids, ()
        if ids:
            self._pins.returned.append(ids)

    def __del__(self) -> None:
        self._let_go()  # possibly in another thread: the loop counts it at its next turn here


class Pins:
    """Counts readers per file in the process that writes. Belongs to the loop's thread, but for `returned`, which anybody may append to.

    `unlink` removes files; it is called with ids that were retired and have no reader. A reader that looked at the rows
    before the commit has its pin by the time that retire() is called in the same thread; one that looks later does not
    find the version.
    """

    def __init__(self, unlink: Callable[[Sequence[int]], None]) -> None:
        self._unlink = unlink
        self._readers: dict[int, int] = {}
        self._doomed: set[int] = set()
        self.returned: deque[tuple[int, ...]] = deque()

    def pin(self, ids: Iterable[int]) -> Pin:
        held = tuple(ids)
        for blob in held:
            self._readers[blob] = self._readers.get(blob, 0) + 1
        return Pin(self, held)

    def retire(self, ids: Iterable[int]) -> None:
        """Nothing refers to these files any more: remove them as soon as nobody reads them."""
        self._doomed.update(ids)
        self.settle()
        self._remove([blob for blob in self._doomed if blob not in self._readers])

    def settle(self) -> None:
        """Count what was let go."""
        while self.returned:
            for blob in self.returned.popleft():
                self._readers[blob] -= 1
                if not self._readers[blob]:
                    del self._readers[blob]
                    if blob in self._doomed:
                        self._remove([blob])

    def _remove(self, ids: Sequence[int]) -> None:
        if ids:
            self._doomed.difference_update(ids)
            self._unlink(ids)
