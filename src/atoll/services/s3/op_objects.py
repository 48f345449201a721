"""PutObject, GetObject and HeadObject."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from atoll.domain import objects
from atoll.domain.api_call import Call, OperationOutput
from atoll.domain.errors import ApiError
from atoll.domain.http_message import EMPTY
from atoll.domain.http_message import Body as Stream
from atoll.domain.resource_names import check_key
from atoll.rules import access_control_lists, conditional_requests, object_headers
from atoll.services.s3.bucket_lookup import local_bucket
from atoll.services.s3.dependencies import Dependencies, payload_of
from atoll.services.s3.new_version import new_metadata, parse_attributes, written_members
from atoll.services.s3.object_response import ReadRequest, overrides, read_response
from atoll.services.s3.version_lookup import check_version, existing


async def PutObject(
    deps: Dependencies,
    call: Call,
    *,
    Bucket: str,
    Key: str,
    Body: Stream | None = None,
    ACL: str | None = None,
    CacheControl: str | None = None,
    ContentDisposition: str | None = None,
    ContentEncoding: str | None = None,
    ContentLanguage: str | None = None,
    ContentLength: int | None = None,
    ContentMD5: str | None = None,
    ContentType: str | None = None,
    ChecksumAlgorithm: str | None = None,
    ChecksumCRC32: str | None = None,
    ChecksumCRC32C: str | None = None,
    ChecksumCRC64NVME: str | None = None,
    ChecksumSHA1: str | None = None,
    ChecksumSHA256: str | None = None,
    Expires: datetime | str | None = None,
    IfMatch: str | None = None,
    IfNoneMatch: str | None = None,
    Metadata: Mapping[str, str] | None = None,
    StorageClass: str | None = None,
    Tagging: str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> OperationOutput:
    """The body, its MD5 and its checksum are judged by who hands the body in; nothing is stored before its end."""
    record = local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    check_key(Key)
    access_control_lists.check_canned(ACL, record.ownership)
    object_headers.check_storage_class(StorageClass)
    condition = conditional_requests.write_condition(IfMatch, IfNoneMatch)
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

    def make_metadata() -> objects.ObjectMetadata:
        payload = payload_of(call)
        return new_metadata(
            deps, call, record, Key, attributes, size=payload.size, etag=payload.md5_hex, checksum=payload.checksum
        )

    metadata = await deps.store.put(objects.Key(Bucket, Key), call.body, make_metadata, condition)
    return OperationOutput(written_members(record, metadata))


async def GetObject(
    deps: Dependencies,
    call: Call,
    *,
    Bucket: str,
    Key: str,
    VersionId: str | None = None,
    Range: str | None = None,
    PartNumber: int | None = None,
    ChecksumMode: str | None = None,
    IfMatch: str | None = None,
    IfNoneMatch: str | None = None,
    IfModifiedSince: datetime | None = None,
    IfUnmodifiedSince: datetime | None = None,
    ResponseCacheControl: str | None = None,
    ResponseContentDisposition: str | None = None,
    ResponseContentEncoding: str | None = None,
    ResponseContentLanguage: str | None = None,
    ResponseContentType: str | None = None,
    ResponseExpires: datetime | str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> OperationOutput:
    record = local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    replaced = overrides(
        call, ResponseCacheControl, ResponseContentDisposition, ResponseContentEncoding, ResponseContentLanguage, ResponseContentType, ResponseExpires
    )  # fmt: skip
    read_request = ReadRequest(Range, PartNumber, _is_enabled(ChecksumMode), IfMatch, IfNoneMatch, IfModifiedSince, IfUnmodifiedSince, replaced)
    found = await deps.store.get(objects.Key(Bucket, Key), check_version(record, VersionId))
    try:
        metadata = existing(call, record, Key, VersionId, found.metadata if found else None)
        read_view = read_response(call, record, Key, metadata, read_request)
    except ApiError:
        _close_found(found)
        raise
    read_view.members["Body"] = _body(found, read_view.byte_range, empty=read_view.empty)
    return OperationOutput(read_view.members, read_view.status)


def _body(found: objects.StoredObject | None, byte_range: objects.ByteRange | None, *, empty: bool) -> Stream:
    if found is None or empty:
        _close_found(found)
        return EMPTY
    return found.body(byte_range)


def _close_found(found: objects.StoredObject | None) -> None:
    if found is not None:
        found.close()


def _is_enabled(mode: str | None) -> bool:
    return mode is not None and mode.upper() == "ENABLED"


async def HeadObject(
    deps: Dependencies,
    call: Call,
    *,
    Bucket: str,
    Key: str,
    VersionId: str | None = None,
    Range: str | None = None,
    PartNumber: int | None = None,
    ChecksumMode: str | None = None,
    IfMatch: str | None = None,
    IfNoneMatch: str | None = None,
    IfModifiedSince: datetime | None = None,
    IfUnmodifiedSince: datetime | None = None,
    ResponseCacheControl: str | None = None,
    ResponseContentDisposition: str | None = None,
    ResponseContentEncoding: str | None = None,
    ResponseContentLanguage: str | None = None,
    ResponseContentType: str | None = None,
    ResponseExpires: datetime | str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> OperationOutput:
    """As GetObject, without opening bytes."""
    record = local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    replaced = overrides(
        call, ResponseCacheControl, ResponseContentDisposition, ResponseContentEncoding, ResponseContentLanguage, ResponseContentType, ResponseExpires
    )  # fmt: skip
    read_request = ReadRequest(Range, PartNumber, _is_enabled(ChecksumMode), IfMatch, IfNoneMatch, IfModifiedSince, IfUnmodifiedSince, replaced)
    metadata = await deps.store.head(objects.Key(Bucket, Key), check_version(record, VersionId))
    read_view = read_response(call, record, Key, existing(call, record, Key, VersionId, metadata), read_request)
    return OperationOutput(read_view.members, read_view.status)


