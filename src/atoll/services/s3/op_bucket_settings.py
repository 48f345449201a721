"""Operations on a bucket's settings: versioning, public access block, ownership, access control lists, tags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from atoll.control_store import Transaction
from atoll.domain.api_call import Call, OperationOutput
from atoll.domain.errors import ApiError, not_implemented
from atoll.domain.quotas import BUCKET_TAGS_MAX
from atoll.rules import access_control_lists, checksum_headers, tag_sets
from atoll.services.s3.bucket_lookup import configure, local_bucket, update_record
from atoll.services.s3.dependencies import Dependencies
from atoll.services.s3.records import BucketRecord, PublicAccessBlock


async def GetBucketVersioning(deps: Dependencies, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None) -> OperationOutput:
    """Never set is an empty answer."""
    record = local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    return OperationOutput({"Status": record.versioning} if record.versioning else {})


async def PutBucketVersioning(
    deps: Dependencies,
    call: Call,
    *,
    Bucket: str,
    VersioningConfiguration: Mapping[str, Any] | None = None,
    ContentMD5: str | None = None,
    ChecksumAlgorithm: str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> OperationOutput:
    """A source of replication stays Enabled."""
    record = local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    checksum_headers.require_checksum(call.request.headers)
    status = _versioning(VersioningConfiguration or {})

    def judge(now: BucketRecord, transaction: Transaction) -> dict[str, Any]:
        if status == "Suspended" and now.replication is not None:
            raise ApiError(
                "InvalidBucketState",
                "A replication configuration is present on this bucket, so you cannot change the versioning state. "
                "To change the versioning state, first delete the replication configuration.",
            )
        return {"versioning": status}

    await update_record(deps, record, judge)
    return OperationOutput()


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


async def GetPublicAccessBlock(deps: Dependencies, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None) -> OperationOutput:
    block = local_bucket(deps, call, Bucket, ExpectedBucketOwner).public_access_block
    if block is None:
        raise ApiError(
            "NoSuchPublicAccessBlockConfiguration", "The public access block configuration was not found", BucketName=Bucket
        )
    members = {member: getattr(block, name) for name, member in _SWITCHES.items()}
    return OperationOutput({"PublicAccessBlockConfiguration": members})


async def PutPublicAccessBlock(
    deps: Dependencies,
    call: Call,
    *,
    Bucket: str,
    PublicAccessBlockConfiguration: Mapping[str, bool] | None = None,
    ContentMD5: str | None = None,
    ChecksumAlgorithm: str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> OperationOutput:
    """A switch that is left out is off."""
    record = local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    checksum_headers.require_checksum(call.request.headers)
    if not PublicAccessBlockConfiguration:
        raise ApiError("MalformedXML", "A PublicAccessBlockConfiguration sets at least one switch.")
    block = PublicAccessBlock(*(PublicAccessBlockConfiguration.get(member, False) for member in _SWITCHES.values()))
    await configure(deps, record, public_access_block=block)
    return OperationOutput()


async def DeletePublicAccessBlock(deps: Dependencies, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None) -> OperationOutput:
    await configure(deps, local_bucket(deps, call, Bucket, ExpectedBucketOwner), public_access_block=None)
    return OperationOutput()


async def GetBucketOwnershipControls(
    deps: Dependencies, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None
) -> OperationOutput:
    record = local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    if not record.ownership:
        raise ApiError(
            "OwnershipControlsNotFoundError", "The bucket ownership controls were not found", BucketName=Bucket
        )
    return OperationOutput({"OwnershipControls": {"Rules": [{"ObjectOwnership": record.ownership}]}})


async def PutBucketOwnershipControls(
    deps: Dependencies,
    call: Call,
    *,
    Bucket: str,
    OwnershipControls: Mapping[str, Any] | None = None,
    ContentMD5: str | None = None,
    ChecksumAlgorithm: str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> OperationOutput:
    record = local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    checksum_headers.require_checksum(call.request.headers)
    rules = [rule.get("ObjectOwnership") for rule in (OwnershipControls or {}).get("Rules") or ()]
    if rules in (["BucketOwnerPreferred"], ["ObjectWriter"]):
        raise not_implemented(f"the object ownership {rules[0]}")
    if rules != [access_control_lists.ENFORCED]:
        raise ApiError("MalformedXML", "Exactly one rule names the object ownership.")
    await configure(deps, record, ownership=access_control_lists.ENFORCED)
    return OperationOutput()


async def DeleteBucketOwnershipControls(
    deps: Dependencies, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None
) -> OperationOutput:
    await configure(deps, local_bucket(deps, call, Bucket, ExpectedBucketOwner), ownership="")
    return OperationOutput()


async def GetBucketAcl(deps: Dependencies, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None) -> OperationOutput:
    record = local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    return OperationOutput({"Owner": access_control_lists.owner(record.account), "Grants": access_control_lists.full_control(record.account)})


async def PutBucketAcl(
    deps: Dependencies,
    call: Call,
    *,
    Bucket: str,
    ACL: str | None = None,
    AccessControlPolicy: Mapping[str, Any] | None = None,
    ContentMD5: str | None = None,
    ChecksumAlgorithm: str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> OperationOutput:
    """Lists are off: what says so is taken, everything else refused."""
    record = local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    checksum_headers.require_checksum(call.request.headers)
    check_acl(record, ACL, AccessControlPolicy)
    return OperationOutput()


def check_acl(record: BucketRecord, acl: str | None, policy: Mapping[str, Any] | None) -> None:
    """Of PutBucketAcl and PutObjectAcl. Raises MissingSecurityHeader when neither says anything."""
    if acl is None and not policy:
        raise ApiError(
            "MissingSecurityHeader", "Your request was missing a required header", MissingHeaderName="x-amz-acl"
        )
    access_control_lists.check_canned(acl, record.ownership)
    if policy:
        access_control_lists.check_list(policy, record.account, record.ownership)


async def GetBucketTagging(deps: Dependencies, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None) -> OperationOutput:
    record = local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    if not record.tags:
        raise ApiError("NoSuchTagSet", "The TagSet does not exist", BucketName=Bucket)
    return OperationOutput({"TagSet": tag_sets.tag_set(record.tags)})


async def PutBucketTagging(
    deps: Dependencies,
    call: Call,
    *,
    Bucket: str,
    Tagging: Mapping[str, Any] | None = None,
    ContentMD5: str | None = None,
    ChecksumAlgorithm: str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> OperationOutput:
    """Replaces all tags."""
    record = local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    checksum_headers.require_checksum(call.request.headers)
    await configure(deps, record, tags=tag_sets.read((Tagging or {}).get("TagSet") or (), BUCKET_TAGS_MAX))
    return OperationOutput(status=204)


async def DeleteBucketTagging(deps: Dependencies, call: Call, *, Bucket: str, ExpectedBucketOwner: str | None = None) -> OperationOutput:
    await configure(deps, local_bucket(deps, call, Bucket, ExpectedBucketOwner), tags={})
    return OperationOutput()
