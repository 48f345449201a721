"""Names and their rules."""

from __future__ import annotations

import re

from atoll.domain.errors import ApiError
from atoll.domain.quotas import KEY_MAX_BYTES

# S3 user guide, "General purpose bucket naming rules"
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_IP = re.compile(r"\d+\.\d+\.\d+\.\d+")
_PREFIXES = ("xn--", "sthree-", "amzn-s3-demo-")
_SUFFIXES = ("-s3alias", "--ol-s3", ".mrap", "--x-s3", "--table-s3")

ACCOUNT = re.compile(r"\d{12}")
ALIAS = re.compile(r"[a-z][a-z0-9]*[.]mrap")  # s3control model: MultiRegionAccessPointAlias


def is_bucket_name(name: str) -> bool:
    return (
        _BUCKET.fullmatch(name) is not None
        and ".." not in name
        and ".-" not in name
        and "-." not in name
        and not _IP.fullmatch(name)
        and not name.startswith(_PREFIXES)
        and not name.endswith(_SUFFIXES)
    )


def check_bucket_name(name: str) -> str:
    """Raises InvalidBucketName."""
    if not is_bucket_name(name):
        raise ApiError("InvalidBucketName", "The specified bucket is not valid.", BucketName=name)
    return name


def check_key(key: str) -> str:
    """Raises KeyTooLongError beyond 1,024 bytes of UTF-8, InvalidArgument for an empty key."""
    size = len(key) if key.isascii() else len(key.encode())
    if size > KEY_MAX_BYTES:
        raise ApiError(
            "KeyTooLongError", "Your key is too long.", Size=str(size), MaxSizeAllowed=str(KEY_MAX_BYTES)
        )
    if not key:
        raise ApiError("InvalidArgument", "A key has at least one character.", ArgumentName="key")
    return key
