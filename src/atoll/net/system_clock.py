"""The real Clock, with a timerfd behind its sleep where there is one."""

from __future__ import annotations

import asyncio
import time

from atoll.net.precise_timers import Timers


class SystemClock:
    """A domain Clock. With `timers`, sleeps end up to 0.4 ms late and never early; the event loop's own are less exact."""

    def __init__(self, timers: Timers | None = None) -> None:
        self._timers = timers
        self.now = time.time
        self.monotonic = time.monotonic

    async def sleep(self, seconds: float) -> None:
        if self._timers is None or seconds <= 0:
            await asyncio.sleep(seconds)
        else:
            await self._timers.sleep_until(time.monotonic() + seconds)
