"""Who wants to know at once that a bucket's change feed has grown?"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class Nudge:
    """Rung after each commit by whoever writes; heard by the loops that follow the bucket. Ringing for nobody is free.

    `rung` tells whether anybody rings at all: where nobody does, the feed is polled more often.
    """

    def __init__(self) -> None:
        self._bells: dict[str, set[asyncio.Event]] = {}
        self.rung = False

    def ring(self, bucket: str) -> None:
        self.rung = True
        for bell in self._bells.get(bucket, ()):
            bell.set()

    @contextmanager
    def bell(self, bucket: str) -> Iterator[asyncio.Event]:
        """An event that every ring for this bucket sets, while the context lasts."""
        bell = asyncio.Event()
        bells = self._bells.setdefault(bucket, set())
        bells.add(bell)
        try:
            yield bell
        finally:
            bells.discard(bell)
            if not bells:
                self._bells.pop(bucket, None)
