"""Operations on a bucket's policy."""

from __future__ import annotations

from typing import Any

from atoll.control_store import Transaction
from atoll.domain.api_call import Call, OperationOutput
from atoll.domain.errors import ApiError
from atoll.rules import checksum_headers
from atoll.rules.policy.parse import parse
from atoll.rules.policy.public_access import is_public
from atoll.rules.policy.validate import check_bucket_policy, public_refused
from atoll.services.s3.bucket_lookup import configure, local_bucket, update_record
from atoll.services.s3.dependencies import Dependencies
from atoll.services.s3.records import BucketRecord


async def GetBucketPolicy(deps: Dependencies, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None) -> OperationOutput:
    """The text as it was received."""
    return OperationOutput({"Policy": _text(_own(call, local_bucket(deps, call, Bucket, ExpectedBucketOwner)))})


def _own(call: Call, record: BucketRecord) -> BucketRecord:
    """The bucket, if it is the caller's account's. Raises MethodNotAllowed: whatever a policy says, it is read and changed
    from inside. Source: s3 API: GetBucketPolicy, PutBucketPolicy, DeleteBucketPolicy."""
    if call.account != record.account:
        raise ApiError(
            "MethodNotAllowed",
            "The specified method is not allowed against this resource.",
            Method=call.request.method,
            ResourceType="BUCKETPOLICY",
        )
    return record


def _text(record: BucketRecord) -> str:
    if not record.policy:
        raise ApiError("NoSuchBucketPolicy", "The bucket policy does not exist", BucketName=record.name)
    return record.policy


async def PutBucketPolicy(
    deps: Dependencies,
    call: Call,
    *,
    Bucket: str,
    Policy: str | bytes | None = None,
    ContentMD5: str | None = None,
    ChecksumAlgorithm: str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> OperationOutput:
    """Refuses what is malformed, and what is public where BlockPublicPolicy is on, for the bucket or its account."""
    record = _own(call, local_bucket(deps, call, Bucket, ExpectedBucketOwner))
    checksum_headers.require_checksum(call.request.headers)
    text = Policy.decode(errors="replace") if isinstance(Policy, bytes) else Policy or ""
    policy = check_bucket_policy(text, Bucket, principal_exists=deps.principal_exists)
    public, of_account = is_public(policy), deps.account_block(record.account)

    def judge(now: BucketRecord, _change: Transaction) -> dict[str, Any]:
        """By the block as it is then: one that is put at the same moment is not slipped past."""
        block = now.public_access_block
        if public and (of_account.block_public_policy or (block is not None and block.block_public_policy)):
            raise public_refused()
        return {"policy": text}

    await update_record(deps, record, judge)
    return OperationOutput(status=204)


async def DeleteBucketPolicy(deps: Dependencies, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None) -> OperationOutput:
    await configure(deps, _own(call, local_bucket(deps, call, Bucket, ExpectedBucketOwner)), policy="")
    return OperationOutput()


async def GetBucketPolicyStatus(deps: Dependencies, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None) -> OperationOutput:
    text = _text(local_bucket(deps, call, Bucket, ExpectedBucketOwner))
    return OperationOutput({"PolicyStatus": {"IsPublic": is_public(parse(text, kind="resource"))}})
