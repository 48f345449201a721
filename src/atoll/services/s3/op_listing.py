"""Which objects are in a bucket? ListObjects and ListObjectsV2."""

from __future__ import annotations

from typing import Any

from atoll.domain.call import Answer, Call
from atoll.domain.objects import Entry, Mark
from atoll.rules import listing
from atoll.services.s3.buckets import bucket_here
from atoll.services.s3.here import Here
from atoll.services.s3.listed import fill, groups, row, said


async def ListObjects(
    here: Here,
    call: Call,
    *,
    Bucket: str,
    Prefix: str | None = None,
    Delimiter: str | None = None,
    Marker: str | None = None,
    MaxKeys: int | None = None,
    EncodingType: str | None = None,
    ExpectedBucketOwner: str | None = None,
) -> Answer:
    """The first version. NextMarker comes only with a delimiter: without one the last key is the next marker."""
    bucket_here(here, call, Bucket, ExpectedBucketOwner)
    encode = listing.check_encoding(EncodingType)
    page: listing.Page[Entry] = listing.Page(Prefix or "", Delimiter or "", listing.page_size(MaxKeys))
    await fill(here.store, Bucket, page, listing.start(Marker or "", page.prefix, page.delimiter))
    text = listing.url if encode else listing.plain
    return Answer(
        said(
            {
                **_common(Bucket, page, Delimiter, EncodingType, encode=encode, owner=True),
                "Marker": text(Marker or ""),
                "NextMarker": text(page.next_name) if page.truncated and page.delimiter else None,
            }
        )
    )


async def ListObjectsV2(
    here: Here,
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
) -> Answer:
    """StartAfter counts on the first page only; an empty token is none, and is echoed."""
    bucket_here(here, call, Bucket, ExpectedBucketOwner)
    encode = listing.check_encoding(EncodingType)
    page: listing.Page[Entry] = listing.Page(Prefix or "", Delimiter or "", listing.page_size(MaxKeys))
    after = listing.read_token(ContinuationToken) if ContinuationToken else Mark(StartAfter or "")
    await fill(here.store, Bucket, page, after)
    return Answer(
        said(
            {
                **_common(Bucket, page, Delimiter, EncodingType, encode=encode, owner=FetchOwner),
                "KeyCount": page.count,
                "StartAfter": None if StartAfter is None else listing.url(StartAfter) if encode else StartAfter,
                "ContinuationToken": ContinuationToken,
                "NextContinuationToken": listing.token(page.resume) if page.truncated else None,
            }
        )
    )


def _common(
    bucket: str,
    page: listing.Page[Entry],
    delimiter: str | None,
    encoding: str | None,
    *,
    encode: bool,
    owner: bool,
) -> dict[str, Any]:
    text = listing.url if encode else listing.plain
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
