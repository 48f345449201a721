"""What STS's operations are given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from atoll.domain.api_call import Call
from atoll.domain.caller import Caller
from atoll.rules.policy.model import Context, Decision
from atoll.rules.session_token import Session


class AssumableRole(Protocol):
    """What AssumeRole wants to know of a role. `id`: AROA..."""

    @property
    def account(self) -> str: ...

    @property
    def id(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def max_session_s(self) -> int: ...


class MayAssume(Protocol):
    """Trust policy and the caller's own policies, together."""

    def __call__(self, caller: Caller, role_arn: str, context: Context, action: str, /) -> Decision: ...


@dataclass(frozen=True, slots=True)
class Dependencies:
    """`random_bytes(n)`: n unpredictable bytes. `context(call)`: the condition keys that every request has (aws:SourceIp ...).

    `encrypt_session` makes the session token. `check_session_policy` raises MalformedPolicyDocument.
    """

    role: Callable[[str], AssumableRole | None]
    may_assume: MayAssume
    context: Callable[[Call], Context]
    encrypt_session: Callable[[Session], str]
    random_bytes: Callable[[int], bytes]
    check_session_policy: Callable[[str], object]
