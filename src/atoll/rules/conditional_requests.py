"""Conditional reads and writes: RFC 9110 §13 and S3's conditional writes."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from atoll.domain.errors import ApiError, not_implemented
from atoll.domain.objects import ALWAYS, Condition, ObjectMetadata

NO_ETAG = '""'  # an If-Match that names nothing matches nothing: it must not read as no condition at all


def write_condition(if_match: str | None, if_none_match: str | None) -> Condition:
    """The write headers as a Condition. Raises NotImplemented for the forms that S3 does not take.

    Source: S3 user guide, "Conditional writes", and answers recorded on AWS: If-None-Match takes only *, If-Match only an
    ETag, and never both at once.
    """
    if if_match is None and if_none_match is None:
        return ALWAYS
    if if_match is not None and if_none_match is not None:
        raise _refused("If-Match,If-None-Match")
    if if_match is None:
        if if_none_match != "*":
            raise _refused("If-None-Match")
        return Condition(if_none_match=True)
    if if_match.strip() == "*":
        raise _refused("If-Match")
    return Condition(if_match=bare_etag(if_match) or NO_ETAG)


def judge_write(condition: Condition, current: ObjectMetadata | None) -> None:
    """Raises PreconditionFailed, NoSuchKey or ConditionalRequestConflict when `condition` does not hold of `current`.

    `began_ms` (CompleteMultipartUpload) tells what happened during the upload, which AWS answers with 409 where the same
    state from before the upload would be 412.
    """
    if condition.if_none_match:
        _judge_absent(condition, current)
    if condition.if_match:
        _judge_match(condition, current)


def _judge_absent(condition: Condition, current: ObjectMetadata | None) -> None:
    if current is not None and not current.marker:
        raise _failed("If-None-Match")
    if condition.was_there if current is None else _written_since(condition, current):  # deleted while the parts were on their way
        raise _conflict("If-None-Match")


def _judge_match(condition: Condition, current: ObjectMetadata | None) -> None:
    if current is None or current.marker:
        raise ApiError("NoSuchKey", "The specified key does not exist.")
    if _written_since(condition, current):  # overwritten during the upload, even with equal bytes
        raise _conflict("If-Match")
    if not same_etag(condition.if_match, current.etag):
        raise _failed("If-Match")


def _written_since(condition: Condition, current: ObjectMetadata) -> bool:
    return bool(condition.began_ms) and current.stamp is not None and current.stamp.ms > condition.began_ms


def judge_read(
    metadata: ObjectMetadata,
    *,
    if_match: str | None = None,
    if_none_match: str | None = None,
    if_modified_since: str | None = None,
    if_unmodified_since: str | None = None,
) -> None:
    """Raises PreconditionFailed (412) or NotModified (304, with the validators as headers). Order of RFC 9110 §13.2.2.

    The first of each pair, when present, hides the second. A date that does not parse is ignored (RFC 9110 §13.1.3).
    """
    _judge_before(metadata, if_match, if_unmodified_since)
    if if_none_match is not None:
        if _listed(if_none_match, metadata.etag):
            raise _not_modified(metadata)
        return
    since = _date_ms(if_modified_since)
    if since is not None and _whole_second(metadata) <= since:
        raise _not_modified(metadata)


def _judge_before(metadata: ObjectMetadata, if_match: str | None, if_unmodified_since: str | None) -> None:
    if if_match is not None:
        if not _listed(if_match, metadata.etag):
            raise _failed("If-Match")
        return
    until = _date_ms(if_unmodified_since)
    if until is not None and _whole_second(metadata) > until:
        raise _failed("If-Unmodified-Since")


def copy_condition(
    metadata: ObjectMetadata,
    *,
    if_match: str | None = None,
    if_none_match: str | None = None,
    if_modified_since: str | None = None,
    if_unmodified_since: str | None = None,
) -> None:
    """The x-amz-copy-source-if-* headers against the source: as reads, but a failure is always 412. Source: S3 CopyObject."""
    try:
        judge_read(
            metadata,
            if_match=if_match,
            if_none_match=if_none_match,
            if_modified_since=if_modified_since,
            if_unmodified_since=if_unmodified_since,
        )
    except ApiError as fault:
        before = "If-Match" if if_match is not None else "If-Unmodified-Since"
        after = "If-None-Match" if if_none_match is not None else "If-Modified-Since"
        name = before if fault.code == "PreconditionFailed" else after
        raise _failed(f"x-amz-copy-source-{name}") from fault


def bare_etag(text: str) -> str:
    """An ETag as it is stored: no quotes (also not as XML entities, which some clients send), no weakness mark."""
    return text.replace("&quot;", '"').replace("&#34;", '"').strip().removeprefix("W/").strip('"')


def same_etag(left: str, right: str) -> bool:
    return bare_etag(left) == bare_etag(right)


def _listed(header: str, etag: str) -> bool:
    """Is `etag` in a list of entity tags? ETags of S3 hold no comma. RFC 9110 §13.1.1."""
    bare = bare_etag(etag)
    return any(item.strip() == "*" or bare_etag(item) == bare for item in header.split(","))


def _whole_second(metadata: ObjectMetadata) -> int:
    """Last-Modified has whole seconds: what the client sends back must count as the same time."""
    return metadata.modified_ms // 1000 * 1000


def _date_ms(text: str | None) -> int | None:
    if not text:
        return None
    try:
        when = parsedate_to_datetime(text)
    except ValueError:
        return None
    return int((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000)


def _not_modified(metadata: ObjectMetadata) -> ApiError:
    when = datetime.fromtimestamp(metadata.modified_ms // 1000, UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
    return ApiError("NotModified", headers={"etag": f'"{metadata.etag}"', "last-modified": when})


def _failed(condition: str) -> ApiError:
    return ApiError(
        "PreconditionFailed", "At least one of the pre-conditions you specified did not hold.", Condition=condition
    )


def _conflict(condition: str) -> ApiError:
    return ApiError(
        "ConditionalRequestConflict", "The key changed while the upload was in progress.", Condition=condition
    )


def _refused(header: str) -> ApiError:
    fault = not_implemented(f"this form of {header} on a write")
    return ApiError(fault.code, fault.message, Header=header)
