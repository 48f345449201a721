"""How does a copy from another region become a version here?

The internal operation at the destination: version id, times and stamp are taken as given, what arrives is verified before it
is stored, and a version that is here already is left as it is. An arrival owes no copies of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from atoll.domain.arn import object_arn
from atoll.domain.call import Answer, Call
from atoll.domain.errors import ApiError
from atoll.domain.message import Body
from atoll.domain.objects import Facts, Key
from atoll.domain.shapes import Store
from atoll.rules import replica_form as form
from atoll.rules.replication import conflict, later_tags


@dataclass(slots=True)
class Arrivals:
    """Counts of what came in. `lead_ms`: how far each peer's clock was last seen ahead of ours."""

    stored: int = 0
    bytes: int = 0
    replication_conflicts: int = 0
    lead_ms: dict[str, int] = field(default_factory=dict)


def _as_at_the_source(_bucket: str, _override: bool) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class ReplicaHere:
    """`versioning(bucket)`: Enabled, Suspended or "" for a bucket of this region, None for one that is not here.
    `owner(bucket, override)`: the account that a copy will belong to, "" when it stays with the owner of its source."""

    store: Store
    versioning: Callable[[str], str | None]
    arrivals: Arrivals = field(default_factory=Arrivals)
    owner: Callable[[str, bool], str] = _as_at_the_source


async def receive(here: ReplicaHere, call: Call, bucket: str, key: str) -> Answer:
    """PUT of one version. Every refusal carries its code in a header, so that the sender knows who judged.

    Raises NoSuchBucket, InvalidBucketState (not versioned), AccessDenied, NoSuchVersion (facts only, of a version that is
    not here), InvalidArgument, IncompleteBody, BadDigest.
    """
    try:
        outcome = await _received(here, call, Key(bucket, key))
    except ApiError as error:
        error.headers.setdefault(form.CODE, error.code)
        raise
    call.log["copy"] = outcome
    return Answer(status=200, headers={form.OUTCOME: outcome})


async def _received(here: ReplicaHere, call: Call, key: Key) -> str:
    if call.request.onward is None or not call.request.onward.replica:
        raise ApiError("AccessDenied", "Copies are made by the regions of this world only.")
    _check_bucket(here.versioning(key.bucket))
    facts, body = await form.read(call.request.headers, call.body)
    call.log["version"] = facts.version
    only = call.request.headers.get(form.ONLY, "")
    if not only:
        call.allow("s3:ReplicateDelete" if facts.marker else "s3:ReplicateObject", object_arn(*key))
        facts = _owned(here, call, key, facts)
    held = await here.store.head(key, facts.version)
    if held is not None:
        await _drained(body)
        return await _amended(here, call, key, held=held, theirs=facts, insist=only == "facts")
    if only:
        raise ApiError("NoSuchVersion", "The version is not here.", Key=key.name, VersionId=facts.version)
    return await _stored(here, call, key, _without_forbidden_tags(call, key, facts), body)


def _owned(here: ReplicaHere, call: Call, key: Key, facts: Facts) -> Facts:
    """Changing the owner of an object is a permission of its own; of a marker nobody reads anything. Source: S3 user guide,
    "Changing the replica owner"."""
    override = form.OWNER in call.request.headers
    if override and not facts.marker:
        call.allow("s3:ObjectOwnerOverrideToBucketOwner", object_arn(*key))
    owner = here.owner(key.bucket, override)
    return replace(facts, owner=owner) if owner else facts


def _check_bucket(versioning: str | None) -> None:
    if versioning is None:
        raise ApiError("NoSuchBucket", "The destination bucket does not exist in this region.")
    if versioning != "Enabled":
        raise ApiError("InvalidBucketState", "Versioning is not Enabled on the destination bucket.")


def _without_forbidden_tags(call: Call, key: Key, facts: Facts) -> Facts:
    """Without s3:ReplicateTags the object goes without tags. Source: user guide, "Setting up permissions"."""
    if not facts.tags or call.may("s3:ReplicateTags", object_arn(*key)):
        return facts
    return replace(facts, tags={}, tags_ms=0)


async def _drained(body: Body) -> None:
    """Read a body nobody needs to its end: the sender is in the middle of sending it."""
    async for _ in body:
        pass


async def _amended(here: ReplicaHere, call: Call, key: Key, *, held: Facts, theirs: Facts, insist: bool) -> str:
    """The version is here already: at most its tags are news. `insist`: missing permission is an error."""
    if not later_tags(held, theirs):
        return "known"
    if insist:
        call.allow("s3:ReplicateTags", object_arn(*key))
    elif not call.may("s3:ReplicateTags", object_arn(*key)):
        return "known"
    await here.store.amend(key, theirs.version, lambda mine: _with_later_tags(mine, theirs))
    return "amended"


def _with_later_tags(mine: Facts, theirs: Facts) -> Facts:
    return replace(mine, tags=theirs.tags, tags_ms=theirs.tags_ms) if later_tags(mine, theirs) else mine


async def _stored(here: ReplicaHere, call: Call, key: Key, facts: Facts, body: Body) -> str:
    arrival = form.Arrival(facts)
    stored = await here.store.put(key, arrival.watch(body), arrival.sealed)
    here.arrivals.stored += 1
    here.arrivals.bytes += stored.size
    _note_clock(here.arrivals, call, stored)
    if form.BATCH not in call.request.headers:
        _note_conflict(here.arrivals, call, await here.store.head(key), stored)
    return "stored"


def _note_clock(arrivals: Arrivals, call: Call, stored: Facts) -> None:
    if stored.stamp is not None:
        arrivals.lead_ms[stored.stamp.origin] = max(0, stored.stamp.ms - call.now_ms)


def _note_conflict(arrivals: Arrivals, call: Call, current: Facts | None, stored: Facts) -> None:
    if current is not None and conflict(current, stored, call.region):
        arrivals.replication_conflicts += 1
        call.log["replication_conflict"] = {"current": current.version, "arrived": stored.version}
