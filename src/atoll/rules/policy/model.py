"""Policies after parsing, and the questions put to them.

A policy is text only until parse.py has read it. Then every element is a compiled test, and a decision is a walk over
tuples. Source of the semantics: IAM user guide, "Policy evaluation logic" and "IAM JSON policy elements".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol

import msgspec

from atoll.domain.caller import Caller

Value = str | tuple[str, ...]
Kind = Literal["identity", "resource", "trust"]
Outcome = Literal["Allowed", "ExplicitlyDenied", "ImplicitlyDenied"]


class Context(Protocol):
    """What a condition or variable may ask of a request. Keys are lower case; an absent key is None. A dict will do."""

    def get(self, key: str, /) -> Value | None: ...


# Does this text match? None: the pattern holds a variable that the context cannot resolve.
Test = Callable[[str, Context], bool | None]


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """One key of one operator. `values` are the raw texts, `test` tells whether one request value matches any of them."""

    operator: str
    quantifier: Literal["", "ForAllValues", "ForAnyValue"]
    if_exists: bool
    negated: bool
    key: str
    values: tuple[str, ...]
    test: Test


@dataclass(frozen=True, slots=True, eq=False)
class Principal:
    """Who a statement of a resource policy speaks of. `entries` are the raw (kind, text) pairs."""

    entries: tuple[tuple[str, str], ...]
    everyone: bool
    accounts: frozenset[str]
    arns: frozenset[str]
    services: frozenset[str]
    canonical: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """One statement. `sound` is False when an element makes no sense (unknown operator): it then never applies."""

    index: int
    sid: str
    allow: bool
    action: Callable[[str], bool]
    actions: tuple[str, ...]
    not_action: bool
    resource_tests: tuple[Test, ...]
    resources: tuple[str, ...]
    not_resource: bool
    principal: Principal | None
    not_principal: bool
    conditions: tuple[Condition, ...]
    sound: bool = True

    @property
    def name(self) -> str:
        return f'"{self.sid}"' if self.sid else f"number {self.index + 1}"


@dataclass(frozen=True, slots=True, eq=False)
class Policy:
    """A read policy; equal only to itself, so that what is derived from it can be kept by identity.

    `keys` are all context keys that its conditions and variables can ask for, in lower case.
    """

    statements: tuple[Statement, ...]
    keys: frozenset[str]
    allows: tuple[Statement, ...] = field(init=False)
    denies: tuple[Statement, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "allows", tuple(s for s in self.statements if s.allow))
        object.__setattr__(self, "denies", tuple(s for s in self.statements if not s.allow))

    def asks(self, prefix: str) -> bool:
        """Can it ask for a key with this prefix? With "s3:existingobjecttag/": must the object's tags be read first?"""
        return any(key.startswith(prefix) for key in self.keys)


class Attached(msgspec.Struct, frozen=True):
    """A policy and where it hangs, in words for the log ("user policy reader", "bucket policy of demo")."""

    policy: Policy
    source: str


class ProtectedResource(msgspec.Struct, frozen=True):
    """One resource that a call touches, its owner's account and its own policy.

    A call through a Multi-Region Access Point touches two: the access point and the bucket, each judged under its own ARN.
    `restrict_public`: RestrictPublicBuckets is on. `must_allow`: its policy must allow even callers of its own account, as
    the trust policy of a role and the policy of a KMS key do.
    """

    arn: str
    account: str
    policy: Attached | None = None
    restrict_public: bool = False
    must_allow: bool = False


class AccessRequest(msgspec.Struct, frozen=True):
    """One question: may this caller do this action on all of these? `canonical` is the canonical id of the caller's account."""

    caller: Caller
    action: str
    resources: tuple[ProtectedResource, ...]
    context: Context
    canonical: str = ""


class Decision(msgspec.Struct, frozen=True):
    """The outcome, why, and which statement decided ("bucket policy of demo, statement "Read"")."""

    outcome: Outcome
    reason: str
    statement: str = ""

    @property
    def allowed(self) -> bool:
        return self.outcome == "Allowed"
