"""Checksum headers of a request, and which operations require one."""

from __future__ import annotations

from collections.abc import Mapping

from atoll.domain.errors import ApiError
from atoll.rules import checksum_algorithms


def stated_algorithm(headers: Mapping[str, str]) -> str | None:
    """The algorithm of the checksum header or trailer of a body; None when it has none."""
    trailer = headers.get("x-amz-trailer", "").strip().lower()
    for name, known in checksum_algorithms.ALGORITHMS.items():
        if known.header in headers or known.header == trailer:
            return name
    return None


def require_checksum(headers: Mapping[str, str]) -> None:
    """Content-MD5 or a checksum, either is enough. Raises InvalidRequest. Source: model, httpChecksumRequired."""
    if "content-md5" not in headers and stated_algorithm(headers) is None:
        raise ApiError(
            "InvalidRequest", "Missing required header for this request: Content-MD5 OR x-amz-checksum-*"
        )
