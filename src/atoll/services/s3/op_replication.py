"""Where do this bucket's objects go? The configuration; the copying is replication.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from atoll.domain.arn import account_in
from atoll.domain.call import Answer, Call
from atoll.domain.errors import ApiError
from atoll.rules import bodysum, replication
from atoll.services.s3.buckets import bucket_here, rewrite
from atoll.services.s3.here import Here
from atoll.services.s3.records import BUCKETS, BucketRecord
from atoll.state import Change


async def GetBucketReplication(here: Here, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None) -> Answer:
    record = bucket_here(here, call, Bucket, ExpectedBucketOwner)
    if record.replication is None:
        raise ApiError(
            "ReplicationConfigurationNotFoundError", "The replication configuration was not found", BucketName=Bucket
        )
    return Answer({"ReplicationConfiguration": record.replication})


async def PutBucketReplication(
    here: Here,
    call: Call,
    *,
    Bucket: str,
    ReplicationConfiguration: Mapping[str, Any] | None = None,
    ContentMD5: str | None = None,
    ChecksumAlgorithm: str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> Answer:
    """Replaces the whole configuration; the caller must be allowed to hand its role to S3."""
    record = bucket_here(here, call, Bucket, ExpectedBucketOwner)
    bodysum.require(call.request.headers)
    rules = replication.parse(ReplicationConfiguration or {})
    if account_in(rules.role) != record.account:
        raise ApiError("AccessDenied", "Cross-account pass role is not allowed.")
    call.allow("iam:PassRole", rules.role)
    members = replication.named(ReplicationConfiguration or {})

    def judge(now: BucketRecord, change: Change) -> dict[str, Any]:
        replication.check(rules, Bucket, _side(now), lambda name: _side_of(change, name))
        return {"replication": members, "replication_version": now.replication_version + 1}

    await rewrite(here, record, judge)
    return Answer()


def _side_of(change: Change, name: str) -> replication.Side | None:
    record = change.get(BUCKETS, name)
    return None if record is None else _side(record)


def _side(record: BucketRecord) -> replication.Side:
    return replication.Side(versioning=record.versioning, owner=record.account)


async def DeleteBucketReplication(here: Here, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None) -> Answer:
    record = bucket_here(here, call, Bucket, ExpectedBucketOwner)
    if record.replication is not None:
        await rewrite(here, record, _unconfigured)
    return Answer()


def _unconfigured(now: BucketRecord, _change: Change) -> dict[str, Any]:
    """The version rises from what it is inside the transaction: two configurations never share one."""
    return {} if now.replication is None else {"replication": None, "replication_version": now.replication_version + 1}
