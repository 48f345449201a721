"""Tells the loops that follow a bucket's change feed that it has grown."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class ChangeNotifier:
    """Rung after each commit by whoever writes; heard by the loops that follow the bucket. Ringing for nobody is free.

    `has_notifier` tells whether anybody rings at all: where nobody does, the feed is polled more often.
    """

    def __init__(self) -> None:
        self._wakeups: dict[str, set[asyncio.Event]] = {}
        self.has_notifier = False

    def notify(self, bucket: str) -> None:
        self.has_notifier = True
        for wakeup in self._wakeups.get(bucket, ()):
            wakeup.set()

    @contextmanager
    def subscribe(self, bucket: str) -> Iterator[asyncio.Event]:
        """An event that every ring for this bucket sets, while the context lasts."""
        wakeup = asyncio.Event()
        wakeups = self._wakeups.setdefault(bucket, set())
        wakeups.add(wakeup)
        try:
            yield wakeup
        finally:
            wakeups.discard(wakeup)
            if not wakeups:
                self._wakeups.pop(bucket, None)
