"""ListObjectVersions."""

from __future__ import annotations

from typing import Any

from atoll.domain.api_call import Call, OperationOutput
from atoll.domain.errors import ApiError
from atoll.domain.objects import ScanCursor, ScanEntry
from atoll.rules import access_control_lists, list_pages
from atoll.services.s3.bucket_lookup import local_bucket
from atoll.services.s3.dependencies import Dependencies
from atoll.services.s3.list_output import fill_page, groups, row, without_none
from atoll.services.s3.object_response import modified
from atoll.services.s3.version_lookup import check_version_marker


async def ListObjectVersions(
    deps: Dependencies,
    call: Call,
    *,
    Bucket: str,
    Prefix: str | None = None,
    Delimiter: str | None = None,
    KeyMarker: str | None = None,
    VersionIdMarker: str | None = None,
    MaxKeys: int | None = None,
    EncodingType: str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> OperationOutput:
    """Newest first within a key; versions and markers interleaved in one order (`_entries`)."""
    local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    encode = list_pages.check_encoding(EncodingType)
    text = list_pages.url if encode else list_pages.plain
    page: list_pages.Page[ScanEntry] = list_pages.Page(Prefix or "", Delimiter or "", list_pages.page_size(MaxKeys))
    await fill_page(deps.store, Bucket, page, _start(page, KeyMarker or "", VersionIdMarker or ""), versions=True)
    return OperationOutput(
        without_none(
            {
                "Name": Bucket,
                "Prefix": text(page.prefix),
                "Delimiter": text(Delimiter) if Delimiter else None,
                "MaxKeys": page.size,
                "EncodingType": EncodingType,
                "KeyMarker": text(KeyMarker or ""),
                "VersionIdMarker": VersionIdMarker or "",
                "IsTruncated": page.truncated,
                "NextKeyMarker": text(page.next_name) if page.truncated else None,
                "NextVersionIdMarker": page.resume.version if page.truncated else None,
                "_entries": [_entry(entry, encode=encode) for entry in page.rows],
                "CommonPrefixes": groups(page, encode=encode) or None,
            }
        )
    )


def _start(page: list_pages.Page[ScanEntry], key: str, version: str) -> ScanCursor:
    if not version:
        return list_pages.start(key, page.prefix, page.delimiter)
    if not key:
        raise ApiError(
            "InvalidArgument",
            "A version-id marker cannot be specified without a key marker.",
            ArgumentName="version-id-marker",
            ArgumentValue=version,
        )
    return ScanCursor(key, check_version_marker(version))


def _entry(entry: ScanEntry, *, encode: bool) -> tuple[str, dict[str, Any]]:
    named = {"VersionId": entry.metadata.version, "IsLatest": entry.latest}
    if not entry.metadata.marker:
        return "Versions", {**row(entry, encode=encode, owner=True), **named}
    return "DeleteMarkers", {
        "Key": list_pages.url(entry.name) if encode else entry.name,
        "LastModified": modified(entry.metadata),
        "Owner": access_control_lists.owner(entry.metadata.owner),
        **named,
    }
