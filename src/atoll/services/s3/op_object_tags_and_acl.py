"""Operations on an object's tags and access control list."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from atoll.domain import objects
from atoll.domain.api_call import Call, OperationOutput
from atoll.domain.objects import ObjectMetadata
from atoll.domain.quotas import OBJECT_TAGS_MAX
from atoll.rules import access_control_lists, checksum_headers, replication_status, tag_sets
from atoll.services.s3.bucket_lookup import local_bucket
from atoll.services.s3.dependencies import Dependencies
from atoll.services.s3.op_bucket_settings import check_acl
from atoll.services.s3.records import BucketRecord
from atoll.services.s3.version_lookup import check_version, existing, not_found_error, version_members


async def GetObjectTagging(
    deps: Dependencies,
    call: Call,
    *,
    Bucket: str,
    Key: str,
    VersionId: str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> OperationOutput:
    record = local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    metadata = await _find_version(deps, call, record, Key, VersionId)
    return OperationOutput({"TagSet": tag_sets.tag_set(metadata.tags), **version_members(record, metadata.version)})


async def PutObjectTagging(
    deps: Dependencies,
    call: Call,
    *,
    Bucket: str,
    Key: str,
    Tagging: Mapping[str, Any] | None = None,
    VersionId: str | None = None,
    ContentMD5: str | None = None,
    ChecksumAlgorithm: str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> OperationOutput:
    """Replaces all tags of one version."""
    record = local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    checksum_headers.require_checksum(call.request.headers)
    wanted = tag_sets.read((Tagging or {}).get("TagSet") or (), OBJECT_TAGS_MAX)
    metadata = await _replace_tags(deps, call, record, (Key, VersionId), wanted)
    return OperationOutput(version_members(record, metadata.version))


async def DeleteObjectTagging(
    deps: Dependencies,
    call: Call,
    *,
    Bucket: str,
    Key: str,
    VersionId: str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> OperationOutput:
    record = local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    metadata = await _replace_tags(deps, call, record, (Key, VersionId), {})
    return OperationOutput(version_members(record, metadata.version), 204)


async def _replace_tags(
    deps: Dependencies, call: Call, record: BucketRecord, meant: tuple[str, str | None], wanted: Mapping[str, str]
) -> ObjectMetadata:
    """Change the tags of one version, and owe the change to where its copies are."""
    key, version = meant
    metadata = await _find_version(deps, call, record, key, version)
    changed = await deps.store.update_metadata(objects.Key(record.name, key), metadata.version, _tag_updater(deps, call, record, key, wanted))
    if changed is None:
        raise not_found_error(call, record, key, version)
    return changed


def _tag_updater(
    deps: Dependencies, call: Call, record: BucketRecord, key: str, wanted: Mapping[str, str]
) -> Callable[[ObjectMetadata], ObjectMetadata]:
    rules, now_ms = deps.rules.of(record), call.now_ms
    return lambda metadata: replication_status.with_changed_tags(rules, key, metadata, wanted, now_ms=now_ms)


async def _find_version(deps: Dependencies, call: Call, record: BucketRecord, key: str, version: str | None) -> ObjectMetadata:
    found = await deps.store.head(objects.Key(record.name, key), check_version(record, version))
    return existing(call, record, key, version, found)


async def GetObjectAcl(
    deps: Dependencies,
    call: Call,
    *,
    Bucket: str,
    Key: str,
    VersionId: str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> OperationOutput:
    record = local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    metadata = await _find_version(deps, call, record, Key, VersionId)
    account = access_control_lists.of_object(metadata.owner, record.account, record.ownership)
    return OperationOutput({"Owner": access_control_lists.owner(account), "Grants": access_control_lists.full_control(account)})


async def PutObjectAcl(
    deps: Dependencies,
    call: Call,
    *,
    Bucket: str,
    Key: str,
    ACL: str | None = None,
    AccessControlPolicy: Mapping[str, Any] | None = None,
    VersionId: str | None = None,
    ContentMD5: str | None = None,
    ChecksumAlgorithm: str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> OperationOutput:
    """As PutBucketAcl."""
    record = local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    checksum_headers.require_checksum(call.request.headers)
    await _find_version(deps, call, record, Key, VersionId)
    check_acl(record, ACL, AccessControlPolicy)
    return OperationOutput()
