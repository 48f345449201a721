"""What the control operations of access points are given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from atoll.control_store import ControlStore


def _any_principal(_principal: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Dependencies:
    """`regions` are those of this world. `buckets(name)`: region and account of a bucket, None when there
    is none. `random_bytes(n)`: n unpredictable bytes. `principal_exists(principal)`: is it somebody whom a policy may name?"""

    state: ControlStore
    regions: Sequence[str]
    buckets: Callable[[str], tuple[str, str] | None]
    random_bytes: Callable[[int], bytes]
    compat: Literal["lenient", "strict"] = "lenient"
    principal_exists: Callable[[str], bool] = _any_principal
