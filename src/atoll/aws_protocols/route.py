"""The operation that a request asks for, with what its path says."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class Route(msgspec.Struct, frozen=True):
    """`operation` as AWS names it; `labels` are the decoded parts of the path (S3: Bucket and Key)."""

    operation: str
    labels: Mapping[str, str]
