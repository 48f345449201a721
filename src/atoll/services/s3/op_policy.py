"""What does a bucket's policy say, and does it let strangers in?"""

from __future__ import annotations

from typing import Any

from atoll.domain.call import Answer, Call
from atoll.domain.errors import ApiError
from atoll.rules import bodysum
from atoll.rules.policy.parse import parse
from atoll.rules.policy.public import is_public
from atoll.rules.policy.validate import check_bucket_policy, public_refused
from atoll.services.s3.buckets import bucket_here, configure, rewrite
from atoll.services.s3.here import Here
from atoll.services.s3.records import BucketRecord
from atoll.state import Change


async def GetBucketPolicy(here: Here, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None) -> Answer:
    """The text as it was received."""
    return Answer({"Policy": _text(_own(call, bucket_here(here, call, Bucket, ExpectedBucketOwner)))})


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
    here: Here,
    call: Call,
    *,
    Bucket: str,
    Policy: str | bytes | None = None,
    ContentMD5: str | None = None,
    ChecksumAlgorithm: str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> Answer:
    """Refuses what is malformed, and what is public where BlockPublicPolicy is on, for the bucket or its account."""
    record = _own(call, bucket_here(here, call, Bucket, ExpectedBucketOwner))
    bodysum.require(call.request.headers)
    text = Policy.decode(errors="replace") if isinstance(Policy, bytes) else Policy or ""
    policy = check_bucket_policy(text, Bucket, known=here.known)
    public, of_account = is_public(policy), here.account_block(record.account)

    def judge(now: BucketRecord, _change: Change) -> dict[str, Any]:
        """By the block as it is then: one that is put at the same moment is not slipped past."""
        block = now.public_access_block
        if public and (of_account.block_public_policy or (block is not None and block.block_public_policy)):
            raise public_refused()
        return {"policy": text}

    await rewrite(here, record, judge)
    return Answer(status=204)


async def DeleteBucketPolicy(here: Here, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None) -> Answer:
    await configure(here, _own(call, bucket_here(here, call, Bucket, ExpectedBucketOwner)), policy="")
    return Answer()


async def GetBucketPolicyStatus(here: Here, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None) -> Answer:
    text = _text(bucket_here(here, call, Bucket, ExpectedBucketOwner))
    return Answer({"PolicyStatus": {"IsPublic": is_public(parse(text, kind="resource"))}})
