"""Validates tag sets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote_plus

from atoll.domain.errors import ApiError
from atoll.domain.quotas import OBJECT_TAGS_MAX

KEY_MAX_CHARS = 128  # S3 user guide, "Categorizing your storage using tags"
VALUE_MAX_CHARS = 256
_ALLOWED = re.compile(r"[\w\s+\-=.:/@]*")  # letters, digits and blanks of any script, and these signs


def read(tag_set: Iterable[Mapping[str, Any]], limit: int) -> dict[str, str]:
    """The tags of a TagSet. Raises InvalidTag, BadRequest beyond `limit` tags, MalformedXML for half a tag."""
    tags: dict[str, str] = {}
    for tag in tag_set:
        key, value = tag.get("Key"), tag.get("Value")
        if key is None or value is None:
            raise ApiError("MalformedXML", "A tag has a key and a value.")
        if key in tags:
            raise ApiError("InvalidTag", "Cannot provide multiple Tags with the same key", TagKey=key)
        tags[key] = value
    return check(tags, limit)


def check(tags: dict[str, str], limit: int) -> dict[str, str]:
    if len(tags) > limit:
        raise ApiError("BadRequest", f"Tags cannot be greater than {limit}")
    for key, value in tags.items():
        _check_one(key, value)
    return tags


def _check_one(key: str, value: str) -> None:
    if key.lower().startswith("aws:"):
        raise ApiError("InvalidTag", "System tags cannot be added/updated by requester", TagKey=key)
    if not 1 <= len(key) <= KEY_MAX_CHARS or not _ALLOWED.fullmatch(key):
        raise ApiError("InvalidTag", "The TagKey you have provided is invalid", TagKey=key)
    if len(value) > VALUE_MAX_CHARS or not _ALLOWED.fullmatch(value):
        raise ApiError("InvalidTag", "The TagValue you have provided is invalid", TagKey=key, TagValue=value)


def from_header(text: str) -> dict[str, str]:
    """The tags of x-amz-tagging (a=1&b=2). Raises InvalidArgument for repeats and commas (a repeated header)."""
    tags: dict[str, str] = {}
    for pair in filter(None, text.split("&")):
        key, _, value = (unquote_plus(half) for half in pair.partition("="))
        if key in tags or "," in pair or not key:
            raise ApiError(
                "InvalidArgument",
                "The header 'x-amz-tagging' shall be encoded as UTF-8 then URLEncoded URL query parameters "
                "without tag name duplicates.",
                ArgumentName="x-amz-tagging",
                ArgumentValue=text,
            )
        tags[key] = value
    return check(tags, OBJECT_TAGS_MAX)


def tag_set(tags: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]
