"""DeleteObject and DeleteObjects."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from atoll.domain import objects
from atoll.domain.api_call import Call, OperationOutput
from atoll.domain.errors import ApiError, not_implemented
from atoll.domain.http_message import EMPTY
from atoll.domain.objects import NULL_VERSION, Condition
from atoll.domain.quotas import DELETE_MAX_KEYS
from atoll.domain.resource_names import check_key
from atoll.rules import checksum_headers, conditional_requests
from atoll.rules.policy.required_actions import delete_required_actions
from atoll.services.s3.bucket_lookup import local_bucket
from atoll.services.s3.dependencies import Dependencies
from atoll.services.s3.new_version import new_delete_marker
from atoll.services.s3.records import BucketRecord
from atoll.services.s3.version_lookup import check_version

DELETES_AT_ONCE = 32  # of one DeleteObjects: enough for the store to commit them together


async def DeleteObject(
    deps: Dependencies,
    call: Call,
    *,
    Bucket: str,
    Key: str,
    VersionId: str | None = None,
    IfMatch: str | None = None,
    BypassGovernanceRetention: bool = False,
    ExpectedBucketOwner: str | None = None,
) -> OperationOutput:
    """A missing key or version is as good as a deleted one, so a delete that is repeated or raced succeeds."""
    record = local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    _check_bypass(deps, bypass=BypassGovernanceRetention)
    check_key(Key)
    version = check_version(record, VersionId)
    gone = await _delete_version(deps, call, record, Key, version=version, condition=conditional_requests.write_condition(IfMatch, None))
    members: dict[str, Any] = {}
    if gone is not None and gone.marker:
        members["DeleteMarker"] = True
    if record.versioning:
        members["VersionId"] = gone.version if gone is not None else version
    return OperationOutput({name: value for name, value in members.items() if value is not None}, 204)


async def _delete_version(
    deps: Dependencies, call: Call, record: BucketRecord, key: str, *, version: str | None, condition: Condition
) -> objects.ObjectMetadata | None:
    """The version that went, or the marker that came; None when there was nothing to do."""
    place = objects.Key(record.name, key)
    if version is not None or not record.versioning:
        return await deps.store.delete(place, version or NULL_VERSION, condition)
    return await deps.store.put(place, EMPTY, lambda: new_delete_marker(deps, call, record, key), condition)


async def DeleteObjects(
    deps: Dependencies,
    call: Call,
    *,
    Bucket: str,
    Delete: Mapping[str, Any] | None = None,
    ChecksumAlgorithm: str | None = None,
    BypassGovernanceRetention: bool = False,
    ExpectedBucketOwner: str | None = None,
) -> OperationOutput:
    """Every key has its own result; Quiet hides the successes."""
    record = local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    checksum_headers.require_checksum(call.request.headers)
    _check_bypass(deps, bypass=BypassGovernanceRetention)
    wanted: Sequence[Mapping[str, Any]] = (Delete or {}).get("Objects") or ()
    if not 1 <= len(wanted) <= DELETE_MAX_KEYS:
        raise ApiError("MalformedXML", f"Delete names 1 to {DELETE_MAX_KEYS} objects.")
    results = await _each(deps, call, record, wanted, bypass=BypassGovernanceRetention)
    deleted = [row for row in results if "Code" not in row]
    errors = [row for row in results if "Code" in row]
    members = {"Deleted": [] if (Delete or {}).get("Quiet") else deleted, "Errors": errors}
    return OperationOutput({name: rows for name, rows in members.items() if rows})


def _check_bypass(deps: Dependencies, *, bypass: bool) -> None:
    """No bucket has object lock here. AWS refuses the header then; clean-ups of tests that always send it must get on."""
    if bypass and deps.compat == "strict":
        raise ApiError(
            "InvalidArgument",
            "x-amz-bypass-governance-retention is only applicable to Object Lock enabled buckets.",
            ArgumentName="x-amz-bypass-governance-retention",
        )


async def _each(
    deps: Dependencies, call: Call, record: BucketRecord, wanted: Sequence[Mapping[str, Any]], *, bypass: bool
) -> list[dict[str, Any]]:
    """Results in order of the request, a few at work at the same time."""
    turn = asyncio.Semaphore(DELETES_AT_ONCE)

    async def one(entry: Mapping[str, Any]) -> dict[str, Any]:
        async with turn:
            return await _one(deps, call, record, entry, bypass=bypass)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(entry)) for entry in wanted]
    return [task.result() for task in tasks]


async def _one(
    deps: Dependencies, call: Call, record: BucketRecord, entry: Mapping[str, Any], *, bypass: bool
) -> dict[str, Any]:
    """A row of Deleted, or of Errors."""
    key, version = str(entry.get("Key") or ""), entry.get("VersionId") or None
    named = {"Key": key, **({"VersionId": version} if version else {})}
    try:
        condition = _condition(entry)
        check_key(key)
        for need in delete_required_actions(record.name, key, version=bool(version), bypass=bypass):
            call.allow(need.action, need.resource)
        gone = await _delete_version(deps, call, record, key, version=_known(record, key, version), condition=condition)
    except ApiError as error:
        return {**named, "Code": error.code, "Message": error.message}
    if gone is None or not gone.marker:
        return named
    return {**named, "DeleteMarker": True, "DeleteMarkerVersionId": gone.version}


def _condition(entry: Mapping[str, Any]) -> Condition:
    for member in ("LastModifiedTime", "Size"):
        if entry.get(member) is not None:
            raise not_implemented(f"{member} of a deleted object: directory buckets only")
    return conditional_requests.write_condition(entry.get("ETag"), None)


def _known(record: BucketRecord, key: str, version: str | None) -> str | None:
    """In DeleteObjects an id that no version can have is NoSuchVersion, not InvalidArgument, as AWS has it."""
    try:
        return check_version(record, version)
    except ApiError as error:
        raise ApiError("NoSuchVersion", "The specified version does not exist.", Key=key) from error
