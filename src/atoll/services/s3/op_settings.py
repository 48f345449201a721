"""How is a bucket set up? Versioning, public access block, ownership, access control lists, tags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from atoll.domain.call import Answer, Call
from atoll.domain.errors import ApiError, not_implemented
from atoll.domain.limits import BUCKET_TAGS_MAX
from atoll.rules import bodysum, owners, tags
from atoll.services.s3.buckets import bucket_here, configure, rewrite
from atoll.services.s3.here import Here
from atoll.services.s3.records import BucketRecord, PublicAccessBlock
from atoll.state import Change


async def GetBucketVersioning(here: Here, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None) -> Answer:
    """Never set is an empty answer."""
    record = bucket_here(here, call, Bucket, ExpectedBucketOwner)
    return Answer({"Status": record.versioning} if record.versioning else {})


async def PutBucketVersioning(
    here: Here,
    call: Call,
    *,
    Bucket: str,
    VersioningConfiguration: Mapping[str, Any] | None = None,
    ContentMD5: str | None = None,
    ChecksumAlgorithm: str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> Answer:
    """A source of replication stays Enabled."""
    record = bucket_here(here, call, Bucket, ExpectedBucketOwner)
    bodysum.require(call.request.headers)
    status = _versioning(VersioningConfiguration or {})

    def judge(now: BucketRecord, change: Change) -> dict[str, Any]:
        if status == "Suspended" and now.replication is not None:
            raise ApiError(
                "InvalidBucketState",
                "A replication configuration is present on this bucket, so you cannot change the versioning state. "
                "To change the versioning state, first delete the replication configuration.",
            )
        return {"versioning": status}

    await rewrite(here, record, judge)
    return Answer()


def _versioning(given: Mapping[str, Any]) -> str:
    if not given:
        raise ApiError(
            "IllegalVersioningConfigurationException", "The Versioning element must be specified"
        )
    if given.get("MFADelete") == "Enabled":
        raise not_implemented("MFA delete")
    if given.get("Status") not in ("Enabled", "Suspended"):
        raise ApiError("MalformedXML", "Status is Enabled or Suspended.")
    return str(given["Status"])


# Record field -> AWS's member
_SWITCHES = {
    "block_public_acls": "BlockPublicAcls",
    "ignore_public_acls": "IgnorePublicAcls",
    "block_public_policy": "BlockPublicPolicy",
    "restrict_public_buckets": "RestrictPublicBuckets",
}


async def GetPublicAccessBlock(here: Here, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None) -> Answer:
    block = bucket_here(here, call, Bucket, ExpectedBucketOwner).public_access_block
    if block is None:
        raise ApiError(
            "NoSuchPublicAccessBlockConfiguration", "The public access block configuration was not found", BucketName=Bucket
        )
    members = {member: getattr(block, name) for name, member in _SWITCHES.items()}
    return Answer({"PublicAccessBlockConfiguration": members})


async def PutPublicAccessBlock(
    here: Here,
    call: Call,
    *,
    Bucket: str,
    PublicAccessBlockConfiguration: Mapping[str, bool] | None = None,
    ContentMD5: str | None = None,
    ChecksumAlgorithm: str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> Answer:
    """A switch that is left out is off."""
    record = bucket_here(here, call, Bucket, ExpectedBucketOwner)
    bodysum.require(call.request.headers)
    if not PublicAccessBlockConfiguration:
        raise ApiError("MalformedXML", "A PublicAccessBlockConfiguration sets at least one switch.")
    block = PublicAccessBlock(*(PublicAccessBlockConfiguration.get(member, False) for member in _SWITCHES.values()))
    await configure(here, record, public_access_block=block)
    return Answer()


async def DeletePublicAccessBlock(here: Here, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None) -> Answer:
    await configure(here, bucket_here(here, call, Bucket, ExpectedBucketOwner), public_access_block=None)
    return Answer()


async def GetBucketOwnershipControls(
    here: Here, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None
) -> Answer:
    record = bucket_here(here, call, Bucket, ExpectedBucketOwner)
    if not record.ownership:
        raise ApiError(
            "OwnershipControlsNotFoundError", "The bucket ownership controls were not found", BucketName=Bucket
        )
    return Answer({"OwnershipControls": {"Rules": [{"ObjectOwnership": record.ownership}]}})


async def PutBucketOwnershipControls(
    here: Here,
    call: Call,
    *,
    Bucket: str,
    OwnershipControls: Mapping[str, Any] | None = None,
    ContentMD5: str | None = None,
    ChecksumAlgorithm: str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> Answer:
    record = bucket_here(here, call, Bucket, ExpectedBucketOwner)
    bodysum.require(call.request.headers)
    rules = [rule.get("ObjectOwnership") for rule in (OwnershipControls or {}).get("Rules") or ()]
    if rules in (["BucketOwnerPreferred"], ["ObjectWriter"]):
        raise not_implemented(f"the object ownership {rules[0]}")
    if rules != [owners.ENFORCED]:
        raise ApiError("MalformedXML", "Exactly one rule names the object ownership.")
    await configure(here, record, ownership=owners.ENFORCED)
    return Answer()


async def DeleteBucketOwnershipControls(
    here: Here, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None
) -> Answer:
    await configure(here, bucket_here(here, call, Bucket, ExpectedBucketOwner), ownership="")
    return Answer()


async def GetBucketAcl(here: Here, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None) -> Answer:
    record = bucket_here(here, call, Bucket, ExpectedBucketOwner)
    return Answer({"Owner": owners.owner(record.account), "Grants": owners.full_control(record.account)})


async def PutBucketAcl(
    here: Here,
    call: Call,
    *,
    Bucket: str,
    ACL: str | None = None,
    AccessControlPolicy: Mapping[str, Any] | None = None,
    ContentMD5: str | None = None,
    ChecksumAlgorithm: str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> Answer:
    """Lists are off: what says so is taken, everything else refused."""
    record = bucket_here(here, call, Bucket, ExpectedBucketOwner)
    bodysum.require(call.request.headers)
    check_acl(record, ACL, AccessControlPolicy)
    return Answer()


def check_acl(record: BucketRecord, acl: str | None, policy: Mapping[str, Any] | None) -> None:
    """Of PutBucketAcl and PutObjectAcl. Raises MissingSecurityHeader when neither says anything."""
    if acl is None and not policy:
        raise ApiError(
            "MissingSecurityHeader", "Your request was missing a required header", MissingHeaderName="x-amz-acl"
        )
    owners.check_canned(acl, record.ownership)
    if policy:
        owners.check_list(policy, record.account, record.ownership)


async def GetBucketTagging(here: Here, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None) -> Answer:
    record = bucket_here(here, call, Bucket, ExpectedBucketOwner)
    if not record.tags:
        raise ApiError("NoSuchTagSet", "The TagSet does not exist", BucketName=Bucket)
    return Answer({"TagSet": tags.tag_set(record.tags)})


async def PutBucketTagging(
    here: Here,
    call: Call,
    *,
    Bucket: str,
    Tagging: Mapping[str, Any] | None = None,
    ContentMD5: str | None = None,
    ChecksumAlgorithm: str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> Answer:
    """Replaces all tags."""
    record = bucket_here(here, call, Bucket, ExpectedBucketOwner)
    bodysum.require(call.request.headers)
    await configure(here, record, tags=tags.read((Tagging or {}).get("TagSet") or (), BUCKET_TAGS_MAX))
    return Answer(status=204)


async def DeleteBucketTagging(here: Here, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None) -> Answer:
    await configure(here, bucket_here(here, call, Bucket, ExpectedBucketOwner), tags={})
    return Answer()
