"""CompleteMultipartUpload."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from atoll.domain import objects
from atoll.domain.api_call import Call, OperationOutput
from atoll.domain.errors import ApiError
from atoll.domain.objects import Checksum, ObjectMetadata, Part
from atoll.rules import checksum_algorithms, conditional_requests, multipart_checksums, multipart_uploads
from atoll.rules.multipart_uploads import Claim
from atoll.services.s3.bucket_lookup import local_bucket
from atoll.services.s3.dependencies import Dependencies
from atoll.services.s3.new_version import ObjectAttributes, new_metadata, written_members
from atoll.services.s3.records import BucketRecord
from atoll.services.s3.upload_records import Upload, find_or_none, no_such_upload, part_of, parts_of

MADE_BY = "upload"  # the note by which a completed object knows its upload: a repeated Complete is answered alike


async def CompleteMultipartUpload(
    deps: Dependencies,
    call: Call,
    *,
    Bucket: str,
    Key: str,
    UploadId: str,
    MultipartUpload: Mapping[str, Any] | None = None,
    ChecksumCRC32: str | None = None,
    ChecksumCRC32C: str | None = None,
    ChecksumCRC64NVME: str | None = None,
    ChecksumSHA1: str | None = None,
    ChecksumSHA256: str | None = None,
    ChecksumType: str | None = None,
    MpuObjectSize: int | None = None,
    IfMatch: str | None = None,
    IfNoneMatch: str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> OperationOutput:
    """SDKs repeat it when the answer is lost, so a second one with the same parts is answered like the first."""
    record = local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    claims = _claims((MultipartUpload or {}).get("Parts") or ())
    upload = await find_or_none(deps.store, Bucket, Key, UploadId)
    if upload is None:
        return _answer(call, record, Key, await _made_before(deps, Bucket, Key, UploadId, claims))
    condition = conditional_requests.write_condition(IfMatch, IfNoneMatch)
    condition = replace(condition, began_ms=upload.began_ms, was_there=upload.was_there)
    multipart_uploads.check_order(claims, UploadId)
    held = {part.number: part async for part in _parts(deps, Bucket, UploadId)}
    try:
        parts = multipart_uploads.select_parts(claims, held, UploadId)
    except ApiError as fault:
        return _answer(call, record, Key, await _made_meanwhile(deps, upload, claims, fault))
    _check_claims(upload, claims, parts)
    given = {
        "CRC32": ChecksumCRC32,
        "CRC32C": ChecksumCRC32C,
        "CRC64NVME": ChecksumCRC64NVME,
        "SHA1": ChecksumSHA1,
        "SHA256": ChecksumSHA256,
    }
    whole = multipart_checksums.object_checksum(upload.needed, upload.needed_kind, parts)
    _check_whole(upload, whole, given, ChecksumType)
    size = sum(part.size for part in parts)
    _check_size(size, MpuObjectSize)
    kept = upload.metadata
    metadata = new_metadata(
        deps,
        call,
        record,
        Key,
        ObjectAttributes(kept.headers, kept.meta, kept.tags),
        size=size,
        etag=multipart_checksums.etag(parts),
        checksum=whole,
        parts=tuple(parts),
        notes={MADE_BY: UploadId},
    )
    try:
        made = await deps.store.join(
            objects.Key(Bucket, Key),
            [upload.part(part.number) for part in parts],
            metadata,
            discard=multipart_uploads.folder(Bucket, UploadId),
            condition=condition,
        )
    except ApiError as fault:
        made = await _made_meanwhile(deps, upload, claims, fault)
    return _answer(call, record, Key, made)


def _claims(listed: Sequence[Mapping[str, Any]]) -> list[Claim]:
    """ETags come quoted, bare, or with XML entities for the quotes. Raises MalformedXML for half a part."""
    if any(part.get("PartNumber") is None or part.get("ETag") is None for part in listed):
        raise ApiError("MalformedXML", "A part has a PartNumber and an ETag.")
    return [
        Claim(
            int(part["PartNumber"]),
            conditional_requests.bare_etag(part["ETag"]),
            {name: part[f"Checksum{name}"] for name in checksum_algorithms.ALGORITHMS if part.get(f"Checksum{name}")},
        )
        for part in listed
    ]


async def _parts(deps: Dependencies, bucket: str, upload_id: str) -> AsyncIterator[Part]:
    async for entry in parts_of(deps.store, bucket, upload_id):
        yield part_of(entry)


async def _made_meanwhile(deps: Dependencies, upload: Upload, claims: Sequence[Claim], fault: ApiError) -> ObjectMetadata:
    """When the upload has ended since it was looked up, another call was faster: what that one made. Raises `fault`
    otherwise, NoSuchUpload after an abort."""
    if await find_or_none(deps.store, upload.bucket, upload.key, upload.id) is not None:
        raise fault
    return await _made_before(deps, upload.bucket, upload.key, upload.id, claims)


async def _made_before(deps: Dependencies, bucket: str, key: str, upload_id: str, claims: Sequence[Claim]) -> ObjectMetadata:
    """The object that this upload has made, if it still is that one. Raises NoSuchUpload."""
    current = await deps.store.head(objects.Key(bucket, key))
    if current is None or current.notes.get(MADE_BY) != upload_id:
        raise no_such_upload(upload_id)
    if [(part.number, part.etag) for part in current.parts] != [(claim.number, claim.etag) for claim in claims]:
        raise no_such_upload(upload_id)
    return current


def _check_claims(upload: Upload, claims: Sequence[Claim], parts: Sequence[Part]) -> None:
    """The checksums in the list of parts. Raises InvalidPart, InvalidRequest, InvalidPartOrder."""
    for claim, part in zip(claims, parts, strict=True):
        foreign = claim.checksums.keys() - {upload.algorithm}
        value = claim.checksums.get(upload.algorithm)
        if foreign or (value is not None and value != part.checksum):
            raise multipart_uploads.invalid_part(upload.id, claim)
        if value is None and upload.kind == "COMPOSITE":
            raise ApiError(
                "InvalidRequest",
                f"The upload was created using a {upload.algorithm.lower()} checksum. The complete request must include "
                f"the checksum for each part. It was missing for part {claim.number} in the request.",
            )
    if upload.algorithm:
        multipart_uploads.check_numbering(claims, upload.id)


def _check_whole(upload: Upload, whole: Checksum, given: Mapping[str, str | None], kind: str | None) -> None:
    """The checksum of the object in the request's headers. Raises InvalidRequest, BadDigest."""
    if kind is not None and kind != (upload.kind or "FULL_OBJECT"):
        raise ApiError(
            "InvalidRequest",
            f"The upload was created using the {upload.kind or 'FULL_OBJECT'} checksum mode. "
            "The complete request must use the same checksum mode.",
        )
    for name, value in given.items():
        if value is None:
            continue
        if name != whole.algorithm:
            raise ApiError("InvalidRequest", f"The upload has no {name.lower()} checksum.")
        if value.partition("-")[0] != whole.value.partition("-")[0]:
            raise ApiError(
                "BadDigest",
                f"The {name} you specified did not match the calculated checksum.",
                ExpectedDigest=value,
                CalculatedDigest=whole.value,
            )


def _check_size(size: int, claimed: int | None) -> None:
    if claimed is not None and claimed != size:
        raise ApiError(
            "InvalidRequest",
            f"The provided 'x-amz-mp-object-size' header value {claimed} does not match what was computed: {size}",
        )


def _answer(call: Call, record: BucketRecord, key: str, metadata: ObjectMetadata) -> OperationOutput:
    """Location is the address under which the client spoke."""
    scheme = "https" if call.request.secure else "http"
    location = f"{scheme}://{call.request.headers.get('host', '')}{call.request.path}"
    return OperationOutput({"Location": location, "Bucket": record.name, "Key": key, **written_members(record, metadata)})
