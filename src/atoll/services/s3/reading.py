"""What does a caller see of one version, whole or in part?"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import lru_cache
from typing import Any

import msgspec

from atoll.domain.arn import object_arn
from atoll.domain.call import Call
from atoll.domain.errors import ApiError
from atoll.domain.objects import Checksum, Facts, Span
from atoll.rules import conditional, metadata, ranges, replication
from atoll.services.s3.records import BucketRecord
from atoll.services.s3.versions import shown
from atoll.services.s3.writing import checksum_members

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


class Reading(msgspec.Struct, frozen=True):
    """What a GET or HEAD asks for. `overrides` maps output members to the values of response-* parameters."""

    range: str | None = None
    part: int | None = None
    checksums: bool = False
    if_match: str | None = None
    if_none_match: str | None = None
    if_modified_since: datetime | None = None
    if_unmodified_since: datetime | None = None
    overrides: Mapping[str, Any] = _NO_OVERRIDES


class View(msgspec.Struct, frozen=True):
    """The answer to a Reading: which bytes, and everything but the bytes."""

    span: Span | None
    empty: bool
    status: int
    members: dict[str, Any]


def view(call: Call, record: BucketRecord, key: str, facts: Facts, reading: Reading) -> View:
    """Raises PreconditionFailed, NotModified, InvalidRange, InvalidPartNumber, InvalidRequest, InvalidArgument."""
    _check(call, reading)
    _judge(facts, reading)
    partial, span = _bytes(facts, reading)
    length = span.size if span else 0 if partial else facts.size
    members = _members(call, record, key, facts)
    if reading.part is not None or reading.checksums:
        members.update(_part_members(facts, reading, partial=partial))
    members["ContentLength"] = length
    if span:
        members["ContentRange"] = f"bytes {span.first}-{span.last}/{facts.size}"
    if reading.overrides:
        members.update(reading.overrides)
    return View(span, length == 0, 206 if partial else 200, members)


def _judge(facts: Facts, reading: Reading) -> None:
    """Raises PreconditionFailed, NotModified."""
    match, none_match, since, until = reading.if_match, reading.if_none_match, reading.if_modified_since, reading.if_unmodified_since
    if match is None and none_match is None and since is None and until is None:
        return
    conditional.judge_read(
        facts,
        if_match=match,
        if_none_match=none_match,
        if_modified_since=http_date(since),
        if_unmodified_since=http_date(until),
    )


def http_date(moment: datetime | None) -> str | None:
    return None if moment is None else format_datetime(moment.astimezone(UTC), usegmt=True)


def _bytes(facts: Facts, reading: Reading) -> tuple[bool, Span | None]:
    """Is it a part of the object that is asked for, and which bytes (None: all, or none of an empty part)?"""
    if reading.part is not None:
        return True, ranges.part_span(facts, reading.part)
    span = ranges.resolve(reading.range, facts.size)
    return span is not None, span


def _part_members(facts: Facts, reading: Reading, *, partial: bool) -> dict[str, Any]:
    members: dict[str, Any] = {}
    if reading.part is not None and facts.parts:
        members["PartsCount"] = len(facts.parts)
    if reading.checksums:
        members |= checksum_members(_checksum(facts, reading, partial=partial))
    return members


def _checksum(facts: Facts, reading: Reading, *, partial: bool) -> Checksum | None:
    """Never the object's on a part of it: SDKs verify it against the bytes that come."""
    whole = facts.checksum
    if whole is None or not partial:
        return whole
    if reading.part is None:
        return None
    if whole.kind == "COMPOSITE":
        value = next(part.checksum for part in facts.parts if part.number == reading.part)
        return Checksum(whole.algorithm, whole.kind, value)
    return whole if len(facts.parts) <= 1 else None


def _members(call: Call, record: BucketRecord, key: str, facts: Facts) -> dict[str, Any]:
    members: dict[str, Any] = {
        "AcceptRanges": "bytes",
        "LastModified": modified(facts),
        "ETag": f'"{facts.etag}"',
        **shown(record, facts.version),
    }
    for name, value in facts.headers.items():
        if name in _MEMBERS:
            members[_MEMBERS[name]] = value
    if facts.meta:
        members["Metadata"] = metadata.shown(facts.meta)
    if facts.replication or facts.replica:
        members["ReplicationStatus"] = replication.status(facts.replication, replica=facts.replica)
    if facts.tags and call.may("s3:GetObjectTagging", object_arn(record.name, key)):
        members["TagCount"] = len(facts.tags)
    return members


def modified(facts: Facts) -> datetime:
    return _moment(facts.modified_ms)


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


def _check(call: Call, reading: Reading) -> None:
    if reading.range is not None and reading.part is not None:
        raise ApiError("InvalidRequest", "Cannot specify both Range header and partNumber query parameter")
