"""How do buckets come, go and show themselves?"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from atoll.domain.arn import bucket_arn
from atoll.domain.call import Answer, Call
from atoll.domain.errors import ApiError, not_implemented
from atoll.domain.limits import BUCKET_TAGS_MAX, BUCKETS_MAX
from atoll.domain.names import check_bucket_name
from atoll.domain.objects import Key
from atoll.rules import birthplace, owners, tags, uploads
from atoll.services.s3.buckets import aborted, bucket_anywhere, bucket_here, by_access_point, elsewhere
from atoll.services.s3.here import Here
from atoll.services.s3.records import BUCKETS, BucketRecord
from atoll.state import Change

NOTHING = Key(uploads.area(""), "")  # no upload of any bucket lies there


async def CreateBucket(
    here: Here,
    call: Call,
    *,
    Bucket: str,
    ACL: str | None = None,
    CreateBucketConfiguration: Mapping[str, Any] | None = None,
    ObjectLockEnabledForBucket: bool = False,
    ObjectOwnership: str | None = None,
) -> Answer:
    """Names are unique in the world; the owner's second call is an answer, not an error, where S3 or rclone want it so."""
    check_bucket_name(Bucket)
    _check_ownership(ACL, ObjectOwnership)
    if ObjectLockEnabledForBucket:
        raise not_implemented("object lock: x-amz-bucket-object-lock-enabled")
    wanted = _configuration(CreateBucketConfiguration or {})
    known = here.locate(Bucket)
    if known is None:
        region = birthplace.region(wanted.get("LocationConstraint"), here=here.region, regions=here.regions)
        known = await _create(here, _record(here, call, Bucket, region, wanted))
    if known is not None:
        _check_again(here, call, known, wanted)
    return Answer({"Location": f"/{Bucket}", "BucketArn": bucket_arn(Bucket)})


def _check_ownership(acl: str | None, ownership: str | None) -> None:
    if ownership not in (None, owners.ENFORCED, "BucketOwnerPreferred", "ObjectWriter"):
        raise ApiError(
            "InvalidArgument",
            f"Invalid x-amz-object-ownership header: {ownership}",
            ArgumentName="x-amz-object-ownership",
        )
    if ownership not in (None, owners.ENFORCED):
        raise not_implemented(f"the object ownership {ownership}")
    if acl in owners.CANNED - owners.OWNER_ONLY:
        raise ApiError(
            "InvalidBucketAclWithObjectOwnership",
            "Bucket cannot have ACLs set with ObjectOwnership's BucketOwnerEnforced setting",
        )
    owners.check_canned(acl, owners.ENFORCED)


def _configuration(given: Mapping[str, Any]) -> Mapping[str, Any]:
    for member in given:
        if member not in ("LocationConstraint", "Tags"):
            raise not_implemented(f"CreateBucketConfiguration with {member}")
    return given


def _record(here: Here, call: Call, name: str, region: str, wanted: Mapping[str, Any]) -> BucketRecord:
    return BucketRecord(
        name=name,
        region=region,
        account=call.account,
        created_ms=call.now_ms,
        tags=tags.read(wanted.get("Tags") or (), BUCKET_TAGS_MAX),
    )


async def _create(here: Here, record: BucketRecord) -> BucketRecord | None:
    """None when it is made, the other one when the name was taken meanwhile."""

    def create(change: Change) -> BucketRecord | None:
        taken = change.get(BUCKETS, record.name)
        if taken is None:
            if sum(other.account == record.account for _, other in change.items(BUCKETS)) >= BUCKETS_MAX:
                raise ApiError("TooManyBuckets", "You have attempted to create more buckets than allowed")
            change.put(BUCKETS, record.name, record)
        return taken

    return await here.state.change(create)


def _check_again(here: Here, call: Call, known: BucketRecord, wanted: Mapping[str, Any]) -> None:
    """A second CreateBucket: fine at home in us-east-1, by decision 5 of s3.md elsewhere too, never with tags."""
    if known.account != call.account:
        raise ApiError("BucketAlreadyExists", "The requested bucket name is not available.", BucketName=known.name)
    fine = known.region == here.region and (here.region == birthplace.CLASSIC or here.compat == "lenient")
    if not fine or wanted.get("Tags"):
        raise ApiError(
            "BucketAlreadyOwnedByYou",
            "Your previous request to create the named bucket succeeded and you already own it.",
            BucketName=known.name,
        )


async def HeadBucket(here: Here, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None) -> Answer:
    record = bucket_here(here, call, Bucket, ExpectedBucketOwner)
    members = {"BucketArn": bucket_arn(Bucket), "AccessPointAlias": False}
    return Answer(members if by_access_point(call) else {**members, "BucketRegion": record.region})


async def GetBucketLocation(here: Here, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None) -> Answer:
    """us-east-1 answers for every bucket, as on AWS; a lenient world does so everywhere, because s3cmd asks before each call."""
    record = bucket_anywhere(here, Bucket, ExpectedBucketOwner)
    if here.region not in (record.region, birthplace.CLASSIC) and here.compat == "strict":
        raise elsewhere(call, record)
    return Answer({"LocationConstraint": birthplace.constraint_of(record.region)})


async def DeleteBucket(here: Here, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None) -> Answer:
    """Only an empty bucket goes; uploads in progress go with it."""
    record = bucket_here(here, call, Bucket, ExpectedBucketOwner)
    if here.attached(Bucket, record.account):
        raise ApiError(
            "BucketHasAccessPointsAttached", "The bucket is a member of a Multi-Region Access Point.", BucketName=Bucket
        )
    await _check_empty(here, Bucket)
    if Bucket in here.leaving:
        raise aborted(Bucket)
    here.leaving.add(Bucket)
    try:
        await here.store.drop(NOTHING)  # committed behind whatever was sealed before nothing more could be
        await _check_empty(here, Bucket)
        await here.state.change(lambda change: change.delete(BUCKETS, record.name))
        await here.store.drop(Key(uploads.area(Bucket), ""))
        await here.store.drop(Key(Bucket, ""))  # a copy from another region may have come meanwhile
    finally:
        here.leaving.discard(Bucket)
    return Answer()


async def _check_empty(here: Here, bucket: str) -> None:
    if await here.store.scan(bucket, limit=1, versions=True):
        raise ApiError("BucketNotEmpty", "The bucket you tried to delete is not empty", BucketName=bucket)


async def ListBuckets(
    here: Here,
    call: Call,
    *,
    Prefix: str | None = None,
    BucketRegion: str | None = None,
    MaxBuckets: int | None = None,
    ContinuationToken: str | None = None,
) -> Answer:
    """The account's buckets of all regions in order of their names; paged only when asked."""
    _check_filters(here, BucketRegion, MaxBuckets)
    after = _resume(ContinuationToken) if ContinuationToken else ""
    rows = [
        record
        for name, record in here.state.items(BUCKETS, Prefix or "")
        if record.account == call.account and name > after and BucketRegion in (None, record.region)
    ]
    page = rows[: MaxBuckets or len(rows)]
    members: dict[str, Any] = {
        "Owner": owners.owner(call.account),
        "Buckets": [_row(record) for record in page],
        "Prefix": Prefix,
        "ContinuationToken": _token(page[-1].name) if len(page) < len(rows) else None,
    }
    return Answer({name: value for name, value in members.items() if value is not None})


def _check_filters(here: Here, region: str | None, limit: int | None) -> None:
    if region is not None and region not in here.regions:
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
