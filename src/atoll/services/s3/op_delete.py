"""How do objects, versions and markers go?"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from atoll.domain import objects
from atoll.domain.arn import object_arn
from atoll.domain.call import Answer, Call
from atoll.domain.errors import ApiError, not_implemented
from atoll.domain.limits import DELETE_MAX_KEYS
from atoll.domain.message import EMPTY
from atoll.domain.names import check_key
from atoll.domain.objects import ALWAYS, NULL_VERSION, Condition
from atoll.rules import bodysum, conditional
from atoll.services.s3.buckets import bucket_here
from atoll.services.s3.here import Here
from atoll.services.s3.records import BucketRecord
from atoll.services.s3.versions import check_version
from atoll.services.s3.writing import grave

DELETES_AT_ONCE = 32  # of one DeleteObjects: enough for the store to commit them together


async def DeleteObject(
    here: Here,
    call: Call,
    *,
    Bucket: str,
    Key: str,
    VersionId: str | None = None,
    IfMatch: str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> Answer:
    """A missing key is as good as a deleted one."""
    record = bucket_here(here, call, Bucket, ExpectedBucketOwner)
    check_key(Key)
    version = check_version(record, VersionId)
    gone = await _remove(here, call, record, Key, version=version, condition=conditional.write_condition(IfMatch, None))
    members: dict[str, Any] = {}
    if gone is not None and gone.marker:
        members["DeleteMarker"] = True
    if record.versioning:
        members["VersionId"] = gone.version if gone is not None else version
    return Answer({name: value for name, value in members.items() if value is not None}, 204)


async def _remove(
    here: Here, call: Call, record: BucketRecord, key: str, *, version: str | None, condition: Condition
) -> objects.Facts | None:
    """The version that went, or the marker that came; None when there was nothing to do."""
    place = objects.Key(record.name, key)
    if version is not None or not record.versioning:
        return await here.store.delete(place, version or NULL_VERSION, condition)
    return await here.store.put(place, EMPTY, lambda: grave(here, call, record, key), condition)


async def DeleteObjects(
    here: Here,
    call: Call,
    *,
    Bucket: str,
    Delete: Mapping[str, Any] | None = None,
    ChecksumAlgorithm: str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> Answer:
    """Every key has its own result; Quiet hides the successes."""
    record = bucket_here(here, call, Bucket, ExpectedBucketOwner)
    bodysum.require(call.request.headers)
    wanted: Sequence[Mapping[str, Any]] = (Delete or {}).get("Objects") or ()
    if not 1 <= len(wanted) <= DELETE_MAX_KEYS:
        raise ApiError("MalformedXML", f"Delete names 1 to {DELETE_MAX_KEYS} objects.")
    results = await _each(here, call, record, wanted)
    deleted = [row for row in results if "Code" not in row]
    errors = [row for row in results if "Code" in row]
    members = {"Deleted": [] if (Delete or {}).get("Quiet") else deleted, "Errors": errors}
    return Answer({name: rows for name, rows in members.items() if rows})


async def _each(
    here: Here, call: Call, record: BucketRecord, wanted: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Results in order of the request, a few at work at the same time."""
    turn = asyncio.Semaphore(DELETES_AT_ONCE)

    async def one(entry: Mapping[str, Any]) -> dict[str, Any]:
        async with turn:
            return await _one(here, call, record, entry)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(entry)) for entry in wanted]
    return [task.result() for task in tasks]


async def _one(here: Here, call: Call, record: BucketRecord, entry: Mapping[str, Any]) -> dict[str, Any]:
    """A row of Deleted, or of Errors."""
    key, version = str(entry.get("Key") or ""), entry.get("VersionId") or None
    named = {"Key": key, **({"VersionId": version} if version else {})}
    try:
        condition = _condition(entry)
        check_key(key)
        call.allow("s3:DeleteObjectVersion" if version else "s3:DeleteObject", object_arn(record.name, key))
        gone = await _remove(here, call, record, key, version=_known(record, key, version), condition=condition)
    except ApiError as error:
        return {**named, "Code": error.code, "Message": error.message}
    if gone is None and version and condition is ALWAYS:
        return {**named, "Code": "NoSuchVersion", "Message": "The specified version does not exist."}
    if gone is None or not gone.marker:
        return named
    return {**named, "DeleteMarker": True, "DeleteMarkerVersionId": gone.version}


def _condition(entry: Mapping[str, Any]) -> Condition:
    for member in ("LastModifiedTime", "Size"):
        if entry.get(member) is not None:
            raise not_implemented(f"{member} of a deleted object: directory buckets only")
    return conditional.write_condition(entry.get("ETag"), None)


def _known(record: BucketRecord, key: str, version: str | None) -> str | None:
    """In DeleteObjects an impossible version id is a version that does not exist."""
    try:
        return check_version(record, version)
    except ApiError as error:
        raise ApiError("NoSuchVersion", "The specified version does not exist.", Key=key) from error
