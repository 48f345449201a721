"""Block Public Access, and whether a policy is public.

Source: S3 user guide, "Blocking public access to your Amazon S3 storage", section "The meaning of public".
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from functools import lru_cache

from atoll.rules.policy.action_names import S3_ACTIONS
from atoll.rules.policy.conditions import network
from atoll.rules.policy.model import Condition, Policy, Statement

PUBLIC_V4 = 8  # a source range wider than this is everybody
PUBLIC_V6 = 32
_KEPT_MAX = 4096  # verdicts kept, by policy

# What strangers must not do. Source: as above, "data actions".
_DATA = ("s3:get", "s3:list", "s3:abortmultipartupload", "s3:delete", "s3:put", "s3:restoreobject")
_DATA_ACTIONS = tuple(name.lower() for name in S3_ACTIONS if name.lower().startswith(_DATA))

# Keys that narrow a statement when they are held to fixed values. Source: as above; the Principal ones by their meaning.
_NARROWING = frozenset(
    {
        "aws:sourceip",
        "aws:sourcearn",
        "aws:sourcevpc",
        "aws:sourcevpce",
        "aws:sourceowner",
        "aws:sourceaccount",
        "aws:userid",
        "s3:x-amz-server-side-encryption-aws-kms-key-id",
        "s3:dataaccesspointarn",
        "s3:dataaccesspointaccount",
        "aws:principalorgid",
        "aws:principalorgpaths",
        "aws:principalaccount",
        "aws:principalarn",
    }
)
_HOLDING = frozenset(
    {"StringEquals", "StringEqualsIgnoreCase", "StringLike", "ArnEquals", "ArnLike", "IpAddress", "NumericEquals"}
)
_ACCESS_POINTS_OF_ONE_ACCOUNT = re.compile(r"arn:aws:s3:[^:$]*:\d{12}:accesspoint/[^$]+")


@dataclass(frozen=True, slots=True)
class PublicAccess:
    """The four settings of Block Public Access, of an account, a bucket or an access point."""

    block_public_acls: bool = False
    ignore_public_acls: bool = False
    block_public_policy: bool = False
    restrict_public_buckets: bool = False


def strictest(*settings: PublicAccess) -> PublicAccess:
    """What holds where several apply: each setting is on when it is on anywhere."""
    return PublicAccess(
        any(one.block_public_acls for one in settings),
        any(one.ignore_public_acls for one in settings),
        any(one.block_public_policy for one in settings),
        any(one.restrict_public_buckets for one in settings),
    )


@lru_cache(maxsize=_KEPT_MAX)
def is_public(policy: Policy) -> bool:
    """Public unless every Allow of a data action is narrowed. Deny statements do not count."""
    return any(_is_open(statement) for statement in policy.allows)


def _is_open(statement: Statement) -> bool:
    return statement.sound and _allows_data(statement) and _speaks_to_all(statement) and not _narrowed(statement)


def _allows_data(statement: Statement) -> bool:
    return any(statement.action(name) is not statement.not_action for name in _DATA_ACTIONS)


def _speaks_to_all(statement: Statement) -> bool:
    return statement.principal is not None and (statement.not_principal or statement.principal.everyone)


def _narrowed(statement: Statement) -> bool:
    return any(_narrows(condition) for condition in statement.conditions)


def _narrows(condition: Condition) -> bool:
    """IfExists and ForAllValues let calls without the key through, so they narrow nothing."""
    return (
        condition.key in _NARROWING
        and condition.operator in _HOLDING
        and not condition.if_exists
        and condition.quantifier != "ForAllValues"
        and bool(condition.values)
        and all(_fixed(condition, value) for value in condition.values)
    )


def _fixed(condition: Condition, value: str) -> bool:
    if condition.key == "aws:sourceip":
        return _narrow_range(value)
    if condition.key == "s3:dataaccesspointarn" and _ACCESS_POINTS_OF_ONE_ACCOUNT.fullmatch(value):
        return True  # S3 user guide: its name may hold a wildcard as long as the account is fixed
    return not any(sign in value for sign in ("*", "?", "${"))


def _narrow_range(value: str) -> bool:
    found = network(value)
    if found is None:
        return False
    return found.prefixlen >= (PUBLIC_V4 if isinstance(found, ipaddress.IPv4Network) else PUBLIC_V6)
