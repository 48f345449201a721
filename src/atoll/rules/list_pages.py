"""Pages of a listing and their continuation tokens."""

from __future__ import annotations

import base64
import binascii
import zlib
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from urllib.parse import quote

from atoll.domain.errors import ApiError
from atoll.domain.objects import START, ScanCursor
from atoll.domain.quotas import KEY_MAX_BYTES, LIST_MAX_KEYS

T = TypeVar("T")

# No key is longer than 1,024 bytes and this character takes four: nothing with a prefix sorts behind prefix + these.
_LAST = "\U0010ffff" * (KEY_MAX_BYTES // 4)
LIST_BLANK = "%20"  # a blank under encoding-type=url; reports about AWS disagree, clients read both (s3.md, decision 1)


def after_prefix(prefix: str) -> ScanCursor:
    """The mark behind every key that begins with `prefix`."""
    return ScanCursor(prefix + _LAST)


def page_size(asked: int | None, argument: str = "max-keys") -> int:
    """At most 1,000. Raises InvalidArgument for a negative number."""
    if asked is None:
        return LIST_MAX_KEYS
    if asked < 0:
        raise ApiError(
            "InvalidArgument",
            f"Argument {argument} must be an integer between 0 and 2147483647",
            ArgumentName=argument,
            ArgumentValue=str(asked),
        )
    return min(asked, LIST_MAX_KEYS)


def check_encoding(encoding: str | None) -> bool:
    """Is encoding-type=url asked for? Raises InvalidArgument for any other word."""
    if encoding is None:
        return False
    if encoding != "url":
        raise ApiError(
            "InvalidArgument",
            "Invalid Encoding Method specified in Request",
            ArgumentName="encoding-type",
            ArgumentValue=encoding,
        )
    return True


def url(text: str) -> str:
    """encoding-type=url: all but unreserved characters and the slash as UTF-8 escapes."""
    return quote(text, safe="/").replace("%20", LIST_BLANK)


def plain(text: str) -> str:
    return text


def common_prefix_of(name: str, prefix: str, delimiter: str) -> str | None:
    """The common prefix that `name` rolls up into, None when it stands for itself."""
    if not delimiter:
        return None
    end = name.find(delimiter, len(prefix))
    return None if end < 0 else name[: end + len(delimiter)]


def start(marker: str, prefix: str, delimiter: str, *, hides_group: bool = True) -> ScanCursor:
    """Where a listing begins whose client named `marker`.

    A marker that is itself a common prefix came from the end of a page (NextMarker, NextKeyMarker): the group was shown.
    A marker inside a group does not hide the group while keys behind the marker remain. StartAfter is never ours.
    """
    if not marker:
        return START
    if hides_group and marker.startswith(prefix) and common_prefix_of(marker, prefix, delimiter) == marker:
        return after_prefix(marker)
    return ScanCursor(marker)


@dataclass(slots=True)
class Page(Generic[T]):
    """One page as it fills: rows and common prefixes together are at most `size`.

    Offer the rows in order of their names until `add_row` says no. `resume` is where the next page (or the next look at the
    same listing) begins; `truncated` tells that something was left over; `group` is the common prefix offered last, so that
    who reads from an engine can step over the rest of it.
    """

    prefix: str
    delimiter: str
    size: int
    rows: list[T] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    truncated: bool = False
    resume: ScanCursor = START
    group: str | None = None

    @property
    def count(self) -> int:
        return len(self.rows) + len(self.groups)

    def add_row(self, name: str, row: T, *, version: str | None = None) -> bool:
        """Take one row. False when the page is full: the row belongs to the next one."""
        group = common_prefix_of(name, self.prefix, self.delimiter)
        if group is not None and group == self.group:
            return True
        if self.count >= self.size:
            self.truncated = self.size > 0  # S3: max-keys=0 is an empty page, never a truncated one
            return False
        if group is None:
            self.rows.append(row)
            self.resume = ScanCursor(name, version)
        else:
            self.groups.append(group)
            self.resume = after_prefix(group)
        self.group = group
        return True

    @property
    def next_name(self) -> str:
        """What S3 shows as NextMarker or NextKeyMarker: the last key, or the last common prefix."""
        return self.group if self.group is not None else self.resume.name


def token(cursor: ScanCursor) -> str:
    """A continuation token: the whole resume point, opaque, and checkable."""
    body = cursor.name.removesuffix(_LAST) if cursor.name.endswith(_LAST) else cursor.name
    kind = b"p" if cursor.name.endswith(_LAST) else b"k"
    raw = kind + body.encode()
    return base64.urlsafe_b64encode(zlib.crc32(raw).to_bytes(4, "big") + raw).decode().rstrip("=")


def decode_token(text: str) -> ScanCursor:
    """Raises InvalidArgument for a token that Atoll did not issue."""
    try:
        raw = base64.b64decode(text.encode() + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
        if len(raw) < 5 or zlib.crc32(raw[4:]) != int.from_bytes(raw[:4], "big"):
            raise ValueError(text)
        name = raw[5:].decode()
    except (binascii.Error, ValueError) as error:
        raise ApiError(
            "InvalidArgument", "The continuation token provided is incorrect", ArgumentName="continuation-token"
        ) from error
    return after_prefix(name) if raw[4:5] == b"p" else ScanCursor(name)
