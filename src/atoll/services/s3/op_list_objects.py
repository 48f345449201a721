"""ListObjects and ListObjectsV2."""

from __future__ import annotations

from typing import Any

from atoll.domain.api_call import Call, OperationOutput
from atoll.domain.objects import ScanCursor, ScanEntry
from atoll.rules import list_pages
from atoll.services.s3.bucket_lookup import local_bucket
from atoll.services.s3.dependencies import Dependencies
from atoll.services.s3.list_output import fill_page, groups, row, without_none


async def ListObjects(
    deps: Dependencies,
    call: Call,
    *,
    Bucket: str,
    Prefix: str | None = None,
    Delimiter: str | None = None,
    Marker: str | None = None,
    MaxKeys: int | None = None,
    EncodingType: str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> OperationOutput:
    """The first version. NextMarker comes only with a delimiter: without one the last key is the next marker."""
    local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    encode = list_pages.check_encoding(EncodingType)
    page: list_pages.Page[ScanEntry] = list_pages.Page(Prefix or "", Delimiter or "", list_pages.page_size(MaxKeys))
    await fill_page(deps.store, Bucket, page, list_pages.start(Marker or "", page.prefix, page.delimiter))
    text = list_pages.url if encode else list_pages.plain
    return OperationOutput(
        without_none(
            {
                **_common(Bucket, page, Delimiter, EncodingType, encode=encode, owner=True),
                "Marker": text(Marker or ""),
                "NextMarker": text(page.next_name) if page.truncated and page.delimiter else None,
            }
        )
    )


async def ListObjectsV2(
    deps: Dependencies,
    call: Call,
    *,
    Bucket: str,
    Prefix: str | None = None,
    Delimiter: str | None = None,
    StartAfter: str | None = None,
    ContinuationToken: str | None = None,
    MaxKeys: int | None = None,
    FetchOwner: bool = False,
    EncodingType: str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> OperationOutput:
    """StartAfter counts on the first page only; an empty token is none, and is echoed."""
    local_bucket(deps, call, Bucket, ExpectedBucketOwner)
    encode = list_pages.check_encoding(EncodingType)
    page: list_pages.Page[ScanEntry] = list_pages.Page(Prefix or "", Delimiter or "", list_pages.page_size(MaxKeys))
    after = list_pages.decode_token(ContinuationToken) if ContinuationToken else ScanCursor(StartAfter or "")
    await fill_page(deps.store, Bucket, page, after)
    return OperationOutput(
        without_none(
            {
                **_common(Bucket, page, Delimiter, EncodingType, encode=encode, owner=FetchOwner),
                "KeyCount": page.count,
                "StartAfter": None if StartAfter is None else list_pages.url(StartAfter) if encode else StartAfter,
                "ContinuationToken": ContinuationToken,
                "NextContinuationToken": list_pages.token(page.resume) if page.truncated else None,
            }
        )
    )


def _common(
    bucket: str,
    page: list_pages.Page[ScanEntry],
    delimiter: str | None,
    encoding: str | None,
    *,
    encode: bool,
    owner: bool,
) -> dict[str, Any]:
    text = list_pages.url if encode else list_pages.plain
    return {
        "Name": bucket,
        "Prefix": text(page.prefix),
        "Delimiter": text(delimiter) if delimiter else None,
        "MaxKeys": page.size,
        "EncodingType": encoding,
        "IsTruncated": page.truncated,
        "Contents": [row(entry, encode=encode, owner=owner) for entry in page.rows] or None,
        "CommonPrefixes": groups(page, encode=encode) or None,
    }
