"""A body that is still arriving: from the transport to its reader, at the reader's pace."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Protocol

from atoll.domain.quotas import KiB, MiB

BUFFER_HIGH_BYTES = 1 * MiB  # above this the transport is told to stop reading
BUFFER_LOW_BYTES = 256 * KiB  # below this it reads again
MERGE_BYTES = 64 * KiB  # many small pieces are handed over as one up to this size: each hand-over costs microseconds


class FlowControl(Protocol):
    """The reading side of a transport. `pause_reading` and `flow_control` come in pairs."""

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class IncomingBody:
    """An async iterator over the bytes of one body that still arrives.

    The parser calls `push`, `finish` and `fail`; the reader iterates. `length` is None when the end is marked by chunks.
    `begin` runs once, at the first read (it sends 100 Continue). What is neither read nor discarded halts the transport.
    """

    __slots__ = ("_begin", "_drop_limit", "_error", "_flow_control", "_pieces", "_reading_paused", "_size", "_waiter", "complete", "length", "received")

    def __init__(self, flow_control: FlowControl, length: int | None) -> None:
        self._flow_control = flow_control
        self._pieces: deque[bytes] = deque()
        self._size = 0
        self._reading_paused = False
        self._waiter: asyncio.Future[None] | None = None
        self._error: Exception | None = None
        self._begin: Callable[[], None] | None = None
        self._drop_limit: int | None = None
        self.length = length
        self.received = 0
        self.complete = False

    def at_first_read(self, begin: Callable[[], None]) -> None:
        self._begin = begin

    @property
    def not_started(self) -> bool:
        """The sender waits to be asked (Expect: 100-continue) and has sent nothing."""
        return self._begin is not None

    @property
    def ready(self) -> bool:
        """The next read does not wait."""
        return bool(self._pieces) or self.at_end

    @property
    def at_end(self) -> bool:
        """Nothing more will arrive: complete or broken."""
        return self.complete or self._error is not None

    @property
    def remaining(self) -> int | None:
        """Bytes that have not arrived yet; None when nobody knows."""
        return None if self.length is None else self.length - self.received

    def push(self, piece: bytes) -> None:
        self.received += len(piece)
        self._begin = None  # who sends need not be asked
        if self._drop_limit is not None:
            self._drop(len(piece))
            return
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > BUFFER_HIGH_BYTES and not self._reading_paused:
            self._reading_paused = True
            self._flow_control.pause_reading()
        self._wake()

    def finish(self) -> None:
        """All of it came: the transport may go on with what follows, although this is not read yet."""
        self.complete = True
        self._release()
        self._wake()

    def fail(self, error: Exception) -> None:
        """The rest will not come. What is buffered is still delivered before `error` is raised."""
        if not self.at_end:
            self._error = error
            self._release()
            self._wake()

    def small(self, limit: int) -> bytes | None:
        """All of a complete body, if it has at most `limit` bytes and nobody has begun to read."""
        if not self.complete or self.received > limit:
            return None
        return b"".join(self._pieces)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def _wait(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def __aiter__(self) -> IncomingBody:
        return self

    async def __anext__(self) -> bytes:
        if self._begin is not None:
            begin, self._begin = self._begin, None
            begin()
        while not self._pieces:
            if self._error is not None:
                raise self._error
            if self.complete:
                raise StopAsyncIteration
            await self._wait()
        piece = self._take()
        self._size -= len(piece)
        if self._size <= BUFFER_LOW_BYTES:
            self._release()
        return piece

    def _take(self) -> bytes:
        if len(self._pieces) > 1 and self._size <= MERGE_BYTES:
            merged = b"".join(self._pieces)
            self._pieces.clear()
            return merged
        return self._pieces.popleft()

    def _release(self) -> None:
        if self._reading_paused:
            self._reading_paused = False
            self._flow_control.resume_reading()

    def _drop(self, count: int) -> None:
        assert self._drop_limit is not None
        self._drop_limit -= count
        if self._drop_limit < 0:
            self.fail(OverflowError("more than anybody wants to discard"))

    async def discard(self, limit: int) -> bool:
        """Throw away what is left, up to `limit` further bytes. True when the end was reached."""
        self._begin = None
        self._pieces.clear()
        self._size = 0
        self._drop_limit = limit
        self._release()
        while not self.at_end:
            await self._wait()
        return self.complete
