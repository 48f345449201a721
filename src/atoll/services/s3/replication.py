"""Runs a replicator for each bucket and destination of this region's replication configurations.

One lane per bucket and destination, started and stopped as configurations change. A rule that is removed drops what it still
owed: the headers stay as they are. What no lane needs any more is trimmed from the change feeds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from atoll.rules.replication_status import Rules
from atoll.services.s3.bucket_replicator import PAGE_MAX, BucketReplicator, RuleMetrics
from atoll.services.s3.change_notifier import ChangeNotifier
from atoll.services.s3.replica_sender import ReplicationDependencies

__all__ = ["ChangeNotifier", "Replication", "ReplicationDependencies", "RuleMetrics"]

TRIM_S = 1.0  # how often the feeds are cut behind the lanes
IDLE_TRIM_S = 30.0  # how often the feeds of buckets without a configuration are emptied

ReplicationRoute = tuple[str, str]  # bucket, destination bucket


@dataclass(slots=True)
class _Running:
    replicator: BucketReplicator
    task: asyncio.Task[None]


class Replication:
    """Copies what the buckets of one region owe to others. `run` until cancelled."""

    def __init__(self, deps: ReplicationDependencies) -> None:
        self._deps = deps
        self._running: dict[ReplicationRoute, _Running] = {}
        self._passed: set[str] = set()  # buckets with a further cursor

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._trim())
            group.create_task(self._tidy())
            while True:
                self._reconcile(group)
                await self._deps.changed()

    def metrics(self) -> Sequence[RuleMetrics]:
        return [each.replicator.metrics() for each in self._running.values()]

    def region_recovered(self, region: str) -> None:
        """A region is back: what waits for it is tried at once."""
        for each in self._running.values():
            if self._deps.region_of(each.replicator.destination) == region:
                each.replicator.retry_now()

    def _cursor_moved(self, bucket: str) -> None:
        self._passed.add(bucket)

    def _wanted(self) -> dict[ReplicationRoute, tuple[Rules, str]]:
        return {
            (bucket, destination): (rules, role)
            for bucket, rules, role in self._deps.configured()
            for destination in rules.destinations
        }

    def _reconcile(self, group: asyncio.TaskGroup) -> None:
        wanted = self._wanted()
        for route in self._running.keys() - wanted.keys():
            self._running.pop(route).task.cancel()
        for route, (rules, role) in wanted.items():
            running = self._running.get(route)
            if running is None:
                replicator = BucketReplicator(self._deps, *route, rules=rules, role=role, cursor_moved=self._cursor_moved)
                self._running[route] = _Running(replicator, group.create_task(replicator.run()))
            else:
                running.replicator.rules, running.replicator.role = rules, role

    async def _trim(self) -> None:
        """Forget what every lane of a bucket is past."""
        while True:
            await self._deps.clock.sleep(TRIM_S)
            for bucket, upto in self._behind().items():
                await self._deps.store.trim(bucket, upto)

    def _behind(self) -> dict[str, int]:
        """Up to where each bucket whose lanes moved on is settled. A destination without a lane yet may still need all of
        it: what it is owed was written under a configuration that we can see by now."""
        passed, self._passed = self._passed, set()
        saved: dict[str, list[int]] = {bucket: [] for bucket in passed}
        for route in self._wanted() if passed else ():
            if route[0] in saved:
                running = self._running.get(route)
                saved[route[0]].append(running.replicator.saved if running else 0)
        return {bucket: min(places) for bucket, places in saved.items() if min(places, default=0)}

    async def _tidy(self) -> None:
        """Forget the feeds that nobody follows. Their ends are read first: a write up to there that owed a copy was made
        under a configuration, and configurations are asked for afterwards."""
        while True:
            await self._deps.clock.sleep(IDLE_TRIM_S)
            followed = {bucket for bucket, _ in self._wanted()}
            ends = {bucket: await self._end(bucket) for bucket in self._deps.local() if bucket not in followed}
            followed = {bucket for bucket, _ in self._wanted()}
            for bucket in ends.keys() - followed:
                if ends[bucket]:
                    await self._deps.store.trim(bucket, ends[bucket])

    async def _end(self, bucket: str) -> int:
        end = 0
        while page := await self._deps.store.changes(bucket, end, PAGE_MAX):
            end = page[-1].seq
        return end
