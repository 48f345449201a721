"""CopyObject, within a region."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from atoll.domain import objects
from atoll.domain.api_call import Call, OperationOutput
from atoll.domain.errors import ApiError
from atoll.domain.objects import ObjectMetadata
from atoll.domain.quotas import OBJECT_PUT_MAX_BYTES
from atoll.domain.resource_names import check_key
from atoll.rules import access_control_lists, checksum_algorithms, conditional_requests, object_headers
from atoll.rules.policy.required_actions_s3 import copy_tags_required_actions
from atoll.services.s3.body_digest import BodyDigest, digesting
from atoll.services.s3.bucket_lookup import local_bucket
from atoll.services.s3.copy_source import CopyConditions, Source, source_of, source_version
from atoll.services.s3.dependencies import Dependencies
from atoll.services.s3.new_version import ObjectAttributes, checksum_members, new_metadata, parse_attributes
from atoll.services.s3.object_response import modified
from atoll.services.s3.records import BucketRecord
from atoll.services.s3.version_lookup import version_members


async def CopyObject(
    deps: Dependencies,
    call: Call,
    *,
    Bucket: str,
    Key: str,
    CopySource: str,
    ACL: str | None = None,
    CacheControl: str | None = None,
    ChecksumAlgorithm: str | None = None,
    ContentDisposition: str | None = None,
    ContentEncoding: str | None = None,
    ContentLanguage: str | None = None,
    ContentType: str | None = None,
    CopySourceIfMatch: str | None = None,
    CopySourceIfModifiedSince: datetime | None = None,
    CopySourceIfNoneMatch: str | None = None,
    CopySourceIfUnmodifiedSince: datetime | None = None,
    Expires: datetime | str | None = None,
    IfMatch: str | None = None,
    IfNoneMatch: str | None = None,
    Metadata: Mapping[str, str] | None = None,
    MetadataDirective: str | None = None,
    StorageClass: str | None = None,
    Tagging: str | None = None,
    TaggingDirective: str | None = None,
    ExpectedBucketOwner: str | None = None,
    ExpectedSourceBucketOwner: str | None = None,
) -> OperationOutput:
    """The copy of a multipart object is a single object, with the MD5 of its bytes as ETag and a full-object checksum."""
    record = local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    check_key(Key)
    access_control_lists.check_canned(ACL, record.ownership)
    object_headers.check_storage_class(StorageClass)
    condition = conditional_requests.write_condition(IfMatch, IfNoneMatch)
    wanted = checksum_algorithms.algorithm(ChecksumAlgorithm).name if ChecksumAlgorithm else None
    replaces, retags = _replaces("metadata", MetadataDirective), _replaces("tagging", TaggingDirective)
    attributes = parse_attributes(
        call,
        cache=CacheControl,
        disposition=ContentDisposition,
        encoding=ContentEncoding,
        language=ContentLanguage,
        type=ContentType,
        user=Metadata,
        tagging=Tagging,
    )
    copy_conditions = CopyConditions(
        CopySourceIfMatch,
        CopySourceIfNoneMatch,
        CopySourceIfModifiedSince,
        CopySourceIfUnmodifiedSince,
        ExpectedSourceBucketOwner,
    )
    source = await source_of(deps, call, CopySource, copy_conditions)
    try:
        await _check(deps, record, Key, source, changes=replaces or StorageClass is not None)
        merged = _merged(call, (record.name, Key), source, attributes, replaces=replaces, retags=retags)
    except BaseException:  # a caller who goes away while this waits leaves no open file either
        source.found.close()
        raise
    body_digest = BodyDigest(wanted or _algorithm(source.metadata))

    def make_metadata() -> ObjectMetadata:
        return new_metadata(deps, call, record, Key, merged, size=body_digest.size, etag=body_digest.md5_hex, checksum=body_digest.checksum)

    body = digesting(source.found.body(), body_digest)
    metadata = await deps.store.put(objects.Key(Bucket, Key), body, make_metadata, condition)
    result = {"ETag": f'"{metadata.etag}"', "LastModified": modified(metadata), **checksum_members(metadata.checksum)}
    return OperationOutput({"CopyObjectResult": result, **source_version(source), **version_members(record, metadata.version)})


def _replaces(what: str, directive: str | None) -> bool:
    if directive not in (None, "COPY", "REPLACE"):
        raise ApiError(
            "InvalidArgument",
            f"Unknown {what} directive.",
            ArgumentName=f"x-amz-{what}-directive",
            ArgumentValue=directive or "",
        )
    return directive == "REPLACE"


async def _check(deps: Dependencies, record: BucketRecord, key: str, source: Source, *, changes: bool) -> None:
    """Raises InvalidRequest for a source that is too large, and for a copy onto itself that changes nothing."""
    if source.metadata.size > OBJECT_PUT_MAX_BYTES:
        raise ApiError(
            "InvalidRequest",
            "The specified copy source is larger than the maximum allowable size for a copy source: "
            f"{OBJECT_PUT_MAX_BYTES}",
        )
    if changes or (source.named.bucket, source.named.key) != (record.name, key):
        return
    current = await deps.store.head(objects.Key(record.name, key))
    if current is not None and current.version == source.metadata.version:
        raise ApiError(
            "InvalidRequest",
            "This copy request is illegal because it is trying to copy an object to itself without changing the "
            "object's metadata, storage class, website redirect location or encryption attributes.",
        )


def _merged(
    call: Call, to: tuple[str, str], source: Source, attributes: ObjectAttributes, *, replaces: bool, retags: bool
) -> ObjectAttributes:
    """REPLACE replaces everything, it does not merge. Tags that go along need their own permissions."""
    metadata = source.metadata
    if not retags and metadata.tags:
        named = source.named
        for required_action in copy_tags_required_actions((named.bucket, named.key, named.version or ""), *to):
            call.allow(required_action.action, required_action.resource)
    return ObjectAttributes(
        attributes.headers if replaces else metadata.headers,
        attributes.meta if replaces else metadata.meta,
        attributes.tags if retags else metadata.tags,
    )


def _algorithm(metadata: ObjectMetadata) -> str:
    """The destination keeps the source's algorithm unless another one is asked for."""
    return metadata.checksum.algorithm if metadata.checksum else checksum_algorithms.DEFAULT
