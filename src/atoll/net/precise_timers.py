"""Timers on one timerfd, for waits that must not be early or milliseconds late.

uvloop counts whole milliseconds and asyncio is 0.3 to 1.3 ms late (wan.md 2); an absolute CLOCK_MONOTONIC deadline in the
kernel is neither. Where timerfd is missing, the loop's timer is re-armed until the moment has come.

A processor that slept through a long wait comes back 0.2 ms late and slow. So for a wait that is asked to be exact, a process with
nothing else to do is woken a little before the moment and looks at the clock until it has come.
"""

from __future__ import annotations

import asyncio
import ctypes
import heapq
import os
import time
from collections.abc import Callable
from itertools import count
from math import inf

_CLOCK_MONOTONIC = 1  # linux/time.h
_ABSOLUTE = 1  # TFD_TIMER_ABSTIME
_FLAGS = os.O_NONBLOCK | os.O_CLOEXEC
WAITS_MAX = 1_000_000  # waits at a time; more is a leak
LONG_S = 0.005  # the shortest wait that is worth being woken early for
EARLY_S = 0.0004  # how much earlier: the usual lateness twice over
BUSY = 0.1  # of one processor; a process that used more of it meanwhile is awake, and has others to serve


class _Timespec(ctypes.Structure):
    _fields_ = (("tv_sec", ctypes.c_long), ("tv_nsec", ctypes.c_long))


class _Timerspec(ctypes.Structure):
    _fields_ = (("it_interval", _Timespec), ("it_value", _Timespec))


class Wait:
    """One appointment; `cancel` makes it void."""

    __slots__ = ("call", "exact")

    def __init__(self, call: Callable[[], None], *, exact: bool) -> None:
        self.call: Callable[[], None] | None = call
        self.exact = exact

    def cancel(self) -> None:
        self.call = None


class Timers:
    """A heap of (monotonic deadline, callback) on one timer of the kernel. Make one per process, inside its loop."""

    def __init__(self, *, kernel: bool = True) -> None:
        self._loop = asyncio.get_running_loop()
        self._heap: list[tuple[float, int, Wait]] = []
        self._order = count()
        self._armed = inf
        self._armed_at = self._used_then = 0.0
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._spec = _Timerspec()
        self._fd = self._open() if kernel else -1
        self._fallback: asyncio.TimerHandle | None = None

    def _open(self) -> int:
        create = getattr(self._libc, "timerfd_create", None)
        fd = -1 if create is None else int(create(_CLOCK_MONOTONIC, _FLAGS))
        if fd >= 0:
            self._loop.add_reader(fd, self._on_timer)
        return fd

    @property
    def exact(self) -> bool:
        """The kernel keeps the time, not the loop."""
        return self._fd >= 0

    def at(self, deadline: float, call: Callable[[], None], *, exact: bool = False) -> Wait:
        """Run `call` once time.monotonic() has reached `deadline`: never before, in order of deadlines. `exact`: up to EARLY_S
        of a processor are worth 0.2 ms."""
        if len(self._heap) >= WAITS_MAX:
            raise RuntimeError("too many waits")
        wait = Wait(call, exact=exact)
        heapq.heappush(self._heap, (deadline, next(self._order), wait))
        if deadline < self._armed:
            self._arm(deadline, exact=exact)
        return wait

    async def sleep_until(self, deadline: float, *, exact: bool = False) -> None:
        future: asyncio.Future[None] = self._loop.create_future()
        wait = self.at(deadline, lambda: None if future.done() else future.set_result(None), exact=exact)
        try:
            await future
        finally:
            wait.cancel()

    def close(self) -> None:
        """Forget all waits and give the timer back."""
        self._heap.clear()
        if self._fallback is not None:
            self._fallback.cancel()
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1

    def _arm(self, deadline: float, *, exact: bool) -> None:
        self._armed = deadline
        if self._fd < 0:
            if self._fallback is not None:
                self._fallback.cancel()
            self._fallback = self._loop.call_later(max(0.0, deadline - time.monotonic()), self._run_due)
            return
        self._armed_at, self._used_then = time.monotonic(), time.thread_time()
        alarm = deadline - EARLY_S if exact and deadline - self._armed_at >= LONG_S else deadline
        nanos = max(1, int(alarm * 1e9) + 1)  # zero would disarm; one more, so that rounding is never early
        value = self._spec.it_value
        value.tv_sec, value.tv_nsec = divmod(nanos, 1_000_000_000)
        if self._libc.timerfd_settime(self._fd, _ABSOLUTE, ctypes.byref(self._spec), None):
            raise OSError(ctypes.get_errno(), "timerfd_settime")

    def _on_timer(self) -> None:
        try:
            os.read(self._fd, 8)
        except BlockingIOError:
            return  # armed anew since it rang
        self._run_due()

    def _run_due(self) -> None:
        heap, now = self._heap, time.monotonic()
        if heap and heap[0][2].exact and now < heap[0][0] <= now + EARLY_S and self._was_idle(now):
            now = _look_until(heap[0][0])
        self._armed = -inf  # nobody arms while callbacks add waits
        try:
            while heap and heap[0][0] <= now:
                call = heapq.heappop(heap)[2].call
                if call is not None:
                    call()
        finally:
            self._armed = inf
            if heap:
                self._arm(heap[0][0], exact=heap[0][2].exact)

    def _was_idle(self, now: float) -> bool:
        return time.thread_time() - self._used_then < BUSY * (now - self._armed_at)


def _look_until(deadline: float) -> float:
    """The time when it has come."""
    while (now := time.monotonic()) < deadline:
        pass
    return now
