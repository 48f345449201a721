"""Finds the bucket of a call in this region, and checks that it is the one that the caller means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from atoll.control_store import Transaction
from atoll.domain.api_call import Call
from atoll.domain.errors import ApiError
from atoll.domain.resource_names import ACCOUNT, check_bucket_name
from atoll.services.s3.dependencies import Dependencies
from atoll.services.s3.records import BUCKETS, BucketRecord


def local_bucket(deps: Dependencies, call: Call, name: str, owner: str | None = None) -> BucketRecord:
    """The record of a bucket of this region.

    `owner` is x-amz-expected-bucket-owner. Raises NoSuchBucket, InvalidBucketName, PermanentRedirect (with the region that
    clients follow), InvalidBucketOwnerAWSAccountID or AccessDenied.
    """
    record = bucket_of_world(deps, name, owner)
    if record.region != deps.region:
        raise wrong_region_error(call, record)
    return record


def bucket_of_world(deps: Dependencies, name: str, owner: str | None = None) -> BucketRecord:
    """As bucket_here, in whichever region the bucket is."""
    record = deps.bucket_record(name)
    if record is None:
        check_bucket_name(name)
        raise no_such_bucket(name)
    if owner is not None:
        _check_owner(record, owner)
    return record


def no_such_bucket(name: str) -> ApiError:
    return ApiError("NoSuchBucket", "The specified bucket does not exist", BucketName=name)


def wrong_region_error(call: Call, record: BucketRecord) -> ApiError:
    return ApiError(
        "PermanentRedirect",
        "The bucket you are attempting to access must be addressed using the specified endpoint. "
        "Please send all future requests to this endpoint.",
        headers={} if is_via_access_point(call) else {"x-amz-bucket-region": record.region},
        Endpoint=f"{record.name}.s3.{record.region}.amazonaws.com",
        Bucket=record.name,
    )


def is_via_access_point(call: Call) -> bool:
    """Through a Multi-Region Access Point nobody learns where the bucket is: clients would go there past the access point."""
    forwarded = call.request.forwarded
    return forwarded is not None and bool(forwarded.access_point)


def _check_owner(record: BucketRecord, owner: str) -> None:
    if not ACCOUNT.fullmatch(owner):
        raise ApiError(
            "InvalidBucketOwnerAWSAccountID",
            "The value of the expected bucket owner parameter must be an AWS account ID",
        )
    if owner != record.account:
        raise ApiError("AccessDenied", "The bucket belongs to another account than the expected one.")


def unchanged_bucket(deps: Dependencies, record: BucketRecord) -> BucketRecord:
    """The bucket's record as it is at this moment: versioning may have changed, or the bucket gone, while a body was read."""
    if record.name in deps.leaving:
        raise operation_aborted_error(record.name)
    now = deps.bucket_record(record.name)
    if now is None or now.created_ms != record.created_ms:
        raise no_such_bucket(record.name)
    return now


def operation_aborted_error(name: str) -> ApiError:
    return ApiError(
        "OperationAborted",
        "A conflicting conditional operation is currently in progress against this resource. Please try again.",
        BucketName=name,
    )


Judge = Callable[[BucketRecord, Transaction], dict[str, Any]]


async def update_record(deps: Dependencies, record: BucketRecord, judge: Judge) -> None:
    """Change fields of a bucket's record in one transaction. `judge` sees the records as they are then, and may refuse."""

    def transaction(transaction: Transaction) -> None:
        now = transaction.get(BUCKETS, record.name)
        if now is None or now.created_ms != record.created_ms:  # gone, or another one by now: not the bucket that was meant
            raise no_such_bucket(record.name)
        transaction.put(BUCKETS, record.name, msgspec.structs.replace(now, **judge(now, transaction)))

    await deps.state.transact(transaction)


async def configure(deps: Dependencies, record: BucketRecord, **fields: Any) -> None:
    """Set fields of a bucket's record, whatever they were."""
    await update_record(deps, record, lambda _now, _change: fields)
