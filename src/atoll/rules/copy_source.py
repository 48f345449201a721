"""Parses x-amz-copy-source."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote

from atoll.domain.errors import ApiError, not_implemented


@dataclass(frozen=True, slots=True)
class CopySource:
    bucket: str
    key: str
    version: str | None = None


def parse(text: str) -> CopySource:
    """x-amz-copy-source: [/]bucket/key[?versionId=...], decoded once; an encoded question mark belongs to the key.

    Raises InvalidArgument when malformed, NotImplemented for the ARN of an access point.
    """
    encoded, _, query = text.partition("?versionId=")
    path = unquote(encoded).removeprefix("/")
    if path.startswith("arn:"):
        raise not_implemented("x-amz-copy-source with the ARN of an access point: name the bucket")
    bucket, slash, key = path.partition("/")
    if not bucket or not slash or not key:
        raise _malformed(text)
    return CopySource(bucket, key, _version(text, query))


def _version(text: str, query: str) -> str | None:
    if "?versionId=" not in text:
        return None
    if not query:
        raise ApiError("InvalidArgument", "Version id cannot be the empty string", ArgumentName="x-amz-copy-source")
    return unquote(query)


def _malformed(text: str) -> ApiError:
    return ApiError(
        "InvalidArgument",
        "Invalid copy source object key",
        ArgumentName="x-amz-copy-source",
        ArgumentValue=text,
    )
