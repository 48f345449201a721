"""Matches Principal and NotPrincipal elements.

How a grant reaches the caller matters as much as whether: a grant to an account only lets that account's own policies
decide, a grant to a user or session stands alone. Source: IAM user guide, "AWS JSON policy elements: Principal".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import IntEnum

from atoll.domain.resource_names import ACCOUNT
from atoll.rules.policy.model import AccessRequest, Principal, Statement

# AWS warns that with NotPrincipal the account must be listed beside its user or role; Atoll lets the narrower ARN do.
NOTPRINCIPAL_NEEDS_ACCOUNT = False

KINDS = frozenset({"AWS", "Service", "Federated", "CanonicalUser"})
_ROOT = re.compile(r"arn:[^:]+:iam::(\d{12}):root")


class PrincipalMatch(IntEnum):
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


def match_principal(statement: Statement, access_request: AccessRequest) -> PrincipalMatch:
    """How an Allow of a resource policy reaches the caller. Allow with NotPrincipal means everybody else."""
    principal = statement.principal
    if principal is None:
        return PrincipalMatch.NONE
    if statement.not_principal:
        return PrincipalMatch.NONE if _match_principal(principal, access_request) is not PrincipalMatch.NONE else PrincipalMatch.EVERYONE
    return _match_principal(principal, access_request)


def forbidden(statement: Statement, access_request: AccessRequest, *, bounded: bool) -> bool:
    """Does a Deny of a resource policy speak of the caller?

    Under NotPrincipal a caller with a permissions boundary is denied, listed or not. Source: IAM user guide, NotPrincipal.
    """
    principal = statement.principal
    if principal is None:
        return False
    if statement.not_principal:
        return bounded or not _listed(principal, access_request)
    return _match_principal(principal, access_request) is not PrincipalMatch.NONE


def _match_principal(principal: Principal, access_request: AccessRequest) -> PrincipalMatch:
    caller = access_request.caller
    if caller.kind == "anonymous":
        return PrincipalMatch.EVERYONE if principal.everyone else PrincipalMatch.NONE
    if caller.arn in principal.arns or (caller.kind == "service" and caller.service in principal.services):
        return PrincipalMatch.DIRECT
    if principal.everyone:
        return PrincipalMatch.EVERYONE
    if caller.role_arn and caller.role_arn in principal.arns:
        return PrincipalMatch.ROLE
    return PrincipalMatch.ACCOUNT if _in_account(principal, access_request) else PrincipalMatch.NONE


def _in_account(principal: Principal, access_request: AccessRequest) -> bool:
    if access_request.caller.kind == "service":
        return False
    return access_request.caller.account in principal.accounts or (access_request.canonical != "" and access_request.canonical in principal.canonical)


def _listed(principal: Principal, access_request: AccessRequest) -> bool:
    """Does a Deny with NotPrincipal spare the caller? An account (its number or root ARN) that is listed spares its root
    user and none of its users and roles: these are listed beside it. Source: IAM user guide, NotPrincipal.
    """
    found = _match_principal(principal, access_request)
    if found is PrincipalMatch.ACCOUNT:
        return access_request.caller.kind == "root"
    if NOTPRINCIPAL_NEEDS_ACCOUNT and found in (PrincipalMatch.DIRECT, PrincipalMatch.ROLE) and access_request.caller.kind != "service":
        return _in_account(principal, access_request)
    return found is not PrincipalMatch.NONE
