"""CreateBucket, DeleteBucket, HeadBucket, ListBuckets and GetBucketLocation."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from atoll.control_store import Transaction
from atoll.domain.api_call import Call, OperationOutput
from atoll.domain.arn import bucket_arn
from atoll.domain.errors import ApiError, not_implemented
from atoll.domain.objects import Key
from atoll.domain.quotas import BUCKET_TAGS_MAX, BUCKETS_MAX
from atoll.domain.resource_names import check_bucket_name
from atoll.rules import access_control_lists, bucket_location, multipart_uploads, tag_sets
from atoll.services.s3.bucket_lookup import (
    bucket_of_world,
    is_via_access_point,
    local_bucket,
    operation_aborted_error,
    wrong_region_error,
)
from atoll.services.s3.dependencies import Dependencies
from atoll.services.s3.records import BUCKETS, BucketRecord

NOTHING = Key(multipart_uploads.uploads_area(""), "")  # no upload of any bucket lies there


async def CreateBucket(
    deps: Dependencies,
    call: Call,
    *,
    Bucket: str,
    ACL: str | None = None,
    CreateBucketConfiguration: Mapping[str, Any] | None = None,
    ObjectLockEnabledForBucket: bool = False,
    ObjectOwnership: str | None = None,
) -> OperationOutput:
    """Names are unique in the world; the owner's second call is an answer, not an error, where S3 or rclone want it so."""
    check_bucket_name(Bucket)
    _check_ownership(ACL, ObjectOwnership)
    if ObjectLockEnabledForBucket:
        raise not_implemented("object lock: x-amz-bucket-object-lock-enabled")
    wanted = _configuration(CreateBucketConfiguration or {})
    known = deps.bucket_record(Bucket)
    if known is None:
        region = bucket_location.resolve_region(wanted.get("LocationConstraint"), region_name=deps.region, regions=deps.regions)
        known = await _create(deps, _record(deps, call, Bucket, region, wanted))
    if known is not None:
        _check_again(deps, call, known, wanted)
    return OperationOutput({"Location": f"/{Bucket}", "BucketArn": bucket_arn(Bucket)})


def _check_ownership(acl: str | None, ownership: str | None) -> None:
    if ownership not in (None, access_control_lists.ENFORCED, "BucketOwnerPreferred", "ObjectWriter"):
        raise ApiError(
            "InvalidArgument",
            f"Invalid x-amz-object-ownership header: {ownership}",
            ArgumentName="x-amz-object-ownership",
        )
    if ownership not in (None, access_control_lists.ENFORCED):
        raise not_implemented(f"the object ownership {ownership}")
    if acl in access_control_lists.CANNED - access_control_lists.OWNER_ONLY:
        raise ApiError(
            "InvalidBucketAclWithObjectOwnership",
            "Bucket cannot have ACLs set with ObjectOwnership's BucketOwnerEnforced setting",
        )
    access_control_lists.check_canned(acl, access_control_lists.ENFORCED)


def _configuration(given: Mapping[str, Any]) -> Mapping[str, Any]:
    for member in given:
        if member not in ("LocationConstraint", "Tags"):
            raise not_implemented(f"CreateBucketConfiguration with {member}")
    return given


def _record(deps: Dependencies, call: Call, name: str, region: str, wanted: Mapping[str, Any]) -> BucketRecord:
    return BucketRecord(
        name=name,
        region=region,
        account=call.account,
        created_ms=call.now_ms,
        tags=tag_sets.read(wanted.get("Tags") or (), BUCKET_TAGS_MAX),
    )


async def _create(deps: Dependencies, record: BucketRecord) -> BucketRecord | None:
    """None when it is made, the other one when the name was taken meanwhile."""

    def create(transaction: Transaction) -> BucketRecord | None:
        taken = transaction.get(BUCKETS, record.name)
        if taken is None:
            if sum(other.account == record.account for _, other in transaction.items(BUCKETS)) >= BUCKETS_MAX:
                raise ApiError("TooManyBuckets", "You have attempted to create more buckets than allowed")
            transaction.put(BUCKETS, record.name, record)
        return taken

    return await deps.state.transact(create)


def _check_again(deps: Dependencies, call: Call, known: BucketRecord, wanted: Mapping[str, Any]) -> None:
    """A second CreateBucket: fine at home in us-east-1, by decision 5 of s3.md elsewhere too, never with tags."""
    if known.account != call.account:
        raise ApiError("BucketAlreadyExists", "The requested bucket name is not available.", BucketName=known.name)
    fine = known.region == deps.region and (deps.region == bucket_location.CLASSIC or deps.compat == "lenient")
    if not fine or wanted.get("Tags"):
        raise ApiError(
            "BucketAlreadyOwnedByYou",
            "Your previous request to create the named bucket succeeded and you already own it.",
            BucketName=known.name,
        )


async def HeadBucket(deps: Dependencies, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None) -> OperationOutput:
    record = local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    members = {"BucketArn": bucket_arn(Bucket), "AccessPointAlias": False}
    return OperationOutput(members if is_via_access_point(call) else {**members, "BucketRegion": record.region})


async def GetBucketLocation(deps: Dependencies, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None) -> OperationOutput:
    """us-east-1 answers for every bucket, as on AWS; a lenient world does so everywhere, because s3cmd asks before each call."""
    record = bucket_of_world(deps, Bucket, ExpectedBucketOwner)
    if deps.region not in (record.region, bucket_location.CLASSIC) and deps.compat == "strict":
        raise wrong_region_error(call, record)
    return OperationOutput({"LocationConstraint": bucket_location.location_constraint(record.region)})


async def DeleteBucket(deps: Dependencies, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None) -> OperationOutput:
    """Only an empty bucket goes; uploads in progress go with it."""
    record = local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    if deps.has_access_point(Bucket, record.account):
        raise ApiError(
            "BucketHasAccessPointsAttached", "The bucket is a member of a Multi-Region Access Point.", BucketName=Bucket
        )
    await _check_empty(deps, Bucket)
    if Bucket in deps.leaving:
        raise operation_aborted_error(Bucket)
    deps.leaving.add(Bucket)
    try:
        await deps.store.drop(NOTHING)  # committed behind whatever was sealed before nothing more could be
        await _check_empty(deps, Bucket)
        await deps.state.transact(lambda transaction: transaction.delete(BUCKETS, record.name))
        await deps.store.drop(Key(multipart_uploads.uploads_area(Bucket), ""))
        await deps.store.drop(Key(Bucket, ""))  # a copy from another region may have come meanwhile
    finally:
        deps.leaving.discard(Bucket)
    return OperationOutput()


async def _check_empty(deps: Dependencies, bucket: str) -> None:
    if await deps.store.scan(bucket, limit=1, versions=True):
        raise ApiError("BucketNotEmpty", "The bucket you tried to delete is not empty", BucketName=bucket)


async def ListBuckets(
    deps: Dependencies,
    call: Call,
    *,
    Prefix: str | None = None,
    BucketRegion: str | None = None,
    MaxBuckets: int | None = None,
    ContinuationToken: str | None = None,
) -> OperationOutput:
    """The account's buckets of all regions in order of their names; paged only when asked."""
    _check_filters(deps, BucketRegion, MaxBuckets)
    after = _resume(ContinuationToken) if ContinuationToken else ""
    rows = [
        record
        for name, record in deps.state.items(BUCKETS, Prefix or "")
        if record.account == call.account and name > after and BucketRegion in (None, record.region)
    ]
    page = rows[: MaxBuckets or len(rows)]
    members: dict[str, Any] = {
        "Owner": access_control_lists.owner(call.account),
        "Buckets": [_row(record) for record in page],
        "Prefix": Prefix,
        "ContinuationToken": _token(page[-1].name) if len(page) < len(rows) else None,
    }
    return OperationOutput({name: value for name, value in members.items() if value is not None})


def _check_filters(deps: Dependencies, region: str | None, limit: int | None) -> None:
    if region is not None and region not in deps.regions:
        raise ApiError(
            "InvalidArgument", f"Argument value {region} is not a valid AWS Region", ArgumentName="bucket-region"
        )
    if limit is not None and not 1 <= limit <= BUCKETS_MAX:
        raise ApiError(
            "InvalidArgument",
            f"Argument max-buckets must be an integer between 1 and {BUCKETS_MAX}",
            ArgumentName="max-buckets",
            ArgumentValue=str(limit),
        )


def _row(record: BucketRecord) -> dict[str, Any]:
    return {
        "Name": record.name,
        "CreationDate": datetime.fromtimestamp(record.created_ms / 1000, UTC),
        "BucketRegion": record.region,
        "BucketArn": bucket_arn(record.name),
    }


def _token(name: str) -> str:
    return base64.urlsafe_b64encode(name.encode()).decode()


def _resume(token: str) -> str:
    try:
        return check_bucket_name(base64.b64decode(token, altchars=b"-_", validate=True).decode())
    except (binascii.Error, ValueError, ApiError) as error:
        raise ApiError(
            "InvalidArgument", "The continuation token provided is incorrect", ArgumentName="continuation-token"
        ) from error
