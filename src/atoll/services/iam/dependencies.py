"""What IAM's operations are given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from atoll.control_store import ControlStore


@dataclass(frozen=True, slots=True)
class Dependencies:
    """`random_bytes(n)`: n unpredictable bytes. The checks raise MalformedPolicyDocument for a text that is no such policy."""

    state: ControlStore
    random_bytes: Callable[[int], bytes]
    check_identity_policy: Callable[[str], object]
    check_trust_policy: Callable[[str], object]
