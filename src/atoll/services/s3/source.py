"""Which bytes does a copy start from, and may this caller have them?"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from atoll.domain import objects
from atoll.domain.arn import object_arn
from atoll.domain.call import Call
from atoll.domain.errors import ApiError, not_implemented
from atoll.domain.objects import Facts, Found
from atoll.rules import conditional, copysource
from atoll.services.s3.buckets import bucket_anywhere
from atoll.services.s3.here import Here
from atoll.services.s3.reading import http_date
from atoll.services.s3.records import BucketRecord
from atoll.services.s3.versions import check_reach, check_version, missing


@dataclass(frozen=True, slots=True)
class Terms:
    """The x-amz-copy-source-if-* headers, and who the source must belong to."""

    if_match: str | None = None
    if_none_match: str | None = None
    if_modified_since: datetime | None = None
    if_unmodified_since: datetime | None = None
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A version that may be copied. Whoever does not read its bytes closes `found`."""

    named: copysource.CopySource
    record: BucketRecord
    found: Found

    @property
    def facts(self) -> Facts:
        return self.found.facts


async def source_of(here: Here, call: Call, text: str, terms: Terms) -> Source:
    """Raises AccessDenied, NoSuchBucket, NoSuchKey, NoSuchVersion, InvalidRequest (a marker), PreconditionFailed;
    NotImplemented for a source in another region."""
    named = copysource.parse(text)
    action = "s3:GetObject" if named.version is None else "s3:GetObjectVersion"
    call.allow(action, object_arn(named.bucket, named.key))
    record = bucket_anywhere(here, named.bucket, terms.owner)
    if record.region != here.region:
        raise not_implemented(f"a copy source in another region: {named.bucket} is in {record.region}")
    found = await here.store.get(objects.Key(named.bucket, named.key), check_version(record, named.version))
    if found is None:
        raise missing(call, record, named.key, named.version)
    try:
        _check(call, record, named, found.facts)
        _judge(call, found.facts, terms)
    except ApiError:
        found.close()
        raise
    return Source(named, record, found)


def _check(call: Call, record: BucketRecord, named: copysource.CopySource, facts: Facts) -> None:
    if not facts.marker:
        check_reach(call, record, facts)
        return
    if named.version is None:
        raise missing(call, record, named.key, None)
    raise ApiError("InvalidRequest", "The source of a copy request may not specifically refer to a delete marker by version id.")


def _judge(call: Call, facts: Facts, terms: Terms) -> None:
    """A modified-since date in the future is ignored. Source: S3 API, CopyObject."""
    since = terms.if_modified_since
    conditional.copy_condition(
        facts,
        if_match=terms.if_match,
        if_none_match=terms.if_none_match,
        if_modified_since=http_date(since if since is None or since.timestamp() <= call.now else None),
        if_unmodified_since=http_date(terms.if_unmodified_since),
    )


def source_version(source: Source) -> dict[str, str]:
    """x-amz-copy-source-version-id, when the source's bucket has versions."""
    return {"CopySourceVersionId": source.facts.version} if source.record.versioning else {}
