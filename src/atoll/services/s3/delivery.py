"""How is one version brought to another region, and what does the answer mean?

The role is taken, the source is read with the role's rights, and the copy goes to the destination's region, which judges it
with the same role. Only what the destination itself refused is final; whatever else goes wrong passes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from atoll.domain.arn import object_arn
from atoll.domain.caller import Caller, Onward
from atoll.domain.clock import Clock
from atoll.domain.errors import ApiError, Upstream
from atoll.domain.limits import KiB, MiB
from atoll.domain.message import EMPTY, Body, Request, Response
from atoll.domain.objects import Facts, Found, Key
from atoll.domain.oserrors import in_words
from atoll.domain.shapes import Handler, Store
from atoll.rules import replica_form as form
from atoll.rules.replication import BATCH, FailureReason, Rules, Step, copied_to, governing, permanent
from atoll.services.s3.backlog import Task
from atoll.services.s3.nudge import Nudge

DELIVERY_BASE_S = 60  # a copy may take this long, and longer by its size at the slowest rate
DELIVERY_MIN_BYTES_PER_S = 64 * KiB
ANSWER_MAX_BYTES = 64 * KiB  # an error document
ASK_FIRST_MIN_BYTES = 1 * MiB  # what may have arrived already is asked for before so many bytes are sent again


@dataclass(frozen=True, slots=True)
class ReplicationHere:
    """What replication is given by the node.

    `configured()`: bucket, rules and role ARN of every local bucket with a replication configuration. `changed()` returns
    when that may have changed since its last return. `local()`: all buckets of this region. `region_of(bucket)` None: no
    such bucket in the world. `peer(region)` sends to that region's node (raises Upstream). `assume(role ARN)` None: the
    role does not trust s3.amazonaws.com or is gone. `may(caller, action, ARN)` judges in this region. `dice()` in 0..1.
    `published`: seconds of lag to reproduce (profile aws), empty for none. `nudge` is rung by whoever writes to the store.
    """

    region: str
    store: Store
    clock: Clock
    configured: Callable[[], Iterable[tuple[str, Rules, str]]]
    changed: Callable[[], Awaitable[None]]
    local: Callable[[], Iterable[str]]
    region_of: Callable[[str], str | None]
    peer: Callable[[str], Handler]
    assume: Callable[[str], Caller | None]
    may: Callable[[Caller, str, str], bool]
    dice: Callable[[], float]
    log: Callable[[dict[str, object]], None]
    published: Sequence[float] = ()
    nudge: Nudge = field(default_factory=Nudge)


@dataclass(frozen=True, slots=True)
class Stored:
    """The destination has it. `tags_ms` tells which tags were sent."""

    tags_ms: int
    size: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Refused:
    reason: FailureReason


@dataclass(frozen=True, slots=True)
class Trouble:
    """To be tried again. `unreachable`: the region as a whole, not this one object."""

    why: str
    unreachable: bool


@dataclass(frozen=True, slots=True)
class Nothing:
    """Nothing is owed any more: the version is gone, or its copy was settled otherwise."""


Outcome = Stored | Refused | Trouble | Nothing


@dataclass(frozen=True, slots=True)
class _Copy:
    """One copy under way: how the source is known, what of it may travel, and as whom."""

    source: Facts
    facts: Facts
    kind: Step
    region: str
    caller: Caller
    again: bool
    owner_override: bool


class Delivery:
    """From one bucket to one destination bucket."""

    def __init__(self, here: ReplicationHere, bucket: str, destination: str) -> None:
        self._here = here
        self._bucket = bucket
        self._destination = destination

    async def copy(self, task: Task, role: str, rules: Rules) -> Outcome:
        caller = self._here.assume(role)
        if caller is None:
            return Refused("AssumeRoleNotPermitted")
        region = self._here.region_of(self._destination)
        if region is None:
            return Refused("DstBucketNotFound")
        found = await self._here.store.get(Key(self._bucket, task.name), task.version)
        if found is None:
            return Nothing()
        try:
            return await self._copy(task, found, caller, region, rules)
        finally:
            found.close()

    async def _copy(self, task: Task, found: Found, caller: Caller, region: str, rules: Rules) -> Outcome:
        if found.facts.replication.get(self._destination) != "PENDING":
            return Nothing()
        kind = self._kind(found.facts)
        facts = self._readable(task.name, found.facts, kind, caller)
        if not isinstance(facts, Facts):
            return facts
        rule = governing(rules, task.name, found.facts.tags, self._destination)
        override = rule is not None and rule.owner_override
        copy = _Copy(found.facts, facts, kind, region, caller, task.again or task.attempts > 0, override)
        began = self._here.clock.monotonic()
        answer = await self._answered(task.name, copy, found)
        if isinstance(answer, Stored):
            return replace(answer, seconds=self._here.clock.monotonic() - began)
        return answer

    def _kind(self, facts: Facts) -> Step:
        if facts.marker:
            return "marker"
        if self._destination in copied_to(facts):
            return "tags"
        return "multipart" if facts.parts else "object"

    def _readable(self, name: str, facts: Facts, kind: Step, caller: Caller) -> Facts | Refused:
        """What the role may read of the source. Source: user guide, "Setting up permissions"."""
        if kind == "marker":
            return facts
        arn = object_arn(self._bucket, name)
        if not self._here.may(caller, "s3:GetObjectVersionForReplication", arn):
            return Refused("SrcGetObjectNotPermitted")
        if self._here.may(caller, "s3:GetObjectVersionTagging", arn):
            return facts
        if kind == "tags":
            return Refused("SrcGetTaggingNotPermitted")
        return replace(facts, tags={}, tags_ms=0)

    async def _answered(self, name: str, copy: _Copy, found: Found) -> Outcome:
        if copy.kind == "tags":
            return await self._sent(name, copy, EMPTY, only="facts")
        if copy.kind == "marker":
            return await self._sent(name, copy, EMPTY)
        if copy.again and copy.facts.size >= ASK_FIRST_MIN_BYTES:
            known = await self._sent(name, copy, EMPTY, only="question")
            if not isinstance(known, Nothing):
                return known
        return await self._sent(name, copy, found.body())

    async def _sent(self, name: str, copy: _Copy, body: Body, *, only: str = "") -> Outcome:
        """Nothing is the answer to a question whose version is not there."""
        request = self._request(name, copy, body, only)
        try:
            async with asyncio.timeout(DELIVERY_BASE_S + (body.length or 0) / DELIVERY_MIN_BYTES_PER_S):
                response = await self._here.peer(copy.region)(request)
                await response.body.read_small(ANSWER_MAX_BYTES)
        except (Upstream, TimeoutError) as error:
            return Trouble(f"{copy.region}: {str(error) or 'no answer in time'}", unreachable=True)
        except (ApiError, OSError) as error:  # our own disk while the bytes were read
            return Trouble(in_words(error) if isinstance(error, OSError) else str(error), unreachable=False)
        return _judged(response, copy, only)

    def _request(self, name: str, copy: _Copy, body: Body, only: str) -> Request:
        headers, body = form.written(copy.facts, body)
        if only:
            headers[form.ONLY] = only
        if copy.owner_override:
            headers[form.OWNER] = "destination"
        if BATCH in copy.source.notes:
            headers[form.BATCH] = "1"
        onward = Onward("127.0.0.1", secure=True, place=self._here.region, caller=copy.caller, replica=True)
        return Request("PUT", form.target(self._destination, name), headers, body, onward=onward)


def _judged(response: Response, copy: _Copy, only: str) -> Outcome:
    if response.status == 200 and form.OUTCOME in response.headers:
        return Stored(copy.source.tags_ms, copy.facts.size, 0.0)
    code = response.headers.get(form.CODE, "")
    if only == "question" and code == "NoSuchVersion":
        return Nothing()
    reason = permanent(code, copy.kind)
    if reason is not None:
        return Refused(reason)
    return Trouble(f"{copy.region} answered {response.status} {code}".rstrip(), unreachable=not code)
