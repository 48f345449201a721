"""Decodes the percent-encoded parts of a request target."""

from __future__ import annotations

import re
from urllib.parse import unquote_to_bytes

from atoll.domain.errors import ApiError

_BROKEN = re.compile("%(?![0-9A-Fa-f]{2})")


def decoded(text: str) -> str:
    """Percent-decoded once, as UTF-8. Raises InvalidURI. Bytes that were sent raw count as themselves."""
    if "%" not in text and text.isascii():
        return text
    if _BROKEN.search(text):
        raise ApiError("InvalidURI", "The URI holds a % that is not followed by two hexadecimal digits.")
    try:
        return unquote_to_bytes(text.encode("latin-1")).decode("utf-8")
    except UnicodeError as error:
        raise ApiError("InvalidURI", "The URI is not UTF-8 after decoding.") from error


def query_pairs(query: str) -> list[tuple[str, str]]:
    """Names and values in order, decoded; a name without "=" has the value "". Raises InvalidURI."""
    out = []
    for part in query.split("&"):
        if part:
            name, _, value = part.partition("=")
            out.append((decoded_word(name), decoded_word(value)))
    return out


def decoded_word(text: str) -> str:
    """One name or value of a query: "+" means a blank there."""
    return decoded(text.replace("+", " ")) if "+" in text else decoded(text)
