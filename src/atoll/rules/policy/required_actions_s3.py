"""The actions that calls to S3 require.

Source: S3 user guide, "Required permissions for Amazon S3 API operations"; S3 API reference, "Permissions" of each operation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from atoll.domain.arn import object_arn
from atoll.rules.policy.required_action import ActionResolver, CallDetails, RequiredAction, everywhere, nothing, own_name

# Operations that take exactly one action on the object: without and with a version id.
OBJECTS: Mapping[str, tuple[str, str]] = {
    "GetObject": ("s3:GetObject", "s3:GetObjectVersion"),
    "HeadObject": ("s3:GetObject", "s3:GetObjectVersion"),
    "SelectObjectContent": ("s3:GetObject", "s3:GetObject"),
    "GetObjectAcl": ("s3:GetObjectAcl", "s3:GetObjectVersionAcl"),
    "PutObjectAcl": ("s3:PutObjectAcl", "s3:PutObjectVersionAcl"),
    "GetObjectTagging": ("s3:GetObjectTagging", "s3:GetObjectVersionTagging"),
    "PutObjectTagging": ("s3:PutObjectTagging", "s3:PutObjectVersionTagging"),
    "DeleteObjectTagging": ("s3:DeleteObjectTagging", "s3:DeleteObjectVersionTagging"),
    "GetObjectTorrent": ("s3:GetObjectTorrent", "s3:GetObjectVersionTorrent"),
    "GetObjectLegalHold": ("s3:GetObjectLegalHold", "s3:GetObjectLegalHold"),
    "PutObjectLegalHold": ("s3:PutObjectLegalHold", "s3:PutObjectLegalHold"),
    "GetObjectRetention": ("s3:GetObjectRetention", "s3:GetObjectRetention"),
    "RestoreObject": ("s3:RestoreObject", "s3:RestoreObject"),
    "UploadPart": ("s3:PutObject", "s3:PutObject"),
    "CompleteMultipartUpload": ("s3:PutObject", "s3:PutObject"),
    "AbortMultipartUpload": ("s3:AbortMultipartUpload", "s3:AbortMultipartUpload"),
    "ListParts": ("s3:ListMultipartUploadParts", "s3:ListMultipartUploadParts"),
    "GetObjectAnnotation": ("s3:GetObjectAnnotation", "s3:GetObjectAnnotation"),
    "PutObjectAnnotation": ("s3:PutObjectAnnotation", "s3:PutObjectAnnotation"),
    "DeleteObjectAnnotation": ("s3:DeleteObjectAnnotation", "s3:DeleteObjectAnnotation"),
    "ListObjectAnnotations": ("s3:ListObjectAnnotations", "s3:ListObjectAnnotations"),
    "UpdateObjectEncryption": ("s3:UpdateObjectEncryption", "s3:UpdateObjectEncryption"),
}

# Operations that take one action on the bucket.
BUCKETS: Mapping[str, str] = {
    "DeleteBucket": "s3:DeleteBucket",
    "HeadBucket": "s3:ListBucket",
    "ListObjects": "s3:ListBucket",
    "ListObjectsV2": "s3:ListBucket",
    "ListObjectVersions": "s3:ListBucketVersions",
    "ListMultipartUploads": "s3:ListBucketMultipartUploads",
    "GetBucketLocation": "s3:GetBucketLocation",
    "GetBucketPolicy": "s3:GetBucketPolicy",
    "PutBucketPolicy": "s3:PutBucketPolicy",
    "DeleteBucketPolicy": "s3:DeleteBucketPolicy",
    "GetBucketPolicyStatus": "s3:GetBucketPolicyStatus",
    "GetBucketAcl": "s3:GetBucketAcl",
    "PutBucketAcl": "s3:PutBucketAcl",
    "GetBucketCors": "s3:GetBucketCORS",
    "PutBucketCors": "s3:PutBucketCORS",
    "DeleteBucketCors": "s3:PutBucketCORS",
    "GetBucketLogging": "s3:GetBucketLogging",
    "PutBucketLogging": "s3:PutBucketLogging",
    "GetBucketNotification": "s3:GetBucketNotification",
    "PutBucketNotification": "s3:PutBucketNotification",
    "GetBucketNotificationConfiguration": "s3:GetBucketNotification",
    "PutBucketNotificationConfiguration": "s3:PutBucketNotification",
    "GetObjectLockConfiguration": "s3:GetBucketObjectLockConfiguration",
    "PutObjectLockConfiguration": "s3:PutBucketObjectLockConfiguration",
    "GetBucketOwnershipControls": "s3:GetBucketOwnershipControls",
    "PutBucketOwnershipControls": "s3:PutBucketOwnershipControls",
    "DeleteBucketOwnershipControls": "s3:PutBucketOwnershipControls",
    "GetPublicAccessBlock": "s3:GetBucketPublicAccessBlock",
    "PutPublicAccessBlock": "s3:PutBucketPublicAccessBlock",
    "DeletePublicAccessBlock": "s3:PutBucketPublicAccessBlock",
    "GetBucketRequestPayment": "s3:GetBucketRequestPayment",
    "PutBucketRequestPayment": "s3:PutBucketRequestPayment",
    "GetBucketTagging": "s3:GetBucketTagging",
    "PutBucketTagging": "s3:PutBucketTagging",
    "DeleteBucketTagging": "s3:PutBucketTagging",
    "GetBucketVersioning": "s3:GetBucketVersioning",
    "PutBucketVersioning": "s3:PutBucketVersioning",
    "GetBucketWebsite": "s3:GetBucketWebsite",
    "PutBucketWebsite": "s3:PutBucketWebsite",
    "DeleteBucketWebsite": "s3:DeleteBucketWebsite",
    "GetBucketAbac": "s3:GetBucketAbac",
    "PutBucketAbac": "s3:PutBucketAbac",
    "GetBucketEncryption": "s3:GetEncryptionConfiguration",
    "PutBucketEncryption": "s3:PutEncryptionConfiguration",
    "DeleteBucketEncryption": "s3:PutEncryptionConfiguration",
    "GetBucketLifecycle": "s3:GetLifecycleConfiguration",
    "PutBucketLifecycle": "s3:PutLifecycleConfiguration",
    "GetBucketLifecycleConfiguration": "s3:GetLifecycleConfiguration",
    "PutBucketLifecycleConfiguration": "s3:PutLifecycleConfiguration",
    "DeleteBucketLifecycle": "s3:PutLifecycleConfiguration",
    "GetBucketReplication": "s3:GetReplicationConfiguration",
    "PutBucketReplication": "s3:PutReplicationConfiguration",
    "DeleteBucketReplication": "s3:PutReplicationConfiguration",
    "GetBucketAccelerateConfiguration": "s3:GetAccelerateConfiguration",
    "PutBucketAccelerateConfiguration": "s3:PutAccelerateConfiguration",
    **{
        f"{verb}Bucket{kind}{'s' * (verb == 'List')}": f"s3:{'Get' if verb in ('Get', 'List') else 'Put'}{kind}"
        for kind in (
            "AnalyticsConfiguration",
            "InventoryConfiguration",
            "MetricsConfiguration",
            "IntelligentTieringConfiguration",
        )
        for verb in ("Get", "Put", "Delete", "List")
    },
}

# A write needs these besides s3:PutObject when it says so. Source: S3 API: PutObject, "Permissions".
_EXTRAS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    ("s3:PutObjectTagging", (("Tagging", "x-amz-tagging"),)),
    (
        "s3:PutObjectAcl",
        (
            ("ACL", "x-amz-acl"),
            ("GrantFullControl", "x-amz-grant-full-control"),
            ("GrantRead", "x-amz-grant-read"),
            ("GrantReadACP", "x-amz-grant-read-acp"),
            ("GrantWriteACP", "x-amz-grant-write-acp"),
        ),
    ),
    (
        "s3:PutObjectRetention",
        (
            ("ObjectLockMode", "x-amz-object-lock-mode"),
            ("ObjectLockRetainUntilDate", "x-amz-object-lock-retain-until-date"),
        ),
    ),
    ("s3:PutObjectLegalHold", (("ObjectLockLegalHoldStatus", "x-amz-object-lock-legal-hold"),)),
)
_BUCKET_GRANTS = (
    ("ACL", "x-amz-acl"),
    ("GrantFullControl", "x-amz-grant-full-control"),
    ("GrantRead", "x-amz-grant-read"),
    ("GrantReadACP", "x-amz-grant-read-acp"),
    ("GrantWrite", "x-amz-grant-write"),
    ("GrantWriteACP", "x-amz-grant-write-acp"),
)


def s3_required_actions(call: CallDetails) -> Iterator[RequiredAction]:
    if call.operation in BUCKETS:
        yield RequiredAction(BUCKETS[call.operation], call.bucket_arn)
    else:
        yield from _S3_OTHERS.get(call.operation, own_name("s3"))(call)


_SIGNS = frozenset(word for _, signs in _EXTRAS for sign in signs for word in sign)


def _write(call: CallDetails) -> Iterator[RequiredAction]:
    yield RequiredAction("s3:PutObject", call.object_arn)
    if _SIGNS.isdisjoint(call.params) and _SIGNS.isdisjoint(call.headers):
        return  # nearly every write
    for action, signs in _EXTRAS:
        if any(call.has(member, header) for member, header in signs):
            yield RequiredAction(action, call.object_arn)


def _copy(call: CallDetails) -> Iterator[RequiredAction]:
    if call.source is not None:
        yield source_required_action(call.source)
    yield from _write(call)


def _copy_part(call: CallDetails) -> Iterator[RequiredAction]:
    if call.source is not None:
        yield source_required_action(call.source)
    yield RequiredAction("s3:PutObject", call.object_arn)


def _rename(call: CallDetails) -> Iterator[RequiredAction]:
    if call.source is not None:
        yield source_required_action(call.source)
        yield from delete_required_actions(call.source[0], call.source[1], version=False, bypass=False)
    yield RequiredAction("s3:PutObject", call.object_arn)


def _bypasses(call: CallDetails) -> bool:
    sent = call.params.get("BypassGovernanceRetention", call.headers.get("x-amz-bypass-governance-retention"))
    return sent is True or str(sent).lower() == "true"


def _delete(call: CallDetails) -> Iterator[RequiredAction]:
    yield from delete_required_actions(call.bucket, call.key, version=call.version, bypass=_bypasses(call))


def _retention(call: CallDetails) -> Iterator[RequiredAction]:
    yield RequiredAction("s3:PutObjectRetention", call.object_arn)
    if _bypasses(call):
        yield RequiredAction("s3:BypassGovernanceRetention", call.object_arn)


def _attributes(call: CallDetails) -> Iterator[RequiredAction]:
    kind = "Version" if call.version else ""
    yield RequiredAction(f"s3:GetObject{kind}", call.object_arn)
    yield RequiredAction(f"s3:GetObject{kind}Attributes", call.object_arn)


def _create_bucket(call: CallDetails) -> Iterator[RequiredAction]:
    """Source: S3 API: CreateBucket, "Permissions"."""
    yield RequiredAction("s3:CreateBucket", call.bucket_arn)
    if any(call.has(member, header) for member, header in _BUCKET_GRANTS):
        yield RequiredAction("s3:PutBucketAcl", call.bucket_arn)
    if str(call.params.get("ObjectLockEnabledForBucket", False)).lower() == "true":
        yield RequiredAction("s3:PutBucketObjectLockConfiguration", call.bucket_arn)
        yield RequiredAction("s3:PutBucketVersioning", call.bucket_arn)
    if call.has("ObjectOwnership", "x-amz-object-ownership"):
        yield RequiredAction("s3:PutBucketOwnershipControls", call.bucket_arn)


_S3_OTHERS: Mapping[str, ActionResolver] = {
    "ListBuckets": everywhere("s3:ListAllMyBuckets"),
    "ListDirectoryBuckets": everywhere("s3express:ListAllMyDirectoryBuckets"),
    "CreateBucket": _create_bucket,
    "PutObject": _write,
    "PostObject": _write,
    "CreateMultipartUpload": _write,
    "CopyObject": _copy,
    "UploadPartCopy": _copy_part,
    "RenameObject": _rename,
    "DeleteObject": _delete,
    "DeleteObjects": nothing,  # asked per key: refusals are entries of a 200
    "PutObjectRetention": _retention,
    "GetObjectAttributes": _attributes,
    "CreateSession": everywhere("s3express:CreateSession"),
}


def delete_required_actions(bucket: str, key: str, *, version: bool, bypass: bool) -> tuple[RequiredAction, ...]:
    """What deleting one key takes; DeleteObjects asks so for each of its keys."""
    required_action = RequiredAction("s3:DeleteObjectVersion" if version else "s3:DeleteObject", object_arn(bucket, key))
    return (required_action, RequiredAction("s3:BypassGovernanceRetention", required_action.resource)) if bypass else (required_action,)


def source_required_action(source: tuple[str, str, str]) -> RequiredAction:
    """Reading the source of a copy."""
    bucket, key, version = source
    return RequiredAction("s3:GetObjectVersion" if version else "s3:GetObject", object_arn(bucket, key))


def copy_tags_required_actions(source: tuple[str, str, str], bucket: str, key: str) -> tuple[RequiredAction, ...]:
    """What a copy takes besides when tags go along."""
    read = "s3:GetObjectVersionTagging" if source[2] else "s3:GetObjectTagging"
    return RequiredAction(read, object_arn(source[0], source[1])), RequiredAction("s3:PutObjectTagging", object_arn(bucket, key))
