"""Is this bucket here, and is it the one that the caller means? Every operation on a bucket asks first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from atoll.domain.call import Call
from atoll.domain.errors import ApiError
from atoll.domain.names import ACCOUNT, check_bucket_name
from atoll.services.s3.here import Here
from atoll.services.s3.records import BUCKETS, BucketRecord
from atoll.state import Change


def bucket_here(here: Here, call: Call, name: str, owner: str | None = None) -> BucketRecord:
    """The record of a bucket of this region.

    `owner` is x-amz-expected-bucket-owner. Raises NoSuchBucket, InvalidBucketName, PermanentRedirect (with the region that
    clients follow), InvalidBucketOwnerAWSAccountID or AccessDenied.
    """
    record = bucket_anywhere(here, name, owner)
    if record.region != here.region:
        raise elsewhere(call, record)
    return record


def bucket_anywhere(here: Here, name: str, owner: str | None = None) -> BucketRecord:
    """As bucket_here, in whichever region the bucket is."""
    record = here.locate(name)
    if record is None:
        check_bucket_name(name)
        raise no_such_bucket(name)
    if owner is not None:
        _check_owner(record, owner)
    return record


def no_such_bucket(name: str) -> ApiError:
    return ApiError("NoSuchBucket", "The specified bucket does not exist", BucketName=name)


def elsewhere(call: Call, record: BucketRecord) -> ApiError:
    return ApiError(
        "PermanentRedirect",
        "The bucket you are attempting to access must be addressed using the specified endpoint. "
        "Please send all future requests to this endpoint.",
        headers={} if by_access_point(call) else {"x-amz-bucket-region": record.region},
        Endpoint=f"{record.name}.s3.{record.region}.amazonaws.com",
        Bucket=record.name,
    )


def by_access_point(call: Call) -> bool:
    """Through a Multi-Region Access Point nobody learns where the bucket is: clients would go there past the access point."""
    onward = call.request.onward
    return onward is not None and bool(onward.access_point)


def _check_owner(record: BucketRecord, owner: str) -> None:
    if not ACCOUNT.fullmatch(owner):
        raise ApiError(
            "InvalidBucketOwnerAWSAccountID",
            "The value of the expected bucket owner parameter must be an AWS account ID",
        )
    if owner != record.account:
        raise ApiError("AccessDenied", "The bucket belongs to another account than the expected one.")


def still(here: Here, record: BucketRecord) -> BucketRecord:
    """The bucket's record as it is at this moment: versioning may have changed, or the bucket gone, while a body was read."""
    if record.name in here.leaving:
        raise aborted(record.name)
    now = here.locate(record.name)
    if now is None or now.created_ms != record.created_ms:
        raise no_such_bucket(record.name)
    return now


def aborted(name: str) -> ApiError:
    return ApiError(
        "OperationAborted",
        "A conflicting conditional operation is currently in progress against this resource. Please try again.",
        BucketName=name,
    )


Judge = Callable[[BucketRecord, Change], dict[str, Any]]


async def rewrite(here: Here, record: BucketRecord, judge: Judge) -> None:
    """Change fields of a bucket's record in one transaction. `judge` sees the records as they are then, and may refuse."""

    def change(change: Change) -> None:
        now = change.get(BUCKETS, record.name)
        if now is None or now.created_ms != record.created_ms:  # gone, or another one by now: not the bucket that was meant
            raise no_such_bucket(record.name)
        change.put(BUCKETS, record.name, msgspec.structs.replace(now, **judge(now, change)))

    await here.state.change(change)


async def configure(here: Here, record: BucketRecord, **fields: Any) -> None:
    """Set fields of a bucket's record, whatever they were."""
    await rewrite(here, record, lambda _now, _change: fields)
