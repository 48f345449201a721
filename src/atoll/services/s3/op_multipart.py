"""Operations on multipart uploads, but for completing one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from atoll.domain import objects
from atoll.domain.api_call import Call, OperationOutput
from atoll.domain.errors import ApiError
from atoll.domain.http_message import EMPTY
from atoll.domain.http_message import Body as Stream
from atoll.domain.objects import ByteRange, Checksum, ObjectMetadata
from atoll.domain.quotas import OBJECT_PUT_MAX_BYTES
from atoll.domain.resource_names import check_key
from atoll.rules import (
    access_control_lists,
    byte_ranges,
    checksum_algorithms,
    checksum_headers,
    multipart_checksums,
    multipart_uploads,
    object_headers,
)
from atoll.services.s3 import upload_records as uploading
from atoll.services.s3.body_digest import BodyDigest, digesting
from atoll.services.s3.bucket_lookup import local_bucket, unchanged_bucket
from atoll.services.s3.copy_source import CopyConditions, Source, source_of, source_version
from atoll.services.s3.dependencies import Dependencies, payload_of
from atoll.services.s3.new_version import checksum_members, parse_attributes
from atoll.services.s3.object_response import modified
from atoll.services.s3.records import BucketRecord
from atoll.services.s3.upload_records import Upload, find


async def CreateMultipartUpload(
    deps: Dependencies,
    call: Call,
    *,
    Bucket: str,
    Key: str,
    ACL: str | None = None,
    CacheControl: str | None = None,
    ContentDisposition: str | None = None,
    ContentEncoding: str | None = None,
    ContentLanguage: str | None = None,
    ContentType: str | None = None,
    Expires: datetime | str | None = None,
    Metadata: Mapping[str, str] | None = None,
    StorageClass: str | None = None,
    Tagging: str | None = None,
    ChecksumAlgorithm: str | None = None,
    ChecksumType: str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> OperationOutput:
    """Remembers everything that the object will need."""
    record = local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    check_key(Key)
    access_control_lists.check_canned(ACL, record.ownership)
    object_headers.check_storage_class(StorageClass)
    declared = multipart_checksums.declared_checksum(ChecksumAlgorithm, ChecksumType)
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
    upload_id = multipart_uploads.upload_id(deps.region, deps.random_bytes(multipart_uploads.UPLOAD_ID_BYTES))
    current = await deps.store.head(objects.Key(Bucket, Key))
    was_there = current is not None and not current.marker
    notes = uploading.notes(Key, declared, _began_ms(call, current), was_there=was_there)
    metadata = ObjectMetadata(modified_ms=call.now_ms, headers=attributes.headers, meta=attributes.meta, tags=attributes.tags, owner=record.account, notes=notes)
    await deps.store.put(multipart_uploads.folder(Bucket, upload_id), EMPTY, lambda: _in(deps, record, metadata))
    sums = {"ChecksumAlgorithm": declared[0], "ChecksumType": declared[1]} if declared else {}
    return OperationOutput({"Bucket": Bucket, "Key": Key, "UploadId": upload_id, **sums})


def _in(deps: Dependencies, record: BucketRecord, metadata: ObjectMetadata) -> ObjectMetadata:
    """The metadata, unless the bucket has gone. Raises NoSuchBucket."""
    unchanged_bucket(deps, record)
    return metadata


def _began_ms(call: Call, current: ObjectMetadata | None) -> int:
    """Whatever is written to the key from now on has a later stamp: it then was written during the upload."""
    newest = current.stamp.ms if current is not None and current.stamp is not None else 0
    return max(call.now_ms, newest)


async def UploadPart(
    deps: Dependencies,
    call: Call,
    *,
    Bucket: str,
    Key: str,
    UploadId: str,
    PartNumber: int,
    Body: Stream | None = None,
    ContentLength: int | None = None,
    ContentMD5: str | None = None,
    ChecksumAlgorithm: str | None = None,
    ChecksumCRC32: str | None = None,
    ChecksumCRC32C: str | None = None,
    ChecksumCRC64NVME: str | None = None,
    ChecksumSHA1: str | None = None,
    ChecksumSHA256: str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> OperationOutput:
    """Sending a number again replaces the part."""
    record = local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    number = multipart_uploads.check_number(PartNumber)
    upload = await find(deps.store, Bucket, Key, UploadId)
    stated_algorithm = checksum_headers.stated_algorithm(call.request.headers)
    _check_algorithm(upload, stated_algorithm)
    own = None if (stated_algorithm or checksum_algorithms.DEFAULT) == upload.needed else BodyDigest(upload.needed)

    def make_metadata() -> ObjectMetadata:
        payload = payload_of(call)
        checksum = own.checksum if own else payload.checksum
        return _in(deps, record, _part(call, payload.size, payload.md5_hex, checksum))

    metadata = await _put_part(deps, upload, upload.part(number), digesting(call.body, own) if own else call.body, make_metadata)
    shown = payload_of(call).checksum if stated_algorithm else metadata.checksum if upload.algorithm else None
    return OperationOutput({"ETag": f'"{metadata.etag}"', **_value(shown)})


def _check_algorithm(upload: Upload, stated_algorithm: str | None) -> None:
    if upload.algorithm and stated_algorithm and stated_algorithm != upload.algorithm:
        raise ApiError(
            "InvalidRequest",
            f"Checksum Type mismatch occurred, expected checksum Type: {upload.algorithm.lower()}, "
            f"actual checksum Type: {stated_algorithm.lower()}",
        )
    if upload.kind == "COMPOSITE" and not stated_algorithm:
        raise ApiError(
            "InvalidRequest",
            f"Checksum Type mismatch occurred, expected checksum Type: {upload.algorithm.lower()}, actual checksum Type: null",
        )


def _part(call: Call, size: int, etag: str, checksum: Checksum) -> ObjectMetadata:
    return ObjectMetadata(size=size, etag=etag, modified_ms=call.now_ms, checksum=checksum)


async def _put_part(deps: Dependencies, upload: Upload, place: objects.Key, body: Stream, make_metadata: objects.MakeMetadata) -> ObjectMetadata:
    """Store a part; one that arrives after the upload has ended goes again."""
    metadata = await deps.store.put(place, body, make_metadata)
    if await uploading.find_or_none(deps.store, upload.bucket, upload.key, upload.id) is None:
        await deps.store.delete(place, metadata.version)
        raise uploading.no_such_upload(upload.id)
    return metadata


def _value(checksum: Checksum | None) -> dict[str, str]:
    """Parts have a checksum, but no type of it."""
    return {name: value for name, value in checksum_members(checksum).items() if name != "ChecksumType"}


async def UploadPartCopy(
    deps: Dependencies,
    call: Call,
    *,
    Bucket: str,
    Key: str,
    UploadId: str,
    PartNumber: int,
    CopySource: str,
    CopySourceIfMatch: str | None = None,
    CopySourceIfModifiedSince: datetime | None = None,
    CopySourceIfNoneMatch: str | None = None,
    CopySourceIfUnmodifiedSince: datetime | None = None,
    CopySourceRange: str | None = None,
    ExpectedBucketOwner: str | None = None,
    ExpectedSourceBucketOwner: str | None = None,
) -> OperationOutput:
    """A part whose bytes are already here."""
    record = local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    number = multipart_uploads.check_number(PartNumber)
    upload = await find(deps.store, Bucket, Key, UploadId)
    copy_conditions = CopyConditions(
        CopySourceIfMatch,
        CopySourceIfNoneMatch,
        CopySourceIfModifiedSince,
        CopySourceIfUnmodifiedSince,
        ExpectedSourceBucketOwner,
    )
    source = await source_of(deps, call, CopySource, copy_conditions)
    byte_range = _byte_range(source, CopySourceRange)
    body_digest = BodyDigest(upload.needed)

    def make_metadata() -> ObjectMetadata:
        return _in(deps, record, _part(call, body_digest.size, body_digest.md5_hex, body_digest.checksum))

    metadata = await _put_part(deps, upload, upload.part(number), digesting(source.found.body(byte_range), body_digest), make_metadata)
    result = {"ETag": f'"{metadata.etag}"', "LastModified": modified(metadata)}
    return OperationOutput(
        {
            "CopyPartResult": {**result, **(_value(metadata.checksum) if upload.algorithm else {})},
            **source_version(source),
        }
    )


def _byte_range(source: Source, text: str | None) -> ByteRange | None:
    try:
        byte_range = None if text is None else byte_ranges.copy_range(text, source.metadata.size)
        if (byte_range.size if byte_range else source.metadata.size) > OBJECT_PUT_MAX_BYTES:
            raise ApiError(
                "InvalidRequest",
                f"The specified copy source is larger than the maximum allowable size for a copy source: {OBJECT_PUT_MAX_BYTES}",
            )
    except ApiError:
        source.found.close()
        raise
    return byte_range


async def AbortMultipartUpload(
    deps: Dependencies, call: Call, *, Bucket: str, Key: str, UploadId: str, ExpectedBucketOwner: str | None = None
) -> OperationOutput:
    """An upload that has ended already counts as aborted, so that a repeated or raced abort succeeds.

    S3 answers so for a day, while it remembers the upload. Raises NoSuchUpload for an id that this region cannot have
    issued, and for that of another key.
    """
    local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    folder = multipart_uploads.folder(Bucket, UploadId)
    if await uploading.find_or_none(deps.store, Bucket, Key, UploadId) is not None:
        await deps.store.drop(folder)
    elif multipart_uploads.issued_by(UploadId) != deps.region or await deps.store.head(folder) is not None:
        raise uploading.no_such_upload(UploadId)
    return OperationOutput(status=204)


