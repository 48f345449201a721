"""Parses policy documents.

Reading is lenient, because a stored policy must keep its meaning: what makes no sense in a statement makes that statement
apply to nothing. What is refused here is what has no statements at all. validate.py is the strict gate for puts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence

from atoll.domain.errors import ApiError
from atoll.rules.policy.conditions import condition_of
from atoll.rules.policy.model import Condition, Kind, Policy, Principal, Statement
from atoll.rules.policy.patterns import arn_pattern, glob
from atoll.rules.policy.principals import principal_of
from atoll.rules.policy.variables import keys_of, tokens

VERSIONS = ("2012-10-17", "2008-10-17")
_CODES: Mapping[Kind, str] = {
    "resource": "MalformedPolicy",
    "identity": "MalformedPolicyDocument",
    "trust": "MalformedPolicyDocument",
}


def malformed(kind: Kind, message: str, *, detail: str = "") -> ApiError:
    """`detail` is what of the policy is wrong, in an element of its own where S3 has a fixed message."""
    return ApiError(_CODES[kind], message, Detail=detail) if detail else ApiError(_CODES[kind], message)


def parse(text: str, *, kind: Kind) -> Policy:
    """Read a policy. Raises MalformedPolicy (resource) or MalformedPolicyDocument (identity, trust)."""
    return compiled(document(text, kind=kind), kind=kind)


def document(text: str, *, kind: Kind) -> Mapping[str, object]:
    """The JSON object in the text."""
    if not text.startswith("{"):
        raise malformed(kind, "A policy is JSON text whose first byte is '{'.")
    try:
        found: object = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise malformed(kind, "The policy is not valid JSON.") from error
    if not isinstance(found, dict):
        raise malformed(kind, "The policy is not a JSON object.")
    return found


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def compiled(policy: Mapping[str, object], *, kind: Kind) -> Policy:
    """Compile a JSON object. The default Version, 2008-10-17, knows no variables."""
    version = policy.get("Version", "2008-10-17")
    if version not in VERSIONS:
        raise malformed(kind, f"The Version of a policy is one of {', '.join(VERSIONS)}.")
    variables = version == "2012-10-17"
    elements = statement_elements(policy, kind=kind)
    statements = tuple(_statement(one, index, variables, kind) for index, one in enumerate(elements))
    return Policy(statements, frozenset(_keys(statements, variables=variables)))


def statement_elements(policy: Mapping[str, object], *, kind: Kind) -> Sequence[Mapping[str, object]]:
    """The statements as written: one object, or a list with at least one."""
    found = policy.get("Statement")
    listed = found if isinstance(found, list) else [found]
    elements = [one for one in listed if isinstance(one, dict) and one]
    if not elements or len(elements) != len(listed):
        raise malformed(kind, "A policy has at least one Statement, and each is a JSON object.")
    return elements


def _statement(element: Mapping[str, object], index: int, variables: bool, kind: Kind) -> Statement:
    effect = element.get("Effect")
    if effect not in ("Allow", "Deny"):
        raise malformed(kind, f"The Effect of statement {index + 1} is neither Allow nor Deny.")
    actions, not_action = _either(element, "Action")
    resources, not_resource = _either(element, "Resource")
    if kind == "trust" and not resources:
        resources = ("*",)  # a trust policy speaks of its own role
    principal, not_principal = _principal(element)
    conditions = tuple(_conditions(element.get("Condition"), variables=variables))
    return Statement(
        index=index,
        sid=str(element.get("Sid") or ""),
        allow=effect == "Allow",
        action=_action_test(actions),
        actions=actions,
        not_action=not_action,
        resource_tests=tuple(arn_pattern(text, variables=variables) for text in resources),
        resources=resources,
        not_resource=not_resource,
        principal=principal,
        not_principal=not_principal,
        conditions=tuple(one for one in conditions if one is not None),
        sound=None not in conditions and bool(actions) and bool(resources),
    )


def _either(element: Mapping[str, object], name: str) -> tuple[tuple[str, ...], bool]:
    """Values of Action or NotAction (Resource or NotResource), and whether it was the Not form."""
    negated = name not in element and f"Not{name}" in element
    return texts(element.get(f"Not{name}" if negated else name)), negated


def _principal(element: Mapping[str, object]) -> tuple[Principal | None, bool]:
    negated = "Principal" not in element and "NotPrincipal" in element
    return principal_of(element.get("NotPrincipal" if negated else "Principal")), negated


def texts(value: object) -> tuple[str, ...]:
    """One value or a list of them as texts; JSON booleans and numbers as they are written in JSON."""
    if value is None or isinstance(value, dict):
        return ()
    return tuple(_text(one) for one in (value if isinstance(value, list) else [value]))


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _action_test(actions: Sequence[str]) -> Callable[[str], bool]:
    """Is this action (lower case) one of them? Blanks and commas are part of a name, hence match nothing."""
    exact = frozenset(action.lower() for action in actions if not _is_glob(action))
    globs = [glob(action.lower()) for action in actions if _is_glob(action)]
    if not globs:
        return exact.__contains__
    if len(globs) == 1 and not exact:
        return globs[0]
    return lambda action: action in exact or any(matches(action) for matches in globs)


def _is_glob(text: str) -> bool:
    return "*" in text or "?" in text


def _conditions(element: object, *, variables: bool) -> Iterator[Condition | None]:
    """None for what makes no sense: it keeps the statement from applying."""
    if element is None:
        return
    if not isinstance(element, dict):
        yield None
        return
    for operator, keys in element.items():
        if not isinstance(keys, dict):
            yield None
            continue
        for key, values in keys.items():
            yield condition_of(operator, key, texts(values), variables=variables)


def _keys(statements: Sequence[Statement], *, variables: bool) -> Iterator[str]:
    for statement in statements:
        for condition in statement.conditions:
            yield condition.key
        if variables:
            for text in (*statement.resources, *(v for c in statement.conditions for v in c.values)):
                yield from keys_of(tokens(text, variables=True, wildcards=False))
