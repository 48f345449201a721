"""How far is it? Bars on a terminal, plain lines elsewhere; always on standard error, so that results can be piped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

Heard = Callable[[str, int], None]


class Progress:
    """Says what happens. `bars` shows one bar per place on a terminal, and a line when a place is done elsewhere."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False)

    def say(self, text: str) -> None:
        self._console.print(text, style="dim", markup=False, soft_wrap=True)

    @contextmanager
    def bars(self, places: Sequence[str], total: int) -> Iterator[Heard]:
        """Call what is yielded with a place and how many of `total` it has done."""
        if not self._console.is_terminal:
            yield lambda place, done: self.say(f"{place}: {done} files read") if done == total else None
            return
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Bars(*columns, console=self._console, transient=True) as bars:
            tasks = {place: bars.add_task(place, total=total) for place in places}
            yield lambda place, done: bars.update(tasks[place], completed=done)
