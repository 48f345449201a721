"""Which versions and delete markers are in a bucket?"""

from __future__ import annotations

from typing import Any

from atoll.domain.call import Answer, Call
from atoll.domain.errors import ApiError
from atoll.domain.objects import Entry, Mark
from atoll.rules import listing, owners
from atoll.services.s3.buckets import bucket_here
from atoll.services.s3.here import Here
from atoll.services.s3.listed import fill, groups, row, said
from atoll.services.s3.reading import modified
from atoll.services.s3.versions import check_version_marker


async def ListObjectVersions(
    here: Here,
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
) -> Answer:
    """Newest first within a key; versions and markers interleaved in one order (`_entries`)."""
    bucket_here(here, call, Bucket, ExpectedBucketOwner)
    encode = listing.check_encoding(EncodingType)
    text = listing.url if encode else listing.plain
    page: listing.Page[Entry] = listing.Page(Prefix or "", Delimiter or "", listing.page_size(MaxKeys))
    await fill(here.store, Bucket, page, _start(page, KeyMarker or "", VersionIdMarker or ""), versions=True)
    return Answer(
        said(
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


def _start(page: listing.Page[Entry], key: str, version: str) -> Mark:
    if not version:
        return listing.start(key, page.prefix, page.delimiter)
    if not key:
        raise ApiError(
            "InvalidArgument",
            "A version-id marker cannot be specified without a key marker.",
            ArgumentName="version-id-marker",
            ArgumentValue=version,
        )
    return Mark(key, check_version_marker(version))


def _entry(entry: Entry, *, encode: bool) -> tuple[str, dict[str, Any]]:
    named = {"VersionId": entry.facts.version, "IsLatest": entry.latest}
    if not entry.facts.marker:
        return "Versions", {**row(entry, encode=encode, owner=True), **named}
    return "DeleteMarkers", {
        "Key": listing.url(entry.name) if encode else entry.name,
        "LastModified": modified(entry.facts),
        "Owner": owners.owner(entry.facts.owner),
        **named,
    }
