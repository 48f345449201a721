"""Takes a copy from another region and stores it as a version.

The internal operation at the destination: version id, times and stamp are taken as given, what arrives is verified before it
is stored, and a version that is here already is left as it is. An arrival owes no copies of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from atoll.domain.api_call import Call, OperationOutput
from atoll.domain.arn import object_arn
from atoll.domain.errors import ApiError
from atoll.domain.http_message import Body
from atoll.domain.interfaces import Store
from atoll.domain.objects import Key, ObjectMetadata
from atoll.rules import replica_request as form
from atoll.rules.replication_status import has_later_tags, is_conflict


@dataclass(slots=True)
class ReplicaCounters:
    """Counts of what came in. `clock_ahead_ms`: how far each peer's clock was last seen ahead of ours."""

    stored: int = 0
    bytes: int = 0
    replication_conflicts: int = 0
    clock_ahead_ms: dict[str, int] = field(default_factory=dict)


def _as_at_the_source(_bucket: str, _override: bool) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class ReplicaDependencies:
    """`versioning(bucket)`: Enabled, Suspended or "" for a bucket of this region, None for one that is not here.
    `owner(bucket, override)`: the account that a copy will belong to, "" when it stays with the owner of its source."""

    store: Store
    versioning: Callable[[str], str | None]
    replica_counters: ReplicaCounters = field(default_factory=ReplicaCounters)
    owner: Callable[[str, bool], str] = _as_at_the_source


async def receive(deps: ReplicaDependencies, call: Call, bucket: str, key: str) -> OperationOutput:
    """PUT of one version. Every refusal carries its code in a header, so that the sender knows who judged.

    Raises NoSuchBucket, InvalidBucketState (not versioned), AccessDenied, NoSuchVersion (metadata only, of a version that is
    not here), InvalidArgument, IncompleteBody, BadDigest.
    """
    try:
        outcome = await _received(deps, call, Key(bucket, key))
    except ApiError as error:
        error.headers.setdefault(form.CODE, error.code)
        raise
    call.log["copy"] = outcome
    return OperationOutput(status=200, headers={form.OUTCOME: outcome})


async def _received(deps: ReplicaDependencies, call: Call, key: Key) -> str:
    if call.request.forwarded is None or not call.request.forwarded.replica:
        raise ApiError("AccessDenied", "Copies are made by the regions of this world only.")
    _check_bucket(deps.versioning(key.bucket))
    metadata, body = await form.read(call.request.headers, call.body)
    call.log["version"] = metadata.version
    only = call.request.headers.get(form.ONLY, "")
    if not only:
        call.allow("s3:ReplicateDelete" if metadata.marker else "s3:ReplicateObject", object_arn(*key))
        metadata = _parse_hostname(deps, call, key, metadata)
    held = await deps.store.head(key, metadata.version)
    if held is not None:
        await _discard_body(body)
        return await _update_metadata(deps, call, key, held=held, theirs=metadata, insist=only == "facts")
    if only:
        raise ApiError("NoSuchVersion", "The version is not here.", Key=key.name, VersionId=metadata.version)
    return await _stored(deps, call, key, _without_forbidden_tags(call, key, metadata), body)


def _parse_hostname(deps: ReplicaDependencies, call: Call, key: Key, metadata: ObjectMetadata) -> ObjectMetadata:
    """Changing the owner of an object is a permission of its own; of a marker nobody reads anything. Source: S3 user guide,
    "Changing the replica owner"."""
    override = form.OWNER in call.request.headers
    if override and not metadata.marker:
        call.allow("s3:ObjectOwnerOverrideToBucketOwner", object_arn(*key))
    owner = deps.owner(key.bucket, override)
    return replace(metadata, owner=owner) if owner else metadata


def _check_bucket(versioning: str | None) -> None:
    if versioning is None:
        raise ApiError("NoSuchBucket", "The destination bucket does not exist in this region.")
    if versioning != "Enabled":
        raise ApiError("InvalidBucketState", "Versioning is not Enabled on the destination bucket.")


def _without_forbidden_tags(call: Call, key: Key, metadata: ObjectMetadata) -> ObjectMetadata:
    """Without s3:ReplicateTags the object goes without tags. Source: user guide, "Setting up permissions"."""
    if not metadata.tags or call.may("s3:ReplicateTags", object_arn(*key)):
        return metadata
    return replace(metadata, tags={}, tags_ms=0)


async def _discard_body(body: Body) -> None:
    """Read a body nobody needs to its end: the sender is in the middle of sending it."""
    async for _ in body:
        pass


async def _update_metadata(deps: ReplicaDependencies, call: Call, key: Key, *, held: ObjectMetadata, theirs: ObjectMetadata, insist: bool) -> str:
    """The version is here already: at most its tags are news. `insist`: missing permission is an error."""
    if not has_later_tags(held, theirs):
        return "known"
    if insist:
        call.allow("s3:ReplicateTags", object_arn(*key))
    elif not call.may("s3:ReplicateTags", object_arn(*key)):
        return "known"
    await deps.store.update_metadata(key, theirs.version, lambda mine: _with_later_tags(mine, theirs))
    return "amended"


def _with_later_tags(mine: ObjectMetadata, theirs: ObjectMetadata) -> ObjectMetadata:
    return replace(mine, tags=theirs.tags, tags_ms=theirs.tags_ms) if has_later_tags(mine, theirs) else mine


async def _stored(deps: ReplicaDependencies, call: Call, key: Key, metadata: ObjectMetadata, body: Body) -> str:
    verifier = form.ReplicaVerifier(metadata)
    stored = await deps.store.put(key, verifier.watch(body), verifier.verified_metadata)
    deps.replica_counters.stored += 1
    deps.replica_counters.bytes += stored.size
    _note_clock(deps.replica_counters, call, stored)
    if form.BATCH not in call.request.headers:
        _note_conflict(deps.replica_counters, call, await deps.store.head(key), stored)
    return "stored"


def _note_clock(replica_counters: ReplicaCounters, call: Call, stored: ObjectMetadata) -> None:
    if stored.stamp is not None:
        replica_counters.clock_ahead_ms[stored.stamp.origin_region] = max(0, stored.stamp.ms - call.now_ms)


def _note_conflict(replica_counters: ReplicaCounters, call: Call, current: ObjectMetadata | None, stored: ObjectMetadata) -> None:
    if current is not None and is_conflict(current, stored, call.region):
        replica_counters.replication_conflicts += 1
        call.log["replication_conflict"] = {"current": current.version, "arrived": stored.version}
