"""Whom does a Principal element speak of?

How a grant reaches the caller matters as much as whether: a grant to an account only lets that account's own policies
decide, a grant to a user or session stands alone. Source: IAM user guide, "AWS JSON policy elements: Principal".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import IntEnum

from atoll.domain.names import ACCOUNT
from atoll.rules.policy.model import Asked, Principal, Statement

# AWS warns that with NotPrincipal the account must be listed beside its user or role; Atoll lets the narrower ARN do.
NOTPRINCIPAL_NEEDS_ACCOUNT = False

KINDS = frozenset({"AWS", "Service", "Federated", "CanonicalUser"})
_ROOT = re.compile(r"arn:[^:]+:iam::(\d{12}):root")


class Reach(IntEnum):
    """How a statement's principal reaches the caller, weakest first."""

    NONE = 0
    ACCOUNT = 1
    ROLE = 2
    EVERYONE = 3
    DIRECT = 4


def principal_of(element: object) -> Principal | None:
    """Compile a Principal or NotPrincipal; None when it is not one. A bare ARN is read as {"AWS": ARN}, never put."""
    if isinstance(element, str) and element:
        return _compiled((("AWS", element),))
    if not isinstance(element, Mapping):
        return None
    entries = tuple(_entries(element))
    sound = all(kind in KINDS and isinstance(text, str) for kind, text in entries)
    return _compiled(tuple((kind, str(text)) for kind, text in entries)) if sound and entries else None


def _entries(element: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for kind, values in element.items():
        for text in values if isinstance(values, list) else [values]:
            yield kind, text


def _compiled(entries: tuple[tuple[str, str], ...]) -> Principal:
    def of(kind: str) -> frozenset[str]:
        return frozenset(text for found, text in entries if found == kind)

    accounts = {text: account_of(text) for text in of("AWS")}
    return Principal(
        entries,
        "*" in accounts,
        frozenset(account for account in accounts.values() if account),
        frozenset(text for text, account in accounts.items() if not account and text != "*"),
        of("Service"),
        of("CanonicalUser"),
    )


def account_of(text: str) -> str:
    """The account that a principal stands for as a whole (its number or root ARN), or ""."""
    root = _ROOT.fullmatch(text)
    return root.group(1) if root else text if ACCOUNT.fullmatch(text) else ""


def reach(statement: Statement, asked: Asked) -> Reach:
    """How an Allow of a resource policy reaches the caller. Allow with NotPrincipal means everybody else."""
    principal = statement.principal
    if principal is None:
        return Reach.NONE
    if statement.not_principal:
        return Reach.NONE if _reach(principal, asked) is not Reach.NONE else Reach.EVERYONE
    return _reach(principal, asked)


def forbidden(statement: Statement, asked: Asked, *, bounded: bool) -> bool:
    """Does a Deny of a resource policy speak of the caller?

    Under NotPrincipal a caller with a permissions boundary is denied, listed or not. Source: IAM user guide, NotPrincipal.
    """
    principal = statement.principal
    if principal is None:
        return False
    if statement.not_principal:
        return bounded or not _listed(principal, asked)
    return _reach(principal, asked) is not Reach.NONE


def _reach(principal: Principal, asked: Asked) -> Reach:
    caller = asked.caller
    if caller.kind == "anonymous":
        return Reach.EVERYONE if principal.everyone else Reach.NONE
    if caller.arn in principal.arns or (caller.kind == "service" and caller.service in principal.services):
        return Reach.DIRECT
    if principal.everyone:
        return Reach.EVERYONE
    if caller.role_arn and caller.role_arn in principal.arns:
        return Reach.ROLE
    return Reach.ACCOUNT if _in_account(principal, asked) else Reach.NONE


def _in_account(principal: Principal, asked: Asked) -> bool:
    if asked.caller.kind == "service":
        return False
    return asked.caller.account in principal.accounts or (asked.canonical != "" and asked.canonical in principal.canonical)


def _listed(principal: Principal, asked: Asked) -> bool:
    """Does a Deny with NotPrincipal spare the caller? An account (its number or root ARN) that is listed spares its root
    user and none of its users and roles: these are listed beside it. Source: IAM user guide, NotPrincipal.
    """
    found = _reach(principal, asked)
    if found is Reach.ACCOUNT:
        return asked.caller.kind == "root"
    if NOTPRINCIPAL_NEEDS_ACCOUNT and found in (Reach.DIRECT, Reach.ROLE) and asked.caller.kind != "service":
        return _in_account(principal, asked)
    return found is not Reach.NONE
