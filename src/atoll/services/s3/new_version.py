"""Metadata of a new version, and the output members of writing one."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from atoll.domain.api_call import Call
from atoll.domain.objects import NULL_VERSION, Checksum, ObjectMetadata, Part
from atoll.rules import object_headers, replication_status, tag_sets
from atoll.services.s3.bucket_lookup import unchanged_bucket
from atoll.services.s3.dependencies import Dependencies
from atoll.services.s3.records import BucketRecord
from atoll.services.s3.version_lookup import VERSION_BYTES, version_members


@dataclass(frozen=True, slots=True)
class ObjectAttributes:
    """What the caller says of an object, checked."""

    headers: Mapping[str, str] = field(default_factory=dict)
    meta: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)


def parse_attributes(
    call: Call,
    *,
    cache: str | None,
    disposition: str | None,
    encoding: str | None,
    language: str | None,
    type: str | None,
    user: Mapping[str, str] | None,
    tagging: str | None,
) -> ObjectAttributes:
    """Expires is kept as the text that was sent: it need not be a date."""
    headers = {
        "cache-control": cache,
        "content-disposition": disposition,
        "content-encoding": encoding,
        "content-language": language,
        "content-type": type,
        "expires": call.request.headers.get("expires"),
    }
    return ObjectAttributes(object_headers.system_headers(headers), object_headers.user_metadata(user), tag_sets.from_header(tagging or ""))


def new_version_id(deps: Dependencies) -> str:
    return base64.urlsafe_b64encode(deps.random_bytes(VERSION_BYTES)).decode()


def next_version(deps: Dependencies, record: BucketRecord) -> str:
    return new_version_id(deps) if record.versioning == "Enabled" else NULL_VERSION


def new_metadata(
    deps: Dependencies,
    call: Call,
    record: BucketRecord,
    key: str,
    attributes: ObjectAttributes,
    *,
    size: int,
    etag: str,
    checksum: Checksum | None,
    parts: tuple[Part, ...] = (),
    notes: Mapping[str, str] | None = None,
) -> ObjectMetadata:
    """The metadata of a new object, by what the bucket is at this moment. Raises NoSuchBucket when it is gone."""
    now = unchanged_bucket(deps, record)
    version = next_version(deps, now)
    return ObjectMetadata(
        version=version,
        size=size,
        etag=etag,
        modified_ms=call.now_ms,
        headers=attributes.headers,
        meta=attributes.meta,
        tags=attributes.tags,
        checksum=checksum,
        parts=parts,
        replication=pending_replications(deps, now, key, version, attributes.tags),
        owner=now.account,
        notes=notes or {},
    )


def pending_replications(
    deps: Dependencies, record: BucketRecord, key: str, version: str, tags: Mapping[str, str], *, marker: bool = False
) -> Mapping[str, str]:
    """Where a new version must go. Null versions stay where they are."""
    rules = deps.rules.of(record)
    if rules is None or version == NULL_VERSION:
        return {}
    kind: Literal["marker", "object"] = "marker" if marker else "object"
    return replication_status.pending(replication_status.destinations(rules, key, tags, kind=kind, by_user=True))


def new_delete_marker(deps: Dependencies, call: Call, record: BucketRecord, key: str) -> ObjectMetadata:
    """The metadata of a new delete marker."""
    now = unchanged_bucket(deps, record)
    version = next_version(deps, now)
    return ObjectMetadata(
        version=version,
        modified_ms=call.now_ms,
        marker=True,
        replication=pending_replications(deps, now, key, version, {}, marker=True),
        owner=now.account,
    )


def checksum_members(checksum: Checksum | None) -> dict[str, str]:
    """ChecksumCRC32 and its kin, and ChecksumType."""
    if checksum is None:
        return {}
    return {f"Checksum{checksum.algorithm}": checksum.value, "ChecksumType": checksum.kind}


def written_members(record: BucketRecord, metadata: ObjectMetadata) -> dict[str, Any]:
    """What PutObject and its kin answer of the version that they made."""
    return {"ETag": f'"{metadata.etag}"', **checksum_members(metadata.checksum), **version_members(record, metadata.version)}
