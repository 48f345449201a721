"""Sends one version to another region, and understands the answer.

The role is taken, the source is read with the role's rights, and the copy goes to the destination's region, which judges it
with the same role. Only what the destination itself refused is final; whatever else goes wrong passes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from atoll.domain.arn import object_arn
from atoll.domain.caller import Caller, ForwardedContext
from atoll.domain.clock import Clock
from atoll.domain.errors import ApiError, Upstream
from atoll.domain.http_message import EMPTY, Body, Request, Response
from atoll.domain.interfaces import Handler, Store
from atoll.domain.objects import Key, ObjectMetadata, StoredObject
from atoll.domain.os_error_messages import in_words
from atoll.domain.quotas import KiB, MiB
from atoll.rules import replica_request as form
from atoll.rules.replication_status import (
    BATCH,
    FailureReason,
    Rules,
    Step,
    completed_destinations,
    governing_rule,
    permanent_reason,
)
from atoll.services.s3.change_notifier import ChangeNotifier
from atoll.services.s3.replication_queue import ReplicationTask

DELIVERY_BASE_S = 60  # a copy may take this long, and longer by its size at the slowest rate
DELIVERY_MIN_BYTES_PER_S = 64 * KiB
RESPONSE_MAX_BYTES = 64 * KiB  # an error document
ASK_FIRST_MIN_BYTES = 1 * MiB  # what may have arrived already is asked for before so many bytes are sent again


@dataclass(frozen=True, slots=True)
class ReplicationDependencies:
    """What replication is given by the node.

    `configured()`: bucket, rules and role ARN of every local bucket with a replication configuration. `changed()` returns
    when that may have changed since its last return. `local()`: all buckets of this region. `region_of(bucket)` None: no
    such bucket in the world. `peer(region)` sends to that region's node (raises Upstream). `assume(role ARN)` None: the
    role does not trust s3.amazonaws.com or is gone. `may(caller, action, ARN)` judges in this region. `uniform()` in 0..1.
    `published`: seconds of lag to reproduce (profile aws), empty for none. `change_notifier` is rung by whoever writes to the store.
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
    uniform: Callable[[], float]
    log: Callable[[dict[str, object]], None]
    published: Sequence[float] = ()
    change_notifier: ChangeNotifier = field(default_factory=ChangeNotifier)


@dataclass(frozen=True, slots=True)
class Delivered:
    """The destination has it. `tags_ms` tells which tags were sent."""

    tags_ms: int
    size: int
    seconds: float


@dataclass(frozen=True, slots=True)
class PermanentFailure:
    reason: FailureReason


@dataclass(frozen=True, slots=True)
class TransientFailure:
    """To be tried again. `unreachable`: the region as a whole, not this one object."""

    why: str
    unreachable: bool


@dataclass(frozen=True, slots=True)
class NothingPending:
    """Nothing is owed any more: the version is gone, or its copy was settled otherwise."""


DeliveryOutcome = Delivered | PermanentFailure | TransientFailure | NothingPending


@dataclass(frozen=True, slots=True)
class _Copy:
    """One copy under way: how the source is known, what of it may travel, and as whom."""

    source: ObjectMetadata
    metadata: ObjectMetadata
    kind: Step
    region: str
    caller: Caller
    again: bool
    owner_override: bool


class ReplicaSender:
    """From one bucket to one destination bucket."""

    def __init__(self, deps: ReplicationDependencies, bucket: str, destination: str) -> None:
        self._deps = deps
        self._bucket = bucket
        self._destination = destination

    async def copy(self, task: ReplicationTask, role: str, rules: Rules) -> DeliveryOutcome:
        caller = self._deps.assume(role)
        if caller is None:
            return PermanentFailure("AssumeRoleNotPermitted")
        region = self._deps.region_of(self._destination)
        if region is None:
            return PermanentFailure("DstBucketNotFound")
        found = await self._deps.store.get(Key(self._bucket, task.name), task.version)
        if found is None:
            return NothingPending()
        try:
            return await self._copy(task, found, caller, region, rules)
        finally:
            found.close()

    async def _copy(self, task: ReplicationTask, found: StoredObject, caller: Caller, region: str, rules: Rules) -> DeliveryOutcome:
        if found.metadata.replication.get(self._destination) != "PENDING":
            return NothingPending()
        kind = self._kind(found.metadata)
        metadata = self._readable(task.name, found.metadata, kind, caller)
        if not isinstance(metadata, ObjectMetadata):
            return metadata
        rule = governing_rule(rules, task.name, found.metadata.tags, self._destination)
        override = rule is not None and rule.owner_override
        copy = _Copy(found.metadata, metadata, kind, region, caller, task.again or task.attempts > 0, override)
        began = self._deps.clock.monotonic()
        response = await self._replicate(task.name, copy, found)
        if isinstance(response, Delivered):
            return replace(response, seconds=self._deps.clock.monotonic() - began)
        return response

    def _kind(self, metadata: ObjectMetadata) -> Step:
        if metadata.marker:
            return "marker"
        if self._destination in completed_destinations(metadata):
            return "tags"
        return "multipart" if metadata.parts else "object"

    def _readable(self, name: str, metadata: ObjectMetadata, kind: Step, caller: Caller) -> ObjectMetadata | PermanentFailure:
        """What the role may read of the source. Source: user guide, "Setting up permissions"."""
        if kind == "marker":
            return metadata
        arn = object_arn(self._bucket, name)
        if not self._deps.may(caller, "s3:GetObjectVersionForReplication", arn):
            return PermanentFailure("SrcGetObjectNotPermitted")
        if self._deps.may(caller, "s3:GetObjectVersionTagging", arn):
            return metadata
        if kind == "tags":
            return PermanentFailure("SrcGetTaggingNotPermitted")
        return replace(metadata, tags={}, tags_ms=0)

    async def _replicate(self, name: str, copy: _Copy, found: StoredObject) -> DeliveryOutcome:
        if copy.kind == "tags":
            return await self._sent(name, copy, EMPTY, only="facts")
        if copy.kind == "marker":
            return await self._sent(name, copy, EMPTY)
        if copy.again and copy.metadata.size >= ASK_FIRST_MIN_BYTES:
            known = await self._sent(name, copy, EMPTY, only="question")
            if not isinstance(known, NothingPending):
                return known
        return await self._sent(name, copy, found.body())

    async def _sent(self, name: str, copy: _Copy, body: Body, *, only: str = "") -> DeliveryOutcome:
        """Nothing is the answer to a question whose version is not there."""
        request = self._request(name, copy, body, only)
        try:
            async with asyncio.timeout(DELIVERY_BASE_S + (body.length or 0) / DELIVERY_MIN_BYTES_PER_S):
                response = await self._deps.peer(copy.region)(request)
                await response.body.read_small(RESPONSE_MAX_BYTES)
        except (Upstream, TimeoutError) as error:
            return TransientFailure(f"{copy.region}: {str(error) or 'no answer in time'}", unreachable=True)
        except (ApiError, OSError) as error:  # our own disk while the bytes were read
            return TransientFailure(in_words(error) if isinstance(error, OSError) else str(error), unreachable=False)
        return _judged(response, copy, only)

    def _request(self, name: str, copy: _Copy, body: Body, only: str) -> Request:
        headers, body = form.encode_replica(copy.metadata, body)
        if only:
            headers[form.ONLY] = only
        if copy.owner_override:
            headers[form.OWNER] = "destination"
        if BATCH in copy.source.notes:
            headers[form.BATCH] = "1"
        forwarded = ForwardedContext("127.0.0.1", secure=True, place=self._deps.region, caller=copy.caller, replica=True)
        return Request("PUT", form.target(self._destination, name), headers, body, forwarded=forwarded)


def _judged(response: Response, copy: _Copy, only: str) -> DeliveryOutcome:
    if response.status == 200 and form.OUTCOME in response.headers:
        return Delivered(copy.source.tags_ms, copy.metadata.size, 0.0)
    code = response.headers.get(form.CODE, "")
    if only == "question" and code == "NoSuchVersion":
        return NothingPending()
    reason = permanent_reason(code, copy.kind)
    if reason is not None:
        return PermanentFailure(reason)
    return TransientFailure(f"{copy.region} answered {response.status} {code}".rstrip(), unreachable=not code)
