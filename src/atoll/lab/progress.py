"""Progress of a run on standard error: one line that is rewritten on a terminal, a plain line now and then elsewhere.

Results go to standard output and can be piped. The line is refreshed from a timer signal, so that it moves whatever the run
waits for, without a thread: processes are forked while it shows.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from atoll.lab import stage_estimates
from atoll.lab.stage_estimates import Stage

STDERR = 2
REFRESH_S = 0.5
PLAIN_EVERY_S = 10.0
ERASE_LINE = "\r\x1b[K"


class Progress:
    """`begin` starts a stage, `share` tells how much of it is done, `say` prints a line that stays."""

    def __init__(self, plan: Sequence[Stage], *, fd: int = STDERR) -> None:
        self._stages = plan
        self._fd = fd
        self._terminal = os.isatty(self._fd)
        self._index = -1
        self._began = self._text_response = 0.0
        self._share: float | None = None
        self._detail = ""

    def say(self, text: str) -> None:
        self._write(f"{ERASE_LINE if self._terminal else ''}{text}\n")

    def begin(self, name: str) -> None:
        """The next stage. It must be the one that the plan has next."""
        self._index += 1
        assert self._stages[self._index].name == name, f"{name} is not stage {self._index + 1}"
        self._began = self._text_response = time.monotonic()
        self._share, self._detail = None, ""
        self.say(stage_estimates.opening(self._stages, self._index))

    def share(self, share: float | None, detail: str = "") -> None:
        self._share, self._detail = share, detail

    def tick(self, now: float) -> None:
        """Show how far the stage is, at `now` (monotonic seconds): always on a terminal, now and then elsewhere."""
        if self._index < 0:
            return
        text = stage_estimates.line(self._stages, self._index, now - self._began, self._share, self._detail)
        if self._terminal:
            self._write(f"{ERASE_LINE}{text[: shutil.get_terminal_size().columns - 1]}")
        elif now - self._text_response >= PLAIN_EVERY_S:
            self._text_response = now
            self._write(f"{text}\n")

    @contextmanager
    def shown(self) -> Iterator[None]:
        """The line moves while the block runs, and is gone afterwards. Main thread only."""
        before = signal.signal(signal.SIGALRM, lambda _number, _frame: self.tick(time.monotonic()))
        signal.setitimer(signal.ITIMER_REAL, REFRESH_S, REFRESH_S)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, before)
            if self._terminal:
                self._write(ERASE_LINE)

    def _write(self, text: str) -> None:
        """Straight to the descriptor: a signal may interrupt a buffered write, and must not enter it again."""
        try:
            os.write(self._fd, text.encode())
        except OSError:
            return  # nobody reads; results are what counts
