"""Makes access points come true: a loop in every region's process, over the control store that all of them share."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from atoll.control_store import ControlStore, Transaction
from atoll.domain.clock import Clock
from atoll.domain.errors import ApiError
from atoll.services.s3control import async_request_steps
from atoll.services.s3control.records import MRAPS, REQUESTS, WORK, MrapRecord, RequestRecord, mrap_key

Profile = Literal["native", "aws"]
# mrap.md, sections 3.1 and 5: requests take "a few minutes" on AWS, a change of routes "about two minutes".
CREATE_DELAY_S: Mapping[Profile, float] = {"native": 0.2, "aws": 180.0}
ROUTE_PROPAGATION_S: Mapping[Profile, float] = {"native": 0.0, "aws": 120.0}
ACKNOWLEDGE_MAX_S = 5.0  # how long a policy waits for a region that does not acknowledge it
RETRY_S = 1.0  # after the state could not be changed

Step = Callable[[Transaction], bool]


class Reconciler:
    """Finishes asynchronous requests, puts routes into effect, and acknowledges policies in the name of its region.

    Any number may run at once, and be killed at any time: everything is in the state, and each step is one transaction that
    does nothing when another region has done it. A control operation so survives the loss of any region; a policy, which
    every member's region has to acknowledge, waits ACKNOWLEDGE_MAX_S for one that is down, and is then established for
    those that answer. The access point is INCONSISTENT_ACROSS_REGIONS until the missing ones have seen the policy, which
    is the first thing they do when they are back: they read the same state before they serve anything.
    `regions`: those of the world; nobody waits for others. `create_delay_s`: instead of the profile's own.
    """

    def __init__(
        self,
        *,
        state: ControlStore,
        region: str,
        regions: Sequence[str],
        clock: Clock,
        buckets: Callable[[str], tuple[str, str] | None],
        profile: Profile,
        create_delay_s: float | None = None,
        log: Callable[[Mapping[str, Any]], None],
    ) -> None:
        self._state = state
        self._region = region
        self._regions = frozenset(regions)
        self._clock = clock
        self._buckets = buckets
        self._delay_ms = int((CREATE_DELAY_S[profile] if create_delay_s is None else create_delay_s) * 1000)
        self._propagation_ms = int(ROUTE_PROPAGATION_S[profile] * 1000)
        self._log = log

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            seen = self._state.version
            try:
                wait_s = await self.step()
            except ApiError as error:  # the state is away or locked: nothing is lost, only later
                self._log({"time": self._clock.now(), "event": "access points wait", "error": str(error)})
                wait_s = RETRY_S
            await self._wait_for_changes(seen, wait_s)

    async def step(self) -> float | None:
        """Do what is due now; tells in how many seconds something else will be, None when only news can bring work."""
        now_ms = int(self._clock.now() * 1000)
        later = [*[await self._step_mrap(mrap, now_ms) for _, mrap in self._state.items(MRAPS)]]
        later += [await self._request(arn, now_ms) for arn, _ in self._state.items(WORK)]
        waits = [due_ms for due_ms in later if due_ms is not None]
        return max(0.0, (min(waits) - now_ms) / 1000) if waits else None

    # -- access points

    async def _step_mrap(self, mrap: MrapRecord, now_ms: int) -> int | None:
        """When its routes are to change, if that is not yet."""
        proposed = mrap.proposed
        if proposed is not None and self._region in async_request_steps.regions_behind(mrap):
            await self._run_step("policy acknowledged", mrap.name, lambda c: async_request_steps.acknowledge(c, mrap.key, self._region, proposed.version))
        if mrap.submitted is None:
            return None
        due_ms = mrap.submitted_ms + self._propagation_ms
        if due_ms > now_ms:
            return due_ms
        await self._run_step("routes changed", mrap.name, lambda c: async_request_steps.apply_routes(c, mrap.key, mrap.routes_version))
        return None

    # -- asynchronous requests

    async def _request(self, arn: str, now_ms: int) -> int | None:
        """When it is to end, if that is not yet."""
        request = self._state.get(REQUESTS, arn)
        if request is None:
            return None
        if request.status == "NEW":
            await self._run_step("request started", arn, lambda c: async_request_steps.start(c, arn))
        mrap = self._state.get(MRAPS, mrap_key(request.account, request.name))
        due_ms = request.created_ms + self._delay_ms
        silent = self._silent(request, mrap) if due_ms <= now_ms else frozenset()
        if silent:
            due_ms = max(due_ms, request.created_ms + int(ACKNOWLEDGE_MAX_S * 1000))
        if due_ms > now_ms:
            return due_ms
        lost = frozenset(self._lost(mrap)) if request.verb == "create" and mrap is not None else frozenset()
        await self._run_step("request ended", arn, lambda c: async_request_steps.finish(c, arn, lost, silent))
        return None

    def _silent(self, request: RequestRecord, mrap: MrapRecord | None) -> frozenset[str]:
        """Regions that a policy still waits for."""
        if request.verb != "put-policy" or request.failure is not None or mrap is None:
            return frozenset()
        if mrap.proposed is None or mrap.proposed.version != request.policy_version:
            return frozenset()
        return self._regions.intersection(async_request_steps.regions_behind(mrap))

    def _lost(self, mrap: MrapRecord) -> Iterator[str]:
        """Members that are not what they were when the access point was asked for."""
        for region, bucket in mrap.members.items():
            if self._buckets(bucket) != (region, mrap.owners[region]):
                yield region

    async def _run_step(self, event: str, subject: str, step: Step) -> None:
        if await self._state.transact(step):
            self._log({"time": self._clock.now(), "event": event, "subject": subject, "region": self._region})

    # -- waiting

    async def _wait_for_changes(self, seen: int, wait_s: float | None) -> None:
        """Until the state is newer than `seen`, and at most `wait_s`."""
        if wait_s is None:
            await self._state.changed(seen)
            return
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(_first(self._state.changed(seen)))
                group.create_task(_first(self._clock.sleep(wait_s)))
        except* _Over:
            pass


class _Over(Exception):
    """One of several waits is over; the others need not go on."""


async def _first(wait: Awaitable[object]) -> None:
    await wait
    raise _Over
