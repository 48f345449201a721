"""Which buckets of this region replicate where, and who does it?

One lane per bucket and destination, started and stopped as configurations change. A rule that is removed drops what it still
owed: the headers stay as they are. What no lane needs any more is trimmed from the change feeds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from atoll.rules.replication import Rules
from atoll.services.s3.delivery import ReplicationHere
from atoll.services.s3.lane import PAGE_MAX, Lane, RuleMetrics
from atoll.services.s3.nudge import Nudge

__all__ = ["Nudge", "Replication", "ReplicationHere", "RuleMetrics"]

TRIM_S = 1.0  # how often the feeds are cut behind the lanes
IDLE_TRIM_S = 30.0  # how often the feeds of buckets without a configuration are emptied

Way = tuple[str, str]  # bucket, destination bucket


@dataclass(slots=True)
class _Running:
    lane: Lane
    task: asyncio.Task[None]


class Replication:
    """Copies what the buckets of one region owe to others. `run` until cancelled."""

    def __init__(self, here: ReplicationHere) -> None:
        self._here = here
        self._running: dict[Way, _Running] = {}
        self._passed: set[str] = set()  # buckets with a further cursor

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._trim())
            group.create_task(self._tidy())
            while True:
                self._reconcile(group)
                await self._here.changed()

    def metrics(self) -> Sequence[RuleMetrics]:
        return [each.lane.metrics() for each in self._running.values()]

    def returned(self, region: str) -> None:
        """A region is back: what waits for it is tried at once."""
        for each in self._running.values():
            if self._here.region_of(each.lane.destination) == region:
                each.lane.hurry()

    def _passed_on(self, bucket: str) -> None:
        self._passed.add(bucket)

    def _wanted(self) -> dict[Way, tuple[Rules, str]]:
        return {
            (bucket, destination): (rules, role)
            for bucket, rules, role in self._here.configured()
            for destination in rules.destinations
        }

    def _reconcile(self, group: asyncio.TaskGroup) -> None:
        wanted = self._wanted()
        for way in self._running.keys() - wanted.keys():
            self._running.pop(way).task.cancel()
        for way, (rules, role) in wanted.items():
            running = self._running.get(way)
            if running is None:
                lane = Lane(self._here, *way, rules=rules, role=role, passed=self._passed_on)
                self._running[way] = _Running(lane, group.create_task(lane.run()))
            else:
                running.lane.rules, running.lane.role = rules, role

    async def _trim(self) -> None:
        """Forget what every lane of a bucket is past."""
        while True:
            await self._here.clock.sleep(TRIM_S)
            for bucket, upto in self._behind().items():
                await self._here.store.trim(bucket, upto)

    def _behind(self) -> dict[str, int]:
        """Up to where each bucket whose lanes moved on is settled. A destination without a lane yet may still need all of
        it: what it is owed was written under a configuration that we can see by now."""
        passed, self._passed = self._passed, set()
        saved: dict[str, list[int]] = {bucket: [] for bucket in passed}
        for way in self._wanted() if passed else ():
            if way[0] in saved:
                running = self._running.get(way)
                saved[way[0]].append(running.lane.saved if running else 0)
        return {bucket: min(places) for bucket, places in saved.items() if min(places, default=0)}

    async def _tidy(self) -> None:
        """Forget the feeds that nobody follows. Their ends are read first: a write up to there that owed a copy was made
        under a configuration, and configurations are asked for afterwards."""
        while True:
            await self._here.clock.sleep(IDLE_TRIM_S)
            followed = {bucket for bucket, _ in self._wanted()}
            ends = {bucket: await self._end(bucket) for bucket in self._here.local() if bucket not in followed}
            followed = {bucket for bucket, _ in self._wanted()}
            for bucket in ends.keys() - followed:
                if ends[bucket]:
                    await self._here.store.trim(bucket, ends[bucket])

    async def _end(self, bucket: str) -> int:
        end = 0
        while page := await self._here.store.changes(bucket, end, PAGE_MAX):
            end = page[-1].seq
        return end
