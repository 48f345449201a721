"""What time is it, and who waits? Handed in at the top, so that twenty-two seconds later is a call in a test."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Wall time (epoch seconds), a monotonic time (seconds), and waiting."""

    def now(self) -> float: ...

    def monotonic(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...
