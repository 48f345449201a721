"""What are the control operations of access points given to work with?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from atoll.state import State


def _anyone(_principal: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Here:
    """`regions` are those of this world. `buckets(name)`: region and account of a bucket, None when there
    is none. `dice(n)`: n unpredictable bytes. `known(principal)`: is it somebody whom a policy may name?"""

    state: State
    regions: Sequence[str]
    buckets: Callable[[str], tuple[str, str] | None]
    dice: Callable[[int], bytes]
    compat: Literal["lenient", "strict"] = "lenient"
    known: Callable[[str], bool] = _anyone
