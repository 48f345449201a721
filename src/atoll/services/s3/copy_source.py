"""Opens the source of a copy, if this caller may read it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from atoll.domain import objects
from atoll.domain.api_call import Call
from atoll.domain.arn import object_arn
from atoll.domain.errors import ApiError, not_implemented
from atoll.domain.objects import ObjectMetadata, StoredObject
from atoll.rules import conditional_requests, copy_source
from atoll.services.s3.bucket_lookup import bucket_of_world
from atoll.services.s3.dependencies import Dependencies
from atoll.services.s3.object_response import http_date
from atoll.services.s3.records import BucketRecord
from atoll.services.s3.version_lookup import check_reach, check_version, not_found_error


@dataclass(frozen=True, slots=True)
class CopyConditions:
    """The x-amz-copy-source-if-* headers, and who the source must belong to."""

    if_match: str | None = None
    if_none_match: str | None = None
    if_modified_since: datetime | None = None
    if_unmodified_since: datetime | None = None
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """A version that may be copied. Whoever does not read its bytes closes `found`."""

    named: copy_source.CopySource
    record: BucketRecord
    found: StoredObject

    @property
    def metadata(self) -> ObjectMetadata:
        return self.found.metadata


async def source_of(deps: Dependencies, call: Call, text: str, copy_conditions: CopyConditions) -> Source:
    """Raises AccessDenied, NoSuchBucket, NoSuchKey, NoSuchVersion, InvalidRequest (a marker), PreconditionFailed;
    NotImplemented for a source in another region."""
    named = copy_source.parse(text)
    action = "s3:GetObject" if named.version is None else "s3:GetObjectVersion"
    call.allow(action, object_arn(named.bucket, named.key))
    record = bucket_of_world(deps, named.bucket, copy_conditions.owner)
    if record.region != deps.region:
        raise not_implemented(f"a copy source in another region: {named.bucket} is in {record.region}")
    found = await deps.store.get(objects.Key(named.bucket, named.key), check_version(record, named.version))
    if found is None:
        raise not_found_error(call, record, named.key, named.version)
    try:
        _check(call, record, named, found.metadata)
        _judge(call, found.metadata, copy_conditions)
    except ApiError:
        found.close()
        raise
    return Source(named, record, found)


def _check(call: Call, record: BucketRecord, named: copy_source.CopySource, metadata: ObjectMetadata) -> None:
    if not metadata.marker:
        check_reach(call, record, metadata)
        return
    if named.version is None:
        raise not_found_error(call, record, named.key, None)
    raise ApiError("InvalidRequest", "The source of a copy request may not specifically refer to a delete marker by version id.")


def _judge(call: Call, metadata: ObjectMetadata, copy_conditions: CopyConditions) -> None:
    """A modified-since date in the future is ignored. Source: S3 API, CopyObject."""
    since = copy_conditions.if_modified_since
    conditional_requests.copy_condition(
        metadata,
        if_match=copy_conditions.if_match,
        if_none_match=copy_conditions.if_none_match,
        if_modified_since=http_date(since if since is None or since.timestamp() <= call.now else None),
        if_unmodified_since=http_date(copy_conditions.if_unmodified_since),
    )


def source_version(source: Source) -> dict[str, str]:
    """x-amz-copy-source-version-id, when the source's bucket has versions."""
    return {"CopySourceVersionId": source.metadata.version} if source.record.versioning else {}
