"""How does an object become another one without leaving the region?"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from atoll.domain import objects
from atoll.domain.call import Answer, Call
from atoll.domain.errors import ApiError
from atoll.domain.limits import OBJECT_PUT_MAX_BYTES
from atoll.domain.names import check_key
from atoll.domain.objects import Facts
from atoll.rules import conditional, hashing, metadata, owners
from atoll.rules.policy.actions_s3 import copy_tags_needs
from atoll.services.s3.buckets import bucket_here
from atoll.services.s3.here import Here
from atoll.services.s3.measure import Measure, measured
from atoll.services.s3.reading import modified
from atoll.services.s3.records import BucketRecord
from atoll.services.s3.source import Source, Terms, source_of, source_version
from atoll.services.s3.versions import shown
from atoll.services.s3.writing import Draft, born, checksum_members, draft


async def CopyObject(
    here: Here,
    call: Call,
    *,
    Bucket: str,
    Key: str,
    CopySource: str,
    ACL: str | None = None,
    CacheControl: str | None = None,
    ChecksumAlgorithm: str | None = None,
    ContentDisposition: str | None = None,
    ContentEncoding: str | None = None,
    ContentLanguage: str | None = None,
    ContentType: str | None = None,
    CopySourceIfMatch: str | None = None,
    CopySourceIfModifiedSince: datetime | None = None,
    CopySourceIfNoneMatch: str | None = None,
    CopySourceIfUnmodifiedSince: datetime | None = None,
    Expires: datetime | str | None = None,
    IfMatch: str | None = None,
    IfNoneMatch: str | None = None,
    Metadata: Mapping[str, str] | None = None,
    MetadataDirective: str | None = None,
    StorageClass: str | None = None,
    Tagging: str | None = None,
    TaggingDirective: str | None = None,
    ExpectedBucketOwner: str | None = None,
    ExpectedSourceBucketOwner: str | None = None,
) -> Answer:
    """The copy of a multipart object is a single object, with the MD5 of its bytes as ETag and a full-object checksum."""
    record = bucket_here(here, call, Bucket, ExpectedBucketOwner)
    check_key(Key)
    owners.check_canned(ACL, record.ownership)
    metadata.check_storage_class(StorageClass)
    condition = conditional.write_condition(IfMatch, IfNoneMatch)
    wanted = hashing.algorithm(ChecksumAlgorithm).name if ChecksumAlgorithm else None
    replaces, retags = _replaces("metadata", MetadataDirective), _replaces("tagging", TaggingDirective)
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
    terms = Terms(
        CopySourceIfMatch,
        CopySourceIfNoneMatch,
        CopySourceIfModifiedSince,
        CopySourceIfUnmodifiedSince,
        ExpectedSourceBucketOwner,
    )
    source = await source_of(here, call, CopySource, terms)
    try:
        await _check(here, record, Key, source, changes=replaces or StorageClass is not None)
        merged = _merged(call, (record.name, Key), source, said, replaces=replaces, retags=retags)
    except BaseException:  # a caller who goes away while this waits leaves no open file either
        source.found.close()
        raise
    measure = Measure(wanted or _algorithm(source.facts))

    def seal() -> Facts:
        return born(here, call, record, Key, merged, size=measure.size, etag=measure.md5_hex, checksum=measure.checksum)

    body = measured(source.found.body(), measure)
    facts = await here.store.put(objects.Key(Bucket, Key), body, seal, condition)
    result = {"ETag": f'"{facts.etag}"', "LastModified": modified(facts), **checksum_members(facts.checksum)}
    return Answer({"CopyObjectResult": result, **source_version(source), **shown(record, facts.version)})


def _replaces(what: str, directive: str | None) -> bool:
    if directive not in (None, "COPY", "REPLACE"):
        raise ApiError(
            "InvalidArgument",
            f"Unknown {what} directive.",
            ArgumentName=f"x-amz-{what}-directive",
            ArgumentValue=directive or "",
        )
    return directive == "REPLACE"


async def _check(here: Here, record: BucketRecord, key: str, source: Source, *, changes: bool) -> None:
    """Raises InvalidRequest for a source that is too large, and for a copy onto itself that changes nothing."""
    if source.facts.size > OBJECT_PUT_MAX_BYTES:
        raise ApiError(
            "InvalidRequest",
            "The specified copy source is larger than the maximum allowable size for a copy source: "
            f"{OBJECT_PUT_MAX_BYTES}",
        )
    if changes or (source.named.bucket, source.named.key) != (record.name, key):
        return
    current = await here.store.head(objects.Key(record.name, key))
    if current is not None and current.version == source.facts.version:
        raise ApiError(
            "InvalidRequest",
            "This copy request is illegal because it is trying to copy an object to itself without changing the "
            "object's metadata, storage class, website redirect location or encryption attributes.",
        )


def _merged(
    call: Call, to: tuple[str, str], source: Source, said: Draft, *, replaces: bool, retags: bool
) -> Draft:
    """REPLACE replaces everything, it does not merge. Tags that go along need their own permissions."""
    facts = source.facts
    if not retags and facts.tags:
        named = source.named
        for need in copy_tags_needs((named.bucket, named.key, named.version or ""), *to):
            call.allow(need.action, need.resource)
    return Draft(
        said.headers if replaces else facts.headers,
        said.meta if replaces else facts.meta,
        said.tags if retags else facts.tags,
    )


def _algorithm(facts: Facts) -> str:
    """The destination keeps the source's algorithm unless another one is asked for."""
    return facts.checksum.algorithm if facts.checksum else hashing.DEFAULT
