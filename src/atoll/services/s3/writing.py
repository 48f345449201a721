"""What is stored of a new version besides its bytes, and what is answered?"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from atoll.domain.call import Call
from atoll.domain.objects import NULL_VERSION, Checksum, Facts, Part
from atoll.rules import metadata, replication, tags
from atoll.services.s3.buckets import still
from atoll.services.s3.here import Here
from atoll.services.s3.records import BucketRecord
from atoll.services.s3.versions import VERSION_BYTES, shown


@dataclass(frozen=True, slots=True)
class Draft:
    """What the caller says of an object, checked."""

    headers: Mapping[str, str] = field(default_factory=dict)
    meta: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)


def draft(
    call: Call,
    *,
    cache: str | None,
    disposition: str | None,
    encoding: str | None,
    language: str | None,
    type: str | None,
    user: Mapping[str, str] | None,
    tagging: str | None,
) -> Draft:
    """Expires is kept as the text that was sent: it need not be a date."""
    headers = {
        "cache-control": cache,
        "content-disposition": disposition,
        "content-encoding": encoding,
        "content-language": language,
        "content-type": type,
        "expires": call.request.headers.get("expires"),
    }
    return Draft(metadata.standard(headers), metadata.user(user), tags.from_header(tagging or ""))


def version_id(here: Here) -> str:
    return base64.urlsafe_b64encode(here.dice(VERSION_BYTES)).decode()


def next_version(here: Here, record: BucketRecord) -> str:
    return version_id(here) if record.versioning == "Enabled" else NULL_VERSION


def born(
    here: Here,
    call: Call,
    record: BucketRecord,
    key: str,
    draft: Draft,
    *,
    size: int,
    etag: str,
    checksum: Checksum | None,
    parts: tuple[Part, ...] = (),
    notes: Mapping[str, str] | None = None,
) -> Facts:
    """The facts of a new object, by what the bucket is at this moment. Raises NoSuchBucket when it is gone."""
    now = still(here, record)
    version = next_version(here, now)
    return Facts(
        version=version,
        size=size,
        etag=etag,
        modified_ms=call.now_ms,
        headers=draft.headers,
        meta=draft.meta,
        tags=draft.tags,
        checksum=checksum,
        parts=parts,
        replication=owed(here, now, key, version, draft.tags),
        owner=now.account,
        notes=notes or {},
    )


def owed(
    here: Here, record: BucketRecord, key: str, version: str, tags: Mapping[str, str], *, marker: bool = False
) -> Mapping[str, str]:
    """Where a new version must go. Null versions stay where they are."""
    rules = here.rules.of(record)
    if rules is None or version == NULL_VERSION:
        return {}
    kind: Literal["marker", "object"] = "marker" if marker else "object"
    return replication.pending(replication.destinations(rules, key, tags, kind=kind, by_user=True))


def grave(here: Here, call: Call, record: BucketRecord, key: str) -> Facts:
    """The facts of a new delete marker."""
    now = still(here, record)
    version = next_version(here, now)
    return Facts(
        version=version,
        modified_ms=call.now_ms,
        marker=True,
        replication=owed(here, now, key, version, {}, marker=True),
        owner=now.account,
    )


def checksum_members(checksum: Checksum | None) -> dict[str, str]:
    """ChecksumCRC32 and its kin, and ChecksumType."""
    if checksum is None:
        return {}
    return {f"Checksum{checksum.algorithm}": checksum.value, "ChecksumType": checksum.kind}


def written(record: BucketRecord, facts: Facts) -> dict[str, Any]:
    """What PutObject and its kin answer of the version that they made."""
    return {"ETag": f'"{facts.etag}"', **checksum_members(facts.checksum), **shown(record, facts.version)}
