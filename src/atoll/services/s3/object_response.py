"""Output members and body of GetObject and HeadObject, whole or in part."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import lru_cache
from typing import Any

import msgspec

from atoll.domain.api_call import Call
from atoll.domain.arn import object_arn
from atoll.domain.errors import ApiError
from atoll.domain.objects import ByteRange, Checksum, ObjectMetadata
from atoll.rules import byte_ranges, conditional_requests, object_headers, replication_status
from atoll.services.s3.new_version import checksum_members
from atoll.services.s3.records import BucketRecord
from atoll.services.s3.version_lookup import version_members

MOMENTS_REMEMBERED = 4096  # what is popular is read again

# Stored header -> AWS's member
_MEMBERS = {
    "cache-control": "CacheControl",
    "content-disposition": "ContentDisposition",
    "content-encoding": "ContentEncoding",
    "content-language": "ContentLanguage",
    "content-type": "ContentType",
    "expires": "Expires",
}


_OVERRIDDEN = ("CacheControl", "ContentDisposition", "ContentEncoding", "ContentLanguage", "ContentType", "Expires")
_NONE_GIVEN = (None,) * len(_OVERRIDDEN)
_NO_OVERRIDES: Mapping[str, Any] = {}


class ReadRequest(msgspec.Struct, frozen=True):
    """What a GET or HEAD asks for. `overrides` maps output members to the values of response-* parameters."""

    range: str | None = None
    part: int | None = None
    checksums: bool = False
    if_match: str | None = None
    if_none_match: str | None = None
    if_modified_since: datetime | None = None
    if_unmodified_since: datetime | None = None
    overrides: Mapping[str, Any] = _NO_OVERRIDES


class ReadResponse(msgspec.Struct, frozen=True):
    """The answer to a Reading: which bytes, and everything but the bytes."""

    byte_range: ByteRange | None
    empty: bool
    status: int
    members: dict[str, Any]


def read_response(call: Call, record: BucketRecord, key: str, metadata: ObjectMetadata, read_request: ReadRequest) -> ReadResponse:
    """Raises PreconditionFailed, NotModified, InvalidRange, InvalidPartNumber, InvalidRequest, InvalidArgument."""
    _check(call, read_request)
    _judge(metadata, read_request)
    partial, byte_range = _bytes(metadata, read_request)
    length = byte_range.size if byte_range else 0 if partial else metadata.size
    members = _members(call, record, key, metadata)
    if read_request.part is not None or read_request.checksums:
        members.update(_part_members(metadata, read_request, partial=partial))
    members["ContentLength"] = length
    if byte_range:
        members["ContentRange"] = f"bytes {byte_range.first}-{byte_range.last}/{metadata.size}"
    if read_request.overrides:
        members.update(read_request.overrides)
    return ReadResponse(byte_range, length == 0, 206 if partial else 200, members)


def _judge(metadata: ObjectMetadata, read_request: ReadRequest) -> None:
    """Raises PreconditionFailed, NotModified."""
    match, none_match, since, until = read_request.if_match, read_request.if_none_match, read_request.if_modified_since, read_request.if_unmodified_since
    if match is None and none_match is None and since is None and until is None:
        return
    conditional_requests.judge_read(
        metadata,
        if_match=match,
        if_none_match=none_match,
        if_modified_since=http_date(since),
        if_unmodified_since=http_date(until),
    )


def http_date(moment: datetime | None) -> str | None:
    return None if moment is None else format_datetime(moment.astimezone(UTC), usegmt=True)


def _bytes(metadata: ObjectMetadata, read_request: ReadRequest) -> tuple[bool, ByteRange | None]:
    """Is it a part of the object that is asked for, and which bytes (None: all, or none of an empty part)?"""
    if read_request.part is not None:
        return True, byte_ranges.part_range(metadata, read_request.part)
    byte_range = byte_ranges.resolve_range(read_request.range, metadata.size)
    return byte_range is not None, byte_range


def _part_members(metadata: ObjectMetadata, read_request: ReadRequest, *, partial: bool) -> dict[str, Any]:
    members: dict[str, Any] = {}
    if read_request.part is not None and metadata.parts:
        members["PartsCount"] = len(metadata.parts)
    if read_request.checksums:
        members |= checksum_members(_checksum(metadata, read_request, partial=partial))
    return members


def _checksum(metadata: ObjectMetadata, read_request: ReadRequest, *, partial: bool) -> Checksum | None:
    """Never the object's on a part of it: SDKs verify it against the bytes that come."""
    whole = metadata.checksum
    if whole is None or not partial:
        return whole
    if read_request.part is None:
        return None
    if whole.kind == "COMPOSITE":
        value = next(part.checksum for part in metadata.parts if part.number == read_request.part)
        return Checksum(whole.algorithm, whole.kind, value)
    return whole if len(metadata.parts) <= 1 else None


def _members(call: Call, record: BucketRecord, key: str, metadata: ObjectMetadata) -> dict[str, Any]:
    members: dict[str, Any] = {
        "AcceptRanges": "bytes",
        "LastModified": modified(metadata),
        "ETag": f'"{metadata.etag}"',
        **version_members(record, metadata.version),
    }
    for name, value in metadata.headers.items():
        if name in _MEMBERS:
            members[_MEMBERS[name]] = value
    if metadata.meta:
        members["Metadata"] = object_headers.response_metadata(metadata.meta)
    if metadata.replication or metadata.replica:
        members["ReplicationStatus"] = replication_status.status(metadata.replication, replica=metadata.replica)
    if metadata.tags and call.may("s3:GetObjectTagging", object_arn(record.name, key)):
        members["TagCount"] = len(metadata.tags)
    return members


def modified(metadata: ObjectMetadata) -> datetime:
    return _moment(metadata.modified_ms)


@lru_cache(maxsize=MOMENTS_REMEMBERED)
def _moment(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


def overrides(call: Call, *given: Any) -> Mapping[str, Any]:
    """The response-* parameters, given in the order of _OVERRIDDEN, by output member. Raises InvalidRequest for who did not
    sign, InvalidArgument.
    """
    if given == _NONE_GIVEN:
        return _NO_OVERRIDES
    chosen = {member: value for member, value in zip(_OVERRIDDEN, given, strict=True) if value is not None}
    if call.caller.kind == "anonymous":
        raise ApiError(
            "InvalidRequest", "Request specific response headers cannot be used for anonymous GET requests."
        )
    for member, value in chosen.items():
        if isinstance(value, str) and not _latin(value):
            raise ApiError(
                "InvalidArgument",
                "Header value cannot be represented using ISO-8859-1.",
                ArgumentName=member,
                ArgumentValue=value,
            )
    return chosen


def _latin(text: str) -> bool:
    return all(" " <= char <= "\xff" for char in text)


def _check(call: Call, read_request: ReadRequest) -> None:
    if read_request.range is not None and read_request.part is not None:
        raise ApiError("InvalidRequest", "Cannot specify both Range header and partNumber query parameter")
