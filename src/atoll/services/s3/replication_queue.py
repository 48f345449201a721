"""The copies to one destination that are pending, in order per key, and how far the change feed is settled.

First in, first out per key (a delete marker never passes its object); keys are independent of each other. A task that is
retried holds its key, one that failed for good does not. The cursor is the place in the change feed up to which nothing is
owed any more; all behind it is taken again after a crash.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from atoll.rules.replication_status import Event, State, next_state

QUEUE_MAX = 10_000  # tasks in memory per destination; beyond it the feed is not read on


@dataclass(slots=True)
class ReplicationTask:
    """One version owed to one destination. `queued_at` and `due` are wall time in seconds; it is not sent before `due`.

    `again`: an earlier try may have arrived. `wakes` counts how often the task was put to sleep, so that only the latest
    alarm wakes it; `ready`: it stands in line for a copy. `late`: the missed threshold was reported.
    """

    seq: int
    name: str
    version: str
    size: int
    queued_at: float
    due: float = 0.0
    state: State = "QUEUED"
    attempts: int = 0
    again: bool = False
    wakes: int = 0
    ready: bool = False
    late: bool = False

    def move(self, event: Event) -> None:
        self.state = next_state(self.state, event)


class ReplicationQueue:
    """The tasks of one destination."""

    def __init__(self) -> None:
        self._keys: dict[str, deque[ReplicationTask]] = {}
        self._versions: dict[tuple[str, str], ReplicationTask] = {}
        self._open: dict[int, ReplicationTask] = {}  # by seq; seqs come in rising order, so the first is the lowest
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._open)

    def holds(self, name: str, version: str) -> bool:
        return (name, version) in self._versions

    def add(self, task: ReplicationTask) -> bool:
        """Whether it is its key's turn at once."""
        queue = self._keys.setdefault(task.name, deque())
        queue.append(task)
        self._versions[task.name, task.version] = task
        self._open[task.seq] = task
        self.bytes += task.size
        return len(queue) == 1

    def head(self, name: str) -> ReplicationTask | None:
        queue = self._keys.get(name)
        return queue[0] if queue else None

    def heads(self) -> Iterator[ReplicationTask]:
        return (queue[0] for queue in self._keys.values())

    def settle(self, task: ReplicationTask) -> ReplicationTask | None:
        """Take out a head that is done, failed or dropped; the key's next task, if there is one."""
        queue = self._keys[task.name]
        assert queue[0] is task, "only the first of a key can be settled"
        queue.popleft()
        del self._versions[task.name, task.version]
        del self._open[task.seq]
        self.bytes -= task.size
        if queue:
            return queue[0]
        del self._keys[task.name]
        return None

    def cursor(self, read: int) -> int:
        """The highest seq up to which all is settled, when the feed was read up to `read`."""
        return next(iter(self._open), read + 1) - 1

    def oldest(self) -> ReplicationTask | None:
        return next(iter(self._open.values()), None)

    def waiting(self) -> Iterator[ReplicationTask]:
        """From the oldest on."""
        return iter(self._open.values())
