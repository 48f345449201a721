"""How does an object come in parts?"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from atoll.domain import objects
from atoll.domain.call import Answer, Call
from atoll.domain.errors import ApiError
from atoll.domain.limits import OBJECT_PUT_MAX_BYTES
from atoll.domain.message import EMPTY
from atoll.domain.message import Body as Stream
from atoll.domain.names import check_key
from atoll.domain.objects import Checksum, Facts, Span
from atoll.rules import bodysum, hashing, metadata, owners, partsums, ranges, uploads
from atoll.services.s3 import upload as uploading
from atoll.services.s3.buckets import bucket_here, still
from atoll.services.s3.here import Here, payload_of
from atoll.services.s3.measure import Measure, measured
from atoll.services.s3.reading import modified
from atoll.services.s3.records import BucketRecord
from atoll.services.s3.source import Source, Terms, source_of, source_version
from atoll.services.s3.upload import Upload, find
from atoll.services.s3.writing import checksum_members, draft


async def CreateMultipartUpload(
    here: Here,
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
) -> Answer:
    """Remembers everything that the object will need."""
    record = bucket_here(here, call, Bucket, ExpectedBucketOwner)
    check_key(Key)
    owners.check_canned(ACL, record.ownership)
    metadata.check_storage_class(StorageClass)
    declared = partsums.declared(ChecksumAlgorithm, ChecksumType)
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
    upload_id = uploads.upload_id(here.region, here.dice(uploads.UPLOAD_ID_BYTES))
    current = await here.store.head(objects.Key(Bucket, Key))
    was_there = current is not None and not current.marker
    notes = uploading.notes(Key, declared, _began_ms(call, current), was_there=was_there)
    facts = Facts(modified_ms=call.now_ms, headers=said.headers, meta=said.meta, tags=said.tags, owner=record.account, notes=notes)
    await here.store.put(uploads.folder(Bucket, upload_id), EMPTY, lambda: _in(here, record, facts))
    sums = {"ChecksumAlgorithm": declared[0], "ChecksumType": declared[1]} if declared else {}
    return Answer({"Bucket": Bucket, "Key": Key, "UploadId": upload_id, **sums})


def _in(here: Here, record: BucketRecord, facts: Facts) -> Facts:
    """The facts, unless the bucket has gone. Raises NoSuchBucket."""
    still(here, record)
    return facts


def _began_ms(call: Call, current: Facts | None) -> int:
    """Whatever is written to the key from now on has a later stamp: it then was written during the upload."""
    newest = current.stamp.ms if current is not None and current.stamp is not None else 0
    return max(call.now_ms, newest)


async def UploadPart(
    here: Here,
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
) -> Answer:
    """Sending a number again replaces the part."""
    record = bucket_here(here, call, Bucket, ExpectedBucketOwner)
    number = uploads.check_number(PartNumber)
    upload = await find(here.store, Bucket, Key, UploadId)
    stated = bodysum.stated(call.request.headers)
    _check_algorithm(upload, stated)
    own = None if (stated or hashing.DEFAULT) == upload.needed else Measure(upload.needed)

    def seal() -> Facts:
        payload = payload_of(call)
        checksum = own.checksum if own else payload.checksum
        return _in(here, record, _part(call, payload.size, payload.md5_hex, checksum))

    facts = await _put_part(here, upload, upload.part(number), measured(call.body, own) if own else call.body, seal)
    shown = payload_of(call).checksum if stated else facts.checksum if upload.algorithm else None
    return Answer({"ETag": f'"{facts.etag}"', **_value(shown)})


def _check_algorithm(upload: Upload, stated: str | None) -> None:
    if upload.algorithm and stated and stated != upload.algorithm:
        raise ApiError(
            "InvalidRequest",
            f"Checksum Type mismatch occurred, expected checksum Type: {upload.algorithm.lower()}, "
            f"actual checksum Type: {stated.lower()}",
        )
    if upload.kind == "COMPOSITE" and not stated:
        raise ApiError(
            "InvalidRequest",
            f"Checksum Type mismatch occurred, expected checksum Type: {upload.algorithm.lower()}, actual checksum Type: null",
        )


def _part(call: Call, size: int, etag: str, checksum: Checksum) -> Facts:
    return Facts(size=size, etag=etag, modified_ms=call.now_ms, checksum=checksum)


async def _put_part(here: Here, upload: Upload, place: objects.Key, body: Stream, seal: objects.Seal) -> Facts:
    """Store a part; one that arrives after the upload has ended goes again."""
    facts = await here.store.put(place, body, seal)
    if await uploading.look(here.store, upload.bucket, upload.key, upload.id) is None:
        await here.store.delete(place, facts.version)
        raise uploading.no_such_upload(upload.id)
    return facts


def _value(checksum: Checksum | None) -> dict[str, str]:
    """Parts have a checksum, but no type of it."""
    return {name: value for name, value in checksum_members(checksum).items() if name != "ChecksumType"}


async def UploadPartCopy(
    here: Here,
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
) -> Answer:
    """A part whose bytes are already here."""
    record = bucket_here(here, call, Bucket, ExpectedBucketOwner)
    number = uploads.check_number(PartNumber)
    upload = await find(here.store, Bucket, Key, UploadId)
    terms = Terms(
        CopySourceIfMatch,
        CopySourceIfNoneMatch,
        CopySourceIfModifiedSince,
        CopySourceIfUnmodifiedSince,
        ExpectedSourceBucketOwner,
    )
    source = await source_of(here, call, CopySource, terms)
    span = _span(source, CopySourceRange)
    measure = Measure(upload.needed)

    def seal() -> Facts:
        return _in(here, record, _part(call, measure.size, measure.md5_hex, measure.checksum))

    facts = await _put_part(here, upload, upload.part(number), measured(source.found.body(span), measure), seal)
    result = {"ETag": f'"{facts.etag}"', "LastModified": modified(facts)}
    return Answer(
        {
            "CopyPartResult": {**result, **(_value(facts.checksum) if upload.algorithm else {})},
            **source_version(source),
        }
    )


def _span(source: Source, text: str | None) -> Span | None:
    try:
        span = None if text is None else ranges.copy_span(text, source.facts.size)
        if (span.size if span else source.facts.size) > OBJECT_PUT_MAX_BYTES:
            raise ApiError(
                "InvalidRequest",
                f"The specified copy source is larger than the maximum allowable size for a copy source: {OBJECT_PUT_MAX_BYTES}",
            )
    except ApiError:
        source.found.close()
        raise
    return span


async def AbortMultipartUpload(
    here: Here, call: Call, *, Bucket: str, Key: str, UploadId: str, ExpectedBucketOwner: str | None = None
) -> Answer:
    """An upload that has ended already counts as aborted, so that a repeated or raced abort succeeds.

    S3 answers so for a day, while it remembers the upload. Raises NoSuchUpload for an id that this region cannot have
    issued, and for that of another key.
    """
    bucket_here(here, call, Bucket, ExpectedBucketOwner)
    folder = uploads.folder(Bucket, UploadId)
    if await uploading.look(here.store, Bucket, Key, UploadId) is not None:
        await here.store.drop(folder)
    elif uploads.issued_by(UploadId) != here.region or await here.store.head(folder) is not None:
        raise uploading.no_such_upload(UploadId)
    return Answer(status=204)


