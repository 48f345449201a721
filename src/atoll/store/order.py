"""What do all engines agree on? The order of versions and names, and the few rules that need no storage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from atoll.domain.errors import ApiError
from atoll.domain.objects import Facts, Key, Span, Stamp

ChangeKind = Literal["put", "marker", "amend", "delete"]
_LAST = "\U0010ffff"


def is_internal(bucket: str) -> bool:
    """No S3 bucket has a "!" in its name."""
    return "!" in bucket


def keeps_feed(bucket: str) -> bool:
    """Internal areas are nobody's to replicate: no feed, so that nobody has to trim one."""
    return not is_internal(bucket)


def next_stamp(facts: Facts, highest_ms: int | None, origin: str, now_ms: Callable[[], int]) -> Stamp:
    """The stamp that came with the facts, else a new one above everything that the key has here."""
    if facts.stamp is not None:
        return facts.stamp
    now = now_ms()
    return Stamp(now if highest_ms is None else max(now, highest_ms + 1), origin, facts.version)


def after_prefix(prefix: str) -> str | None:
    """The first name behind all names with this prefix; None when there is none (no prefix, or only the last character)."""
    stem = prefix.rstrip(_LAST)
    if not stem:
        return None
    follower = ord(stem[-1]) + 1
    return stem[:-1] + chr(0xE000 if follower == 0xD800 else follower)  # surrogates are no characters


def first_after(name: str) -> str:
    """The first name that could follow."""
    return name + "\0"


def amended(old: Facts, new: Facts) -> Facts:
    """A change of facts may not move the version in the order, nor speak of other bytes."""
    same = (new.version, new.stamp, new.marker, new.size) == (old.version, old.stamp, old.marker, old.size)
    assert same, "amend keeps version, stamp, marker and size"
    return new


def under(key: Key, discard: Key) -> bool:
    return key.bucket == discard.bucket and key.name.startswith(discard.name)


def check_join(key: Key, parts: Sequence[Key], discard: Key) -> None:
    """Parts become part of the new version, so each is joined once, and its own entry goes with the rest of the upload."""
    assert not under(key, discard), "the new version would be discarded"
    assert all(under(part, discard) for part in parts), "a part outside of what is discarded"
    assert len(set(parts)) == len(parts), "a part twice"


def missing_part(key: Key) -> ApiError:
    return ApiError("InvalidPart", f"The part {key.name!r} was not found.")


def cut(content: bytes, span: Span | None) -> bytes:
    if span is None:
        return content
    assert span.last < len(content), "a span beyond the end"
    return content[span.first : span.last + 1]
