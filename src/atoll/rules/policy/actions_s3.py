"""Which actions does a call to S3 need, and on what?

Source: S3 user guide, "Required permissions for Amazon S3 API operations"; S3 API reference, "Permissions" of each operation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from atoll.domain.arn import object_arn
from atoll.rules.policy.needs import Ask, Need, Needs, everywhere, nothing, own_name

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


def s3_needs(ask: Ask) -> Iterator[Need]:
    if ask.operation in BUCKETS:
        yield Need(BUCKETS[ask.operation], ask.bucket_arn)
    else:
        yield from _S3_OTHERS.get(ask.operation, own_name("s3"))(ask)


_SIGNS = frozenset(word for _, signs in _EXTRAS for sign in signs for word in sign)


def _write(ask: Ask) -> Iterator[Need]:
    yield Need("s3:PutObject", ask.object_arn)
    if _SIGNS.isdisjoint(ask.params) and _SIGNS.isdisjoint(ask.headers):
        return  # nearly every write
    for action, signs in _EXTRAS:
        if any(ask.has(member, header) for member, header in signs):
            yield Need(action, ask.object_arn)


def _copy(ask: Ask) -> Iterator[Need]:
    if ask.source is not None:
        yield source_need(ask.source)
    yield from _write(ask)


def _copy_part(ask: Ask) -> Iterator[Need]:
    if ask.source is not None:
        yield source_need(ask.source)
    yield Need("s3:PutObject", ask.object_arn)


def _rename(ask: Ask) -> Iterator[Need]:
    if ask.source is not None:
        yield source_need(ask.source)
        yield from delete_needs(ask.source[0], ask.source[1], version=False, bypass=False)
    yield Need("s3:PutObject", ask.object_arn)


def _bypasses(ask: Ask) -> bool:
    sent = ask.params.get("BypassGovernanceRetention", ask.headers.get("x-amz-bypass-governance-retention"))
    return sent is True or str(sent).lower() == "true"


def _delete(ask: Ask) -> Iterator[Need]:
    yield from delete_needs(ask.bucket, ask.key, version=ask.version, bypass=_bypasses(ask))


def _retention(ask: Ask) -> Iterator[Need]:
    yield Need("s3:PutObjectRetention", ask.object_arn)
    if _bypasses(ask):
        yield Need("s3:BypassGovernanceRetention", ask.object_arn)


def _attributes(ask: Ask) -> Iterator[Need]:
    kind = "Version" if ask.version else ""
    yield Need(f"s3:GetObject{kind}", ask.object_arn)
    yield Need(f"s3:GetObject{kind}Attributes", ask.object_arn)


def _create_bucket(ask: Ask) -> Iterator[Need]:
    """Source: S3 API: CreateBucket, "Permissions"."""
    yield Need("s3:CreateBucket", ask.bucket_arn)
    if any(ask.has(member, header) for member, header in _BUCKET_GRANTS):
        yield Need("s3:PutBucketAcl", ask.bucket_arn)
    if str(ask.params.get("ObjectLockEnabledForBucket", False)).lower() == "true":
        yield Need("s3:PutBucketObjectLockConfiguration", ask.bucket_arn)
        yield Need("s3:PutBucketVersioning", ask.bucket_arn)
    if ask.has("ObjectOwnership", "x-amz-object-ownership"):
        yield Need("s3:PutBucketOwnershipControls", ask.bucket_arn)


_S3_OTHERS: Mapping[str, Needs] = {
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


def delete_needs(bucket: str, key: str, *, version: bool, bypass: bool) -> tuple[Need, ...]:
    """What deleting one key takes; DeleteObjects asks so for each of its keys."""
    need = Need("s3:DeleteObjectVersion" if version else "s3:DeleteObject", object_arn(bucket, key))
    return (need, Need("s3:BypassGovernanceRetention", need.resource)) if bypass else (need,)


def source_need(source: tuple[str, str, str]) -> Need:
    """Reading the source of a copy."""
    bucket, key, version = source
    return Need("s3:GetObjectVersion" if version else "s3:GetObject", object_arn(bucket, key))


def copy_tags_needs(source: tuple[str, str, str], bucket: str, key: str) -> tuple[Need, ...]:
    """What a copy takes besides when tags go along."""
    read = "s3:GetObjectVersionTagging" if source[2] else "s3:GetObjectTagging"
    return Need(read, object_arn(source[0], source[1])), Need("s3:PutObjectTagging", object_arn(bucket, key))
