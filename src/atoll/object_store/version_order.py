"""The order of versions and names that all engines share, and the few rules that need no storage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from atoll.domain.errors import ApiError
from atoll.domain.objects import ByteRange, Key, ObjectMetadata, Stamp

ChangeKind = Literal["put", "marker", "amend", "delete"]
_LAST = "\U0010ffff"


def is_internal(bucket: str) -> bool:
    """No S3 bucket has a "!" in its name."""
    return "!" in bucket


def keeps_feed(bucket: str) -> bool:
    """Internal areas are nobody's to replicate: no feed, so that nobody has to trim one."""
    return not is_internal(bucket)


def next_stamp(metadata: ObjectMetadata, highest_ms: int | None, origin_region: str, now_ms: Callable[[], int]) -> Stamp:
    """The stamp that came with the metadata, else a new one above everything that the key has here."""
    if metadata.stamp is not None:
        return metadata.stamp
    now = now_ms()
    return Stamp(now if highest_ms is None else max(now, highest_ms + 1), origin_region, metadata.version)


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


def with_metadata(old: ObjectMetadata, new: ObjectMetadata) -> ObjectMetadata:
    """A change of metadata may not move the version in the order, nor speak of other bytes."""
    same = (new.version, new.stamp, new.marker, new.size) == (old.version, old.stamp, old.marker, old.size)
    assert same, "amend keeps version, stamp, marker and size"
    return new


def is_under(key: Key, discard: Key) -> bool:
    return key.bucket == discard.bucket and key.name.startswith(discard.name)


def check_join(key: Key, parts: Sequence[Key], discard: Key) -> None:
    """Parts become part of the new version, so each is joined once, and its own entry goes with the rest of the upload."""
    assert not is_under(key, discard), "the new version would be discarded"
    assert all(is_under(part, discard) for part in parts), "a part outside of what is discarded"
    assert len(set(parts)) == len(parts), "a part twice"


def missing_part(key: Key) -> ApiError:
    return ApiError("InvalidPart", f"The part {key.name!r} was not found.")


def cut(content: bytes, byte_range: ByteRange | None) -> bytes:
    if byte_range is None:
        return content
    assert byte_range.last < len(content), "a span beyond the end"
    return content[byte_range.first : byte_range.last + 1]
