"""Validates a policy before it is stored.

Strict where parse.py is lenient: what AWS refuses when a policy is put is refused here, with the element that is wrong.
Source: S3 API: PutBucketPolicy; IAM user guide, "Grammar of the IAM JSON policy language"; IAM API: PutUserPolicy, CreateRole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from atoll.domain.arn import bucket_arn
from atoll.domain.errors import ApiError
from atoll.domain.quotas import BUCKET_POLICY_MAX_BYTES
from atoll.domain.resource_names import ACCOUNT
from atoll.rules.policy.action_condition_keys import carries
from atoll.rules.policy.action_names import covered
from atoll.rules.policy.condition_keys import check_filled, check_key
from atoll.rules.policy.conditions import OPERATORS, condition_of
from atoll.rules.policy.model import Kind, Policy, Statement
from atoll.rules.policy.parse import compiled, document, malformed, statement_elements, texts
from atoll.rules.policy.patterns import ARN_SECTIONS, can_be, can_start

IDENTITY_POLICY_MAX_CHARACTERS = 131_072  # IAM model: policyDocumentType

_POLICY_ELEMENTS = frozenset({"Version", "Id", "Statement"})
_SHARED_ELEMENTS = frozenset({"Sid", "Effect", "Action", "NotAction", "Condition"})
_RESOURCE_ELEMENTS = frozenset({"Resource", "NotResource"})
_PRINCIPAL_ELEMENTS = frozenset({"Principal", "NotPrincipal"})
_ELEMENTS: Mapping[Kind, frozenset[str]] = {
    "resource": _SHARED_ELEMENTS | _RESOURCE_ELEMENTS | _PRINCIPAL_ELEMENTS,
    "identity": _SHARED_ELEMENTS | _RESOURCE_ELEMENTS,
    "trust": _SHARED_ELEMENTS | _PRINCIPAL_ELEMENTS,
}
_ACTION = re.compile(r"\*|[A-Za-z0-9-]+:[A-Za-z0-9*?]+")
_TRUST_ACTION = re.compile(r"sts:[A-Za-z*?]+", re.IGNORECASE)
_ARN_OR_STAR = re.compile(r"\*|arn:[^:]*:[^:]+:[^:]*:[^:]*:.+|arn:[^\s]*\*", re.DOTALL)
_PRINCIPAL_ARN = re.compile(
    r"arn:aws[a-z-]*:(iam::\d{12}:(root|(user|role)/[\w+=,.@/-]+)|sts::\d{12}:(assumed-role|federated-user)/[\w+=,.@/:-]+)"
)
_SERVICE = re.compile(r"[a-z0-9][a-z0-9.-]*\.amazonaws\.com(\.cn)?")
_CANONICAL = re.compile(r"[0-9a-f]{64}")
_CONDITION_KEY = re.compile(r"[A-Za-z0-9-]+:[^\s/]+(/.+)?")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a resource policy hangs: the ARN of the container, and what ARNs of objects in it start with."""

    whole: str
    objects: str


def check_bucket_policy(text: str, bucket: str, *, principal_exists: Callable[[str], bool]) -> Policy:
    """Read a bucket policy as PutBucketPolicy does. Raises MalformedPolicy.

    `principal_exists` tells of a principal (account, user or role ARN, canonical id) as written whether it exists.
    """
    arn = bucket_arn(bucket)
    return _check_resource_policy(text, _Place(arn, arn + "/"), principal_exists=principal_exists)


def check_access_point_policy(text: str, arn: str, *, principal_exists: Callable[[str], bool] = lambda _: True) -> Policy:
    """Read the policy of the Multi-Region Access Point `arn`. Raises MalformedPolicy."""
    return _check_resource_policy(text, _Place(arn, arn + "/object/"), principal_exists=principal_exists)


def check_identity_policy(text: str) -> Policy:
    """Read a user, role or session policy. Raises MalformedPolicyDocument."""
    policy = _checked(text, "identity", IDENTITY_POLICY_MAX_CHARACTERS)
    for statement in policy.statements:
        _check_has(statement.resources, "Resource", "identity")
        for resource in statement.resources:
            if not _ARN_OR_STAR.fullmatch(resource):
                raise malformed("identity", f'Resource {resource} is neither an ARN nor "*".')
        for action in statement.actions:
            _check_action(action, _ACTION, "identity")
    return policy


def check_trust_policy(text: str) -> Policy:
    """Read the trust policy of a role. Raises MalformedPolicyDocument."""
    policy = _checked(text, "trust", IDENTITY_POLICY_MAX_CHARACTERS)
    for statement in policy.statements:
        _check_principal(statement, "trust", principal_exists=lambda _: True)
        for action in statement.actions:
            _check_action(action, _TRUST_ACTION, "trust")
    return policy


def _check_resource_policy(text: str, place: _Place, *, principal_exists: Callable[[str], bool]) -> Policy:
    policy = _checked(text, "resource", BUCKET_POLICY_MAX_BYTES)
    for statement in policy.statements:
        _check_principal(statement, "resource", principal_exists=principal_exists)
        _check_has(statement.resources, "Resource", "resource")
        for resource in statement.resources:
            _check_inside(resource, place)
        for action in statement.actions:
            _check_carried(_check_s3_action(action, statement, place), statement)
    return policy


def _checked(text: str, kind: Kind, limit: int) -> Policy:
    """What all kinds have in common: size, JSON, elements, effects, actions, conditions."""
    if len(text.encode()) > limit:
        raise malformed(kind, f"The policy is larger than {limit} bytes.")
    found = document(text, kind=kind)
    _refuse_duplicates(text, kind)
    _check_elements(found, _POLICY_ELEMENTS, kind)
    for element in statement_elements(found, kind=kind):
        _check_statement(element, kind)
    policy = compiled(found, kind=kind)
    check_filled(policy.keys)
    for statement in policy.statements:
        _check_has(statement.actions, "Action", kind)
    _check_sids(policy, kind)
    return policy


def _refuse_duplicates(text: str, kind: Kind) -> None:
    """An element that stands twice means one thing to one reader and another to the next."""

    def pairs(found: list[tuple[str, object]]) -> dict[str, object]:
        names = dict(found)
        if len(names) != len(found):
            raise malformed(kind, "An element of the policy stands twice.")
        return names

    json.loads(text, object_pairs_hook=pairs)


def _check_elements(element: Mapping[str, object], allowed: frozenset[str], kind: Kind) -> None:
    for name in element:
        if name not in allowed:
            raise malformed(kind, f"A policy of this kind has no element {name}.")


def _check_statement(element: Mapping[str, object], kind: Kind) -> None:
    _check_elements(element, _ELEMENTS[kind], kind)
    for name in ("Action", "Resource", "Principal"):
        if name in element and f"Not{name}" in element:
            raise malformed(kind, f"A statement has {name} or Not{name}, not both.")
    for name in ("Action", "NotAction", "Resource", "NotResource"):
        _check_texts(element.get(name, "text"), name, kind)
    for name in ("Principal", "NotPrincipal"):
        if not isinstance(element.get(name, {}), dict) and element[name] != "*":
            raise malformed(kind, f'{name} is "*" or an object.')
    if not isinstance(element.get("Sid", ""), str):
        raise malformed(kind, "A Sid is a text.")
    _check_conditions(element.get("Condition", {}), kind)


def _check_texts(value: object, name: str, kind: Kind) -> None:
    """A text or a list of texts; emptiness is judged where the element is required."""
    for one in value if isinstance(value, list) else [value]:
        if not isinstance(one, str) or not one:
            raise malformed(kind, f"{name} is a text or a list of texts.")


def _check_has(values: Sequence[str], name: str, kind: Kind) -> None:
    if not values:
        raise malformed(kind, f"A statement lacks {name}.")


def _check_sids(policy: Policy, kind: Kind) -> None:
    sids = [statement.sid for statement in policy.statements if statement.sid]
    if len(set(sids)) != len(sids):
        raise malformed(kind, "The Sids of a policy are unique.")


def _check_conditions(element: object, kind: Kind) -> None:
    if not isinstance(element, dict):
        raise malformed(kind, "Condition is an object of operators.")
    for operator, keys in element.items():
        if not isinstance(keys, dict) or not keys:
            raise malformed(kind, f"Operator {operator} holds an object of condition keys.")
        for key, values in keys.items():
            _check_condition(operator, key, values, kind)


def _check_condition(operator: str, key: str, values: object, kind: Kind) -> None:
    read = texts(values)
    condition = condition_of(operator, key, read, variables=False)
    if condition is None:
        raise malformed(kind, f"There is no condition operator {operator}.")
    if not _CONDITION_KEY.fullmatch(key):
        raise malformed(kind, f"{key} is not a condition key.")
    check_key(key, kind)
    if not read:
        raise malformed(kind, f"Condition key {key} has no value.")
    valid = OPERATORS[condition.operator.lower()].valid
    for value in read:
        if not valid(value) and "${" not in value:
            raise malformed(kind, f"{value} is not a value for {operator}.")


def _check_action(action: str, form: re.Pattern[str], kind: Kind) -> None:
    if not form.fullmatch(action):
        raise malformed(kind, f"{action} is not an action for this policy.")


def _check_s3_action(action: str, statement: Statement, place: _Place) -> Sequence[str]:
    """An action that exists in S3 and can act on one of the statement's resources. The actions that it covers there."""
    if action != "*" and not action.lower().startswith("s3:"):
        raise malformed("resource", "Policy has invalid action", detail=action)
    found = covered(action)
    if not found:
        raise malformed("resource", "Policy has invalid action", detail=action)
    levels = _levels(statement, place)
    acting = [name for name, level in found.items() if level in levels]
    if not statement.not_action and not acting:
        raise malformed("resource", "Action does not apply to any resource(s) in statement", detail=action)
    return acting


def _levels(statement: Statement, place: _Place) -> frozenset[str]:
    """What the statement's resources are. NotResource leaves both."""
    if statement.not_resource:
        return frozenset({"object", "bucket"})
    on_objects = any(can_start(resource, place.objects) for resource in statement.resources)
    on_whole = any(can_be(resource, place.whole) for resource in statement.resources)
    return frozenset(("object",) * on_objects + ("bucket",) * on_whole)


def _check_carried(acting: Sequence[str], statement: Statement) -> None:
    """Every action of a statement carries every condition key; of what a pattern covers, one action is enough."""
    for condition in () if statement.not_action else statement.conditions:
        if not any(carries(action, condition.key) for action in acting):
            raise malformed(
                "resource",
                "Conditions do not apply to combination of actions and resources in statement",
                detail=condition.key,
            )


def _check_inside(resource: str, place: _Place) -> None:
    """The container itself, or objects in it, named by its own name: "*" is refused, a star behind the name is not."""
    inside = can_be(resource, place.whole) or can_start(resource, place.objects)
    if not inside or not _names(resource, place):
        raise malformed("resource", "Policy has invalid resource", detail=resource)


def _names(resource: str, place: _Place) -> bool:
    """Does the last section begin with the name itself, without wildcard or variable?"""
    sections = resource.split(":", ARN_SECTIONS - 1)
    return len(sections) == ARN_SECTIONS and sections[-1].startswith(place.whole.split(":", ARN_SECTIONS - 1)[-1])


def _check_principal(statement: Statement, kind: Kind, *, principal_exists: Callable[[str], bool]) -> None:
    principal = statement.principal
    if principal is None:
        raise malformed(kind, "A statement has a Principal that names someone.")
    if statement.not_principal and statement.allow:
        raise malformed(kind, "Allow with NotPrincipal is not supported.")
    for entry in principal.entries:
        _check_entry(*entry, kind, principal_exists)


def _check_entry(form: str, text: str, kind: Kind, principal_exists: Callable[[str], bool]) -> None:
    match form:
        case "AWS":
            shaped = ACCOUNT.fullmatch(text) or _PRINCIPAL_ARN.fullmatch(text)
            sound = text == "*" or (shaped is not None and principal_exists(text))
        case "CanonicalUser":
            sound = _CANONICAL.fullmatch(text) is not None and principal_exists(text)
        case "Service":
            sound = _SERVICE.fullmatch(text) is not None
        case _:
            sound = text != ""
    if not sound:
        raise _invalid_principal(kind, f'"{form}" : "{text}"')


def _invalid_principal(kind: Kind, entry: str) -> ApiError:
    """S3 has the entry in an element of its own, IAM in the message."""
    if kind == "resource":
        return malformed(kind, "Invalid principal in policy", detail=entry)
    return malformed(kind, f"Invalid principal in policy: {entry}")


def public_refused() -> ApiError:
    """The answer to a public policy under BlockPublicPolicy."""
    return ApiError("AccessDenied", "The policy is public, and BlockPublicPolicy is on.")
