"""How does an object come in, and how is it read?"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from atoll.domain import objects
from atoll.domain.call import Answer, Call
from atoll.domain.errors import ApiError
from atoll.domain.message import EMPTY
from atoll.domain.message import Body as Stream
from atoll.domain.names import check_key
from atoll.rules import conditional, metadata, owners
from atoll.services.s3.buckets import bucket_here
from atoll.services.s3.here import Here, payload_of
from atoll.services.s3.reading import Reading, overrides, view
from atoll.services.s3.versions import check_version, present
from atoll.services.s3.writing import born, draft, written


async def PutObject(
    here: Here,
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
) -> Answer:
    """The body, its MD5 and its checksum are judged by who hands the body in; nothing is stored before its end."""
    record = bucket_here(here, call, Bucket, ExpectedBucketOwner)
    check_key(Key)
    owners.check_canned(ACL, record.ownership)
    metadata.check_storage_class(StorageClass)
    condition = conditional.write_condition(IfMatch, IfNoneMatch)
    said = draft(
        call,
        cache=CacheControl,
        disposition=ContentDisposition,
        encoding=ContentEncoding,
        language=ContentLanguage,
        type=ContentType,
        user=Metadata,
        tagging=Tagging,
    )

    def seal() -> objects.Facts:
        payload = payload_of(call)
        return born(
            here, call, record, Key, said, size=payload.size, etag=payload.md5_hex, checksum=payload.checksum
        )

    facts = await here.store.put(objects.Key(Bucket, Key), call.body, seal, condition)
    return Answer(written(record, facts))


async def GetObject(
    here: Here,
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
) -> Answer:
    record = bucket_here(here, call, Bucket, ExpectedBucketOwner)
    replaced = overrides(
        call, ResponseCacheControl, ResponseContentDisposition, ResponseContentEncoding, ResponseContentLanguage, ResponseContentType, ResponseExpires
    )  # fmt: skip
    reading = Reading(Range, PartNumber, _wanted(ChecksumMode), IfMatch, IfNoneMatch, IfModifiedSince, IfUnmodifiedSince, replaced)
    found = await here.store.get(objects.Key(Bucket, Key), check_version(record, VersionId))
    try:
        facts = present(call, record, Key, VersionId, found.facts if found else None)
        seen = view(call, record, Key, facts, reading)
    except ApiError:
        _let_go(found)
        raise
    seen.members["Body"] = _body(found, seen.span, empty=seen.empty)
    return Answer(seen.members, seen.status)


def _body(found: objects.Found | None, span: objects.Span | None, *, empty: bool) -> Stream:
    if found is None or empty:
        _let_go(found)
        return EMPTY
    return found.body(span)


def _let_go(found: objects.Found | None) -> None:
    if found is not None:
        found.close()


def _wanted(mode: str | None) -> bool:
    return mode is not None and mode.upper() == "ENABLED"


async def HeadObject(
    here: Here,
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
) -> Answer:
    """As GetObject, without opening bytes."""
    record = bucket_here(here, call, Bucket, ExpectedBucketOwner)
    replaced = overrides(
        call, ResponseCacheControl, ResponseContentDisposition, ResponseContentEncoding, ResponseContentLanguage, ResponseContentType, ResponseExpires
    )  # fmt: skip
    reading = Reading(Range, PartNumber, _wanted(ChecksumMode), IfMatch, IfNoneMatch, IfModifiedSince, IfUnmodifiedSince, replaced)
    facts = await here.store.head(objects.Key(Bucket, Key), check_version(record, VersionId))
    seen = view(call, record, Key, present(call, record, Key, VersionId, facts), reading)
    return Answer(seen.members, seen.status)


