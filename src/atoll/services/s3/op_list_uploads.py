"""ListMultipartUploads and ListParts."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from atoll.domain.api_call import Call, OperationOutput
from atoll.domain.errors import ApiError
from atoll.domain.objects import ScanEntry
from atoll.domain.quotas import PARTS_MAX
from atoll.rules import access_control_lists, list_pages, multipart_uploads
from atoll.services.s3.bucket_lookup import local_bucket
from atoll.services.s3.dependencies import Dependencies
from atoll.services.s3.list_output import groups, without_none
from atoll.services.s3.object_response import modified
from atoll.services.s3.upload_records import Upload, all_uploads, find, part_of, parts_of

MARKER_MAX = 2**31 - 1  # S3: "within integer range"
MARKER_MAX_CHARS = len(str(MARKER_MAX))


async def ListParts(
    deps: Dependencies,
    call: Call,
    *,
    Bucket: str,
    Key: str,
    UploadId: str,
    MaxParts: int | None = None,
    PartNumberMarker: int | str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> OperationOutput:
    local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    upload = await find(deps.store, Bucket, Key, UploadId)
    size, after = list_pages.page_size(MaxParts, "max-parts"), part_marker(PartNumberMarker)
    rows, more = await _page(deps, Bucket, UploadId, after, size)
    return OperationOutput(
        without_none(
            {
                "Bucket": Bucket,
                "Key": Key,
                "UploadId": UploadId,
                "PartNumberMarker": after,
                "NextPartNumberMarker": part_of(rows[-1]).number if rows else 0,
                "MaxParts": size,
                "IsTruncated": more,
                "Parts": [_part(upload, entry) for entry in rows] or None,
                "Initiator": access_control_lists.owner(upload.metadata.owner),
                "Owner": access_control_lists.owner(upload.metadata.owner),
                "StorageClass": "STANDARD",
                "ChecksumAlgorithm": upload.algorithm or None,
                "ChecksumType": upload.kind or None,
            }
        )
    )


def part_marker(marker: int | str | None) -> int:
    """part-number-marker; an empty one is none. Raises InvalidArgument."""
    text = str(marker or 0)
    if not (text.isascii() and text.isdecimal()) or len(text) > MARKER_MAX_CHARS or int(text) > MARKER_MAX:
        raise ApiError(
            "InvalidArgument",
            "Provided part-number-marker is not an integer or within integer range",
            ArgumentName="part-number-marker",
            ArgumentValue=text,
        )
    return min(int(text), PARTS_MAX)


async def _page(deps: Dependencies, bucket: str, upload_id: str, after: int, size: int) -> tuple[list[ScanEntry], bool]:
    rows: list[ScanEntry] = []
    if not size:
        return rows, False
    async for entry in parts_of(deps.store, bucket, upload_id, after=after):
        if len(rows) == size:
            return rows, True
        rows.append(entry)
    return rows, False


def _part(upload: Upload, entry: ScanEntry) -> dict[str, Any]:
    part = part_of(entry)
    members: dict[str, Any] = {
        "PartNumber": part.number,
        "LastModified": modified(entry.metadata),
        "ETag": f'"{part.etag}"',
        "Size": part.size,
    }
    return {**members, f"Checksum{upload.algorithm}": part.checksum} if upload.algorithm else members


async def ListMultipartUploads(
    deps: Dependencies,
    call: Call,
    *,
    Bucket: str,
    Prefix: str | None = None,
    Delimiter: str | None = None,
    KeyMarker: str | None = None,
    UploadIdMarker: str | None = None,
    MaxUploads: int | None = None,
    EncodingType: str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> OperationOutput:
    """By key, then by time. An upload-id-marker without a key-marker is ignored."""
    local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    _check_marker(KeyMarker or "", UploadIdMarker or "")
    encode = list_pages.check_encoding(EncodingType)
    text = list_pages.url if encode else list_pages.plain
    page: list_pages.Page[Upload] = list_pages.Page(Prefix or "", Delimiter or "", list_pages.page_size(MaxUploads, "max-uploads"))
    await _fill(deps, Bucket, page, KeyMarker or "", UploadIdMarker or "")
    return OperationOutput(
        without_none(
            {
                "Bucket": Bucket,
                "KeyMarker": text(KeyMarker or ""),
                "UploadIdMarker": UploadIdMarker or "",
                "NextKeyMarker": text(page.next_name) if page.truncated else None,
                "NextUploadIdMarker": page.resume.version if page.truncated else None,
                "Prefix": text(page.prefix),
                "Delimiter": text(Delimiter) if Delimiter else None,
                "MaxUploads": page.size,
                "IsTruncated": page.truncated,
                "EncodingType": EncodingType,
                "Uploads": [_row(upload, encode=encode) for upload in page.rows] or None,
                "CommonPrefixes": groups(page, encode=encode) or None,
            }
        )
    )


def _check_marker(key: str, upload_id: str) -> None:
    """Raises InvalidArgument for an upload-id-marker that is no upload id. One whose upload has ended still marks its key."""
    if key and upload_id and multipart_uploads.issued_by(upload_id) is None:
        raise ApiError(
            "InvalidArgument", "Invalid uploadId marker", ArgumentName="upload-id-marker", ArgumentValue=upload_id
        )


async def _fill(deps: Dependencies, bucket: str, page: list_pages.Page[Upload], key: str, upload_id: str) -> None:
    """Uploads lie in order of their ids; what is wanted is gathered, put in order and offered."""
    found = [upload async for upload in all_uploads(deps.store, bucket) if upload.key.startswith(page.prefix)]
    found.sort(key=_order)
    after = list_pages.start("" if upload_id else key, page.prefix, page.delimiter).name
    place = next((_order(upload) for upload in found if (upload.key, upload.id) == (key, upload_id)), (key, 0, ""))
    for upload in found:
        shown = _order(upload) > place if key and upload_id else upload.key > after
        if shown and not page.add_row(upload.key, upload, version=upload.id):
            return


def _order(upload: Upload) -> tuple[str, int, str]:
    return upload.key, upload.metadata.modified_ms, upload.id


def _row(upload: Upload, *, encode: bool) -> dict[str, Any]:
    initiated: datetime = modified(upload.metadata)
    return without_none(
        {
            "UploadId": upload.id,
            "Key": list_pages.url(upload.key) if encode else upload.key,
            "Initiated": initiated,
            "StorageClass": "STANDARD",
            "Owner": access_control_lists.owner(upload.metadata.owner),
            "Initiator": access_control_lists.owner(upload.metadata.owner),
            "ChecksumAlgorithm": upload.algorithm or None,
            "ChecksumType": upload.kind or None,
        }
    )
