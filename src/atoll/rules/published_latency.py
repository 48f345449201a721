"""Published measurements on AWS, to reproduce and to stand beside ours; never copied into a result.

Source: the S3 Multi-Region Access Points article of 2026-10-21: 200 gzip JSON files of 128 to 714 bytes, 8 rounds, 1,600
GETs per caller and path, one at a time, connection opened before the first timed GET; bucket in us-east-1, replicas in the
other three regions; five overwrites without Replication Time Control.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Path = Literal["single", "mrap"]
HOME = "us-east-1"


@dataclass(frozen=True, slots=True)
class Figure:
    """Milliseconds."""

    p50: float
    p95: float


S3_API: Mapping[tuple[str, Path], Figure] = {
    ("ap-northeast-1", "single"): Figure(173.6, 193.3),
    ("ap-northeast-1", "mrap"): Figure(30.0, 35.6),
    ("eu-central-1", "single"): Figure(116.4, 129.7),
    ("eu-central-1", "mrap"): Figure(28.3, 34.3),
    ("us-west-2", "single"): Figure(89.8, 105.0),
    ("us-west-2", "mrap"): Figure(37.6, 49.9),
    ("us-east-1", "single"): Figure(28.6, 42.1),
    ("us-east-1", "mrap"): Figure(29.8, 44.4),
}
ALL_THREE_BUCKETS_S = (22.7, 21.7, 22.6, 22.7, 22.6)
READABLE_IN_TOKYO_S = (22.3, 21.3, 22.2, 21.7, 22.2)

# Far single-bucket cells whose link does not come from the article itself: only these are predictions.
PREDICTED = frozenset((("ap-northeast-1", "single"), ("eu-central-1", "single")))


def measured_inside(region: str, path: Path) -> Figure | None:
    """What a caller inside the region saw: the access-point column, and the home region's own row."""
    return S3_API.get((region, path)) if path == "mrap" or region == HOME else None
