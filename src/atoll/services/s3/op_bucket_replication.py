"""Operations on a bucket's replication configuration; the copying is replication.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from atoll.control_store import Transaction
from atoll.domain.api_call import Call, OperationOutput
from atoll.domain.arn import account_in
from atoll.domain.errors import ApiError
from atoll.rules import checksum_headers, replication_status
from atoll.services.s3.bucket_lookup import local_bucket, update_record
from atoll.services.s3.dependencies import Dependencies
from atoll.services.s3.records import BUCKETS, BucketRecord


async def GetBucketReplication(deps: Dependencies, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None) -> OperationOutput:
    record = local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    if record.replication is None:
        raise ApiError(
            "ReplicationConfigurationNotFoundError", "The replication configuration was not found", BucketName=Bucket
        )
    return OperationOutput({"ReplicationConfiguration": record.replication})


async def PutBucketReplication(
    deps: Dependencies,
    call: Call,
    *,
    Bucket: str,
    ReplicationConfiguration: Mapping[str, Any] | None = None,
    ContentMD5: str | None = None,
    ChecksumAlgorithm: str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> OperationOutput:
    """Replaces the whole configuration; the caller must be allowed to hand its role to S3."""
    record = local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    checksum_headers.require_checksum(call.request.headers)
    rules = replication_status.parse(ReplicationConfiguration or {})
    if account_in(rules.role) != record.account:
        raise ApiError("AccessDenied", "Cross-account pass role is not allowed.")
    call.allow("iam:PassRole", rules.role)
    members = replication_status.named(ReplicationConfiguration or {})

    def judge(now: BucketRecord, transaction: Transaction) -> dict[str, Any]:
        replication_status.check(rules, Bucket, _settings(now), lambda name: _settings_of(transaction, name))
        return {"replication": members, "replication_version": now.replication_version + 1}

    await update_record(deps, record, judge)
    return OperationOutput()


def _settings_of(transaction: Transaction, name: str) -> replication_status.BucketSettings | None:
    record = transaction.get(BUCKETS, name)
    return None if record is None else _settings(record)


def _settings(record: BucketRecord) -> replication_status.BucketSettings:
    return replication_status.BucketSettings(versioning=record.versioning, owner=record.account)


async def DeleteBucketReplication(deps: Dependencies, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None) -> OperationOutput:
    record = local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    if record.replication is not None:
        await update_record(deps, record, _unconfigured)
    return OperationOutput()


def _unconfigured(now: BucketRecord, _change: Transaction) -> dict[str, Any]:
    """The version rises from what it is inside the transaction: two configurations never share one."""
    return {} if now.replication is None else {"replication": None, "replication_version": now.replication_version + 1}
