"""Group commit: a thread that commits whatever has arrived as one transaction, with one flush."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from collections.abc import Callable, Iterable
from queue import Empty, SimpleQueue
from typing import Any, Final, NamedTuple, TypeVar

from atoll.domain.errors import ApiError
from atoll.domain.quotas import MiB
from atoll.object_store.disk.index_writer import Index
from atoll.object_store.disk.read_cache import ReadCache
from atoll.object_store.disk.schema import INLINE_MAX_BYTES, PAGE_BYTES
from atoll.object_store.disk.sequence_locks import Generations
from atoll.object_store.disk.write_operations import Write

GROUP_MAX_OPERATIONS: Final = 256
GROUP_MAX_BYTES: Final = 4 * MiB
QUEUE_MAX_OPERATIONS: Final = 4096  # beyond it callers are told to slow down
CHECKPOINT_PAGES: Final = 3000  # 12 MiB: more would stall a commit for longer, fewer write the same index leaves again
OPERATION_PAGES: Final = 4  # index leaves that an operation touches, about
IDLE_S: Final = 1.0  # quiet for so long: bring the log into the database

R = TypeVar("R")
_log = logging.getLogger(__name__)


class PartialWrite(Exception):
    """An operation failed after it had changed rows: the group is done again, with a savepoint around each operation."""


class Outcome(NamedTuple):
    """What became of one operation: a result, or what was raised."""

    write: Write[Any]
    result: object
    fault: BaseException | None


class Committer:
    """Owns the writing connection. submit() and close() belong to the loop's thread.

    `retire` is called in the loop's thread with the files that nothing refers to after a group. `read_cache` hears of every
    write from its submission to its outcome. `generations` tell the other processes of the region, from before each commit.
    """

    def __init__(
        self,
        index: Index,
        loop: asyncio.AbstractEventLoop,
        retire: Callable[[Iterable[int]], None],
        read_cache: ReadCache,
        generations: Generations,
    ) -> None:
        self._read_cache = read_cache
        self._generations = generations
        self._index = index
        self._db = index.db
        self._run_sql = index.db.cursor().execute
        self._loop = loop
        self._retire = retire
        self._queue: SimpleQueue[Write[Any] | None] = SimpleQueue()
        self._waiting = 0
        self._pages = 0
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="atoll-commit", daemon=True)
        self._thread.start()

    def submit(self, write: Write[R]) -> asyncio.Future[R]:
        """Raises SlowDown when too many wait, ServiceUnavailable after close()."""
        if self._closed:
            raise ApiError("ServiceUnavailable", "The store is closed.")
        if self._waiting >= QUEUE_MAX_OPERATIONS:
            raise ApiError("SlowDown", "Please reduce your request rate.")
        self._waiting += 1
        self._read_cache.begin(write.touches)
        write.future = self._loop.create_future()
        self._queue.put(write)
        return write.future

    async def close(self) -> None:
        """Answers whoever waits, then ends the thread."""
        if not self._closed:
            self._closed = True
            self._queue.put(None)
        await self._loop.run_in_executor(None, self._thread.join)

    # In the thread

    def _work(self) -> None:
        while (group := self._gather()) is not None:
            if group:
                outcomes = self._commit(group)
                self._hand_over(outcomes)
                self._count_pages(group)

    def _gather(self) -> list[Write[Any]] | None:
        """Whatever has arrived, no timer. Empty when it was quiet for a while, None at the end."""
        try:
            write = self._queue.get(timeout=IDLE_S if self._pages else None)
        except Empty:
            self._checkpoint()
            return []
        group: list[Write[Any]] = []
        weight = 0
        while write is not None:
            group.append(write)
            weight += write.weight
            if len(group) >= GROUP_MAX_OPERATIONS or weight > GROUP_MAX_BYTES - INLINE_MAX_BYTES or self._queue.empty():
                return group
            write = self._queue.get()
        if not group:
            return None
        self._queue.put(None)  # the end, seen again after this group
        return group

    def _commit(self, group: list[Write[Any]]) -> list[Outcome]:
        """All or nothing for the group; within it each operation for itself."""
        try:
            try:
                return self._transact(group, self._apply)
            except PartialWrite:
                self._roll_back()
                return self._transact(group, self._apply_undoable)
        except Exception as fault:  # noqa: BLE001  # whatever it was: nothing is visible, every waiter is told, the thread lives
            _log.exception("a commit of %d operations failed", len(group))
            self._roll_back()
            return [Outcome(write, None, _unavailable(fault)) for write in group]

    def _transact(self, group: list[Write[Any]], apply: Callable[[Write[Any]], Outcome]) -> list[Outcome]:
        self._run_sql("BEGIN IMMEDIATE")
        outcomes = [apply(write) for write in group]
        slots = self._generations.begin(write.touches for write in group)
        try:
            self._run_sql("COMMIT")
        finally:
            self._generations.end(slots)
        return outcomes

    def _apply(self, write: Write[Any]) -> Outcome:
        """Without a savepoint, which costs as much as half a put: who refuses has nearly always changed nothing yet."""
        before = self._db.total_changes
        try:
            return Outcome(write, write.apply(self._index), None)
        except sqlite3.Error:  # the database's trouble is everybody's
            raise
        except Exception as fault:
            if self._db.total_changes != before:
                raise PartialWrite from fault
            return Outcome(write, None, fault)

    def _apply_undoable(self, write: Write[Any]) -> Outcome:
        write.gone = []
        run = self._run_sql
        run("SAVEPOINT operation")
        try:
            result = write.apply(self._index)
        except sqlite3.Error:  # the database's trouble is everybody's
            raise
        except Exception as fault:  # noqa: BLE001  # the operation's own, for its waiter alone
            run("ROLLBACK TO operation")
            run("RELEASE operation")
            return Outcome(write, None, fault)
        run("RELEASE operation")
        return Outcome(write, result, None)

    def _roll_back(self) -> None:
        try:
            if self._db.in_transaction:
                self._run_sql("ROLLBACK")
        except sqlite3.Error:
            _log.exception("a rollback failed")

    def _hand_over(self, outcomes: list[Outcome]) -> None:
        try:
            self._loop.call_soon_threadsafe(self._deliver, outcomes)
        except RuntimeError:  # the loop is closed: nobody waits any more
            _log.warning("%d operations ended after their loop", len(outcomes))

    def _count_pages(self, group: list[Write[Any]]) -> None:
        self._pages += sum(OPERATION_PAGES + write.weight // PAGE_BYTES for write in group)
        if self._pages >= CHECKPOINT_PAGES:
            self._checkpoint()

    def _checkpoint(self) -> None:
        """After the waiters have their answers. The log keeps its length, so that later commits need not extend it."""
        self._pages = 0
        try:
            self._run_sql("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        except sqlite3.Error:
            _log.exception("a checkpoint failed")

    # In the loop

    def _deliver(self, outcomes: list[Outcome]) -> None:
        self._waiting -= len(outcomes)
        for outcome in outcomes:
            self._read_cache.end(outcome.write.touches)
            try:
                _complete(outcome)
            except Exception:  # noqa: BLE001  # one waiter's trouble is not the next one's (lesson of a stuck committer)
                _log.exception("a waiter could not be told")
        gone = [blob for outcome in outcomes for blob in _unreferenced(outcome)]
        if gone:
            self._retire(gone)


def _complete(outcome: Outcome) -> None:
    future = outcome.write.future
    if future.done():  # whoever asked was cancelled
        return
    if outcome.fault is None:
        future.set_result(outcome.result)
    else:
        future.set_exception(outcome.fault)


def _unreferenced(outcome: Outcome) -> Iterable[int]:
    write = outcome.write
    if outcome.fault is None:
        return write.gone
    return () if write.fresh is None else (write.fresh,)


def _unavailable(fault: Exception) -> ApiError:
    error = ApiError("ServiceUnavailable", "The store cannot write now.")
    error.__cause__ = fault
    return error
