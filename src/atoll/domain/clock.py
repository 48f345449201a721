"""The Clock that is handed in, so that tests set the time."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Wall time (epoch seconds), a monotonic time (seconds), and waiting."""

    def now(self) -> float: ...

    def monotonic(self) -> float: ...

    async def sleep(self, seconds: float) -> None: ...
