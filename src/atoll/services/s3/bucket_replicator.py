"""Moves the copies from one bucket to one destination bucket.

The change feed is read up to the bound of the backlog; keys go in parallel, each key in order. Trouble with one object holds
its key, trouble with the region pauses the lane, and one copy then probes whether it is back. Nothing is kept but a cursor:
whatever is PENDING behind it is taken again after a crash, and arriving twice changes nothing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from atoll.domain.errors import ApiError
from atoll.domain.http_message import EMPTY
from atoll.domain.objects import NULL_VERSION, Change, Key, ObjectMetadata
from atoll.rules.replication_status import (
    RTC_THRESHOLD_S,
    CopyTime,
    FailureReason,
    Rules,
    backoff,
    draw_lag,
    failed,
    governing_rule,
    with_completed,
)
from atoll.services.s3.replica_sender import (
    Delivered,
    DeliveryOutcome,
    NothingPending,
    PermanentFailure,
    ReplicaSender,
    ReplicationDependencies,
    TransientFailure,
)
from atoll.services.s3.replication_queue import QUEUE_MAX, ReplicationQueue, ReplicationTask

IN_FLIGHT_MAX = 64  # copies under way per destination: about 430 a second over a round trip of 150 ms
PAGE_MAX = 1000  # entries of the change feed read at once
POLL_S = 0.05  # how often the feed is looked at when nobody rings
POLL_NOTIFIED_S = 1.0  # and when somebody does: only in case a ring was missed
CURSOR_S = 1.0  # a cursor is written at most this often
CURSORS = "!cursors"


@dataclass(frozen=True, slots=True)
class RuleMetrics:
    """One bucket's way to one destination. `latency_s`: how far behind the oldest copy owed is. Source: S3 user guide,
    "Monitoring progress with replication metrics": BytesPendingReplication, OperationsPendingReplication,
    ReplicationLatency, OperationsFailedReplication. Counts what was read of the feed, at most BACKLOG_MAX."""

    bucket: str
    destination: str
    bytes_pending: int
    operations_pending: int
    latency_s: float
    operations_failed: int


def cursor_key(bucket: str, destination: str) -> Key:
    return Key(CURSORS, f"{bucket}>{destination}")


class BucketReplicator:
    """`rules` and `role` may be replaced while it runs. `cursor_moved(bucket)` tells that a further cursor was written."""

    def __init__(
        self,
        deps: ReplicationDependencies,
        bucket: str,
        destination: str,
        *,
        rules: Rules,
        role: str,
        cursor_moved: Callable[[str], None],
    ) -> None:
        self.bucket, self.destination = bucket, destination
        self.rules, self.role = rules, role
        self.saved = 0
        self._deps = deps
        self._on_cursor = cursor_moved
        self._sender = ReplicaSender(deps, bucket, destination)
        self._pending = ReplicationQueue()
        self._times = CopyTime()
        self._ready: deque[str] = deque()
        self._read_seq = 0
        self._resumed = True  # until the feed was read to its end once, any copy may have arrived before a crash
        self._in_flight = 0
        self._failed = 0
        self._outage = 0  # tries in a row that did not reach the region
        self._paused = False
        self._pauses = 0
        self._room = asyncio.Event()
        self._group: asyncio.TaskGroup

    async def run(self) -> None:
        self._read_seq = self.saved = await self._load()
        try:
            with self._deps.change_notifier.subscribe(self.bucket) as wakeup:
                async with asyncio.TaskGroup() as self._group:
                    self._group.create_task(self._read(wakeup))
                    self._group.create_task(self._poll(wakeup))
                    self._group.create_task(self._keep_cursor())
        finally:
            await self._save()

    def metrics(self) -> RuleMetrics:
        oldest = self._pending.oldest()
        behind = max(0.0, self._deps.clock.now() - oldest.queued_at) if oldest else 0.0
        return RuleMetrics(
            self.bucket, self.destination, self._pending.bytes, len(self._pending), behind, self._failed
        )

    def retry_now(self) -> None:
        """The destination's region is known to be back: do not wait for the next try."""
        self._outage = 0
        self._paused = False
        self._pauses += 1
        for task in self._pending.heads():
            if task.state == "RETRY":
                self._ready_now(task)
        self._dispatch()

    # -- the feed becomes tasks

    async def _read(self, wakeup: asyncio.Event) -> None:
        while True:
            while len(self._pending) >= QUEUE_MAX:
                self._room.clear()
                await self._room.wait()
            wakeup.clear()
            limit = min(PAGE_MAX, QUEUE_MAX - len(self._pending))
            page = await self._deps.store.changes(self.bucket, self._read_seq, limit)
            for change in page:
                await self._take(change)
                self._read_seq = change.seq
            if not page:
                self._resumed = False
                await wakeup.wait()

    async def _poll(self, wakeup: asyncio.Event) -> None:
        while True:
            await self._deps.clock.sleep(POLL_NOTIFIED_S if self._deps.change_notifier.has_notifier else POLL_S)
            wakeup.set()

    async def _take(self, change: Change) -> None:
        if change.kind == "delete" or change.version == NULL_VERSION or self._pending.holds(change.name, change.version):
            return
        metadata = await self._deps.store.head(Key(self.bucket, change.name), change.version)
        if metadata is None or metadata.replication.get(self.destination) != "PENDING":
            return
        if self.rules.still_applies(change.name, self.destination):
            self._queue(self._task(change, metadata))

    def _task(self, change: Change, metadata: ObjectMetadata) -> ReplicationTask:
        now = self._deps.clock.now()
        written_at = now if change.kind == "amend" or metadata.stamp is None else min(now, metadata.stamp.ms / 1000)
        published = self._deps.published
        due = written_at + draw_lag(self._deps.uniform(), published) if published else 0.0
        return ReplicationTask(change.seq, change.name, change.version, metadata.size, written_at, due, again=self._resumed)

    def _queue(self, task: ReplicationTask) -> None:
        if self._pending.add(task):
            self._schedule(task)

    # -- tasks become copies

    def _schedule(self, task: ReplicationTask) -> None:
        """A key's turn has come: now, or when the copy would land on its due time."""
        wait = task.due - self._times.expected(task.size) - self._deps.clock.now() if task.due else 0.0
        if wait > 0:
            self._sleep(task, wait)
        else:
            self._ready_now(task)
            self._dispatch()

    def _ready_now(self, task: ReplicationTask) -> None:
        task.wakes += 1
        if not task.ready:
            task.ready = True
            self._ready.append(task.name)

    def _sleep(self, task: ReplicationTask, seconds: float) -> None:
        task.wakes += 1
        self._group.create_task(self._wake(task, task.wakes, seconds))

    async def _wake(self, task: ReplicationTask, wakes: int, seconds: float) -> None:
        await self._deps.clock.sleep(seconds)
        if task.wakes == wakes:
            self._ready_now(task)
            self._dispatch()

    def _dispatch(self) -> None:
        width = 1 if self._outage else IN_FLIGHT_MAX
        while self._ready and not self._paused and self._in_flight < width:
            task = self._pending.head(self._ready.popleft())
            assert task is not None, "a ready key has a task"
            task.ready = False
            task.move("taken")
            self._in_flight += 1
            self._group.create_task(self._copy(task))

    async def _copy(self, task: ReplicationTask) -> None:
        try:
            wanted = self.rules.still_applies(task.name, self.destination)
            await self._conclude(task, await self._sender.copy(task, self.role, self.rules) if wanted else NothingPending())
        except ApiError as error:  # our own disk refuses; the copy is repeated, which changes nothing
            self._retry(task, TransientFailure(str(error), unreachable=False))
        self._in_flight -= 1
        self._dispatch()

    # -- what became of them

    async def _conclude(self, task: ReplicationTask, outcome: DeliveryOutcome) -> None:
        match outcome:
            case Delivered():
                await self._stored(task, outcome)
            case PermanentFailure(reason):
                await self._refused(task, reason)
            case TransientFailure():
                self._retry(task, outcome)
            case NothingPending():
                self._settle(task)

    async def _stored(self, task: ReplicationTask, outcome: Delivered) -> None:
        self._outage = 0
        self._times.observe(outcome.size, outcome.seconds)
        change = partial(with_completed, destination=self.destination, tags_ms=outcome.tags_ms)
        metadata = await self._deps.store.update_metadata(Key(self.bucket, task.name), task.version, change)
        if metadata is not None and metadata.replication.get(self.destination) == "PENDING":
            task.move("amended")
            task.again = True
            self._schedule(task)
            return
        task.move("stored")
        if task.late:
            self._report(task, "s3:Replication:OperationReplicatedAfterThreshold")
        self._settle(task)

    async def _refused(self, task: ReplicationTask, reason: FailureReason) -> None:
        change = partial(failed, destination=self.destination, reason=reason)
        await self._deps.store.update_metadata(Key(self.bucket, task.name), task.version, change)
        task.move("refused")
        self._failed += 1
        self._report(task, "s3:Replication:OperationFailedReplication", reason=reason)
        self._settle(task)

    def _settle(self, task: ReplicationTask) -> None:
        following = self._pending.settle(task)
        self._room.set()
        if following is not None:
            self._schedule(following)

    def _retry(self, task: ReplicationTask, failure: TransientFailure) -> None:
        task.move("trouble")
        task.attempts += 1
        seconds = backoff(task.attempts, self._deps.uniform())
        self._report(task, "replication.retry", why=failure.why, attempt=task.attempts, seconds=seconds)
        self._sleep(task, seconds)
        if failure.unreachable and not self._paused:
            self._pause()

    def _pause(self) -> None:
        self._outage += 1
        self._paused = True
        self._pauses += 1
        self._group.create_task(self._resume(self._pauses, backoff(self._outage, self._deps.uniform())))

    async def _resume(self, pauses: int, seconds: float) -> None:
        await self._deps.clock.sleep(seconds)
        if self._pauses == pauses:
            self._paused = False
            self._dispatch()

    def _report(self, task: ReplicationTask, event: str, **more: object) -> None:
        what = {"bucket": self.bucket, "key": task.name, "version": task.version, "destination": self.destination}
        self._deps.log({"event": event, **what, **more})

    # -- once per second: the cursor, and what is late

    async def _keep_cursor(self) -> None:
        while True:
            await self._deps.clock.sleep(CURSOR_S)
            await self._save()
            self._report_late()

    async def _load(self) -> int:
        metadata = await self._deps.store.head(cursor_key(self.bucket, self.destination))
        return int(metadata.notes["seq"]) if metadata else 0

    async def _save(self) -> None:
        cursor = self._pending.cursor(self._read_seq)
        if cursor == self.saved:
            return
        metadata = ObjectMetadata(notes={"seq": str(cursor)}, modified_ms=int(self._deps.clock.now() * 1000))
        try:
            await self._deps.store.put(cursor_key(self.bucket, self.destination), EMPTY, lambda: metadata)
            self.saved = cursor
            self._on_cursor(self.bucket)
        except ApiError as error:  # a full disk: an old cursor costs only reading
            self._deps.log({"event": "replication.cursor", "bucket": self.bucket, "why": str(error)})

    def _report_late(self) -> None:
        """RTC's promise: most within seconds, all within fifteen minutes. Source: user guide, replication-time-control."""
        limit = self._deps.clock.now() - RTC_THRESHOLD_S
        for task in self._pending.waiting():
            if task.queued_at > limit:
                return
            rule = governing_rule(self.rules, task.name, {}, self.destination)
            if not task.late and rule is not None and rule.time_control:
                task.late = True
                self._report(task, "s3:Replication:OperationMissedThreshold", rule=rule.id)
