"""Evaluates the conditions of a statement.

AND over operators and keys, OR over the values of a key; a negated operator wants none of the values to match.
Source: IAM user guide, "IAM JSON policy elements: Condition operators" and "Multivalued context keys".
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import operator as op
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from atoll.rules.policy.model import Condition, Context, Test
from atoll.rules.policy.patterns import pattern, strict_arn_pattern
from atoll.rules.policy.variables import Token, is_plain, resolved, tokens

Quantifier = Literal["", "ForAllValues", "ForAnyValue"]
Number = Callable[[str], float | None]


@dataclass(frozen=True, slots=True)
class Operator:
    """`compile(values, variables)` gives the test; `valid` tells whether a value can be one of this operator's."""

    name: str
    negated: bool
    compile: Callable[[Sequence[str], bool], Test]
    valid: Callable[[str], bool]


def holds(condition: Condition, context: Context) -> bool:
    """Judge one condition. An unresolved variable in a value that is needed makes it fail, negated or not."""
    value = context.get(condition.key)
    absent = value is None or value == ()
    if condition.operator == "Null":
        return condition.test("true" if absent else "false", context) is True
    if absent or value is None:
        return _holds_without(condition)
    return _holds_for((value,) if isinstance(value, str) else value, condition, context)


def _holds_without(condition: Condition) -> bool:
    """The key is absent: only what is negated, optional or said of all values holds."""
    if condition.if_exists or condition.quantifier == "ForAllValues":
        return True
    return condition.negated and condition.quantifier != "ForAnyValue"


def _holds_for(values: Sequence[str], condition: Condition, context: Context) -> bool:
    verdicts = [condition.test(value, context) for value in values]
    if None in verdicts:
        return False
    every = condition.quantifier == "ForAllValues" or (condition.negated and not condition.quantifier)
    fits = (verdict is not condition.negated for verdict in verdicts)
    return all(fits) if every else any(fits)


def condition_of(name: str, key: str, values: Sequence[str], *, variables: bool) -> Condition | None:
    """Compile one key of one operator; None for an operator that does not exist."""
    quantifier, base, if_exists = _taken_apart(name)
    found = OPERATORS.get(base)
    if found is None or (base == "null" and if_exists):
        return None
    test = found.compile(values, variables)
    return Condition(found.name, quantifier, if_exists, found.negated, key.lower(), tuple(values), test)


def _taken_apart(name: str) -> tuple[Quantifier, str, bool]:
    """ForAnyValue:StringLikeIfExists -> ForAnyValue, stringlike, True. Operator names are compared without case."""
    prefix, colon, rest = name.partition(":")
    base = (rest if colon else prefix).lower()
    quantifier = _QUANTIFIERS.get(prefix.lower()) if colon else ""
    if quantifier is None:
        return "", "", False
    return quantifier, base.removesuffix("ifexists"), base.endswith("ifexists")


_QUANTIFIERS: dict[str, Quantifier] = {"forallvalues": "ForAllValues", "foranyvalue": "ForAnyValue"}


def _any_of(tests: Sequence[Test]) -> Test:
    """One match is enough; without a match, one unresolved value leaves the question open."""

    def matches(text: str, context: Context) -> bool | None:
        verdict: bool | None = False
        for test in tests:
            found = test(text, context)
            if found:
                return True
            verdict = None if found is None else verdict
        return verdict

    return tests[0] if len(tests) == 1 else matches


def _texts(fold: Callable[[str], str]) -> Callable[[Sequence[str], bool], Test]:
    def one(parts: Sequence[Token]) -> Test:
        def matches(text: str, context: Context) -> bool | None:
            known = resolved(parts, context)
            return None if known is None else fold("".join(map(str, known))) == fold(text)

        return matches

    def compile_(values: Sequence[str], variables: bool) -> Test:
        cut = [tokens(value, variables=variables, wildcards=False) for value in values]
        if all(is_plain(parts) for parts in cut):
            wanted = frozenset(fold("".join(map(str, parts))) for parts in cut)
            return lambda text, _: fold(text) in wanted
        return _any_of([one(parts) for parts in cut])

    return compile_


def _patterns(values: Sequence[str], variables: bool) -> Test:
    return _any_of([pattern(value, variables=variables) for value in values])


def _arns(values: Sequence[str], variables: bool) -> Test:
    return _any_of([strict_arn_pattern(value, variables=variables) for value in values])


def _ordered(compare: Callable[[float, float], bool], number: Number) -> Callable[[Sequence[str], bool], Test]:
    def compile_(values: Sequence[str], _variables: bool) -> Test:
        wanted = [found for found in map(number, values) if found is not None]

        def matches(text: str, _context: Context) -> bool:
            given = number(text)
            return given is not None and any(compare(given, limit) for limit in wanted)

        return matches

    return compile_


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _moment(text: str) -> float | None:
    """ISO 8601 or seconds since the epoch; without a zone it is UTC."""
    plain = _number(text)
    if plain is not None and len(text) != len("2026"):  # a bare year is a date, not the first hour of 1970
        return plain
    try:
        found = datetime.fromisoformat(f"{text}-01-01" if plain is not None else text)
    except ValueError:
        return None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def _bytes(values: Sequence[str], _variables: bool) -> Test:
    wanted = {found for found in map(_decoded, values) if found is not None}
    return lambda text, _: _decoded(text) in wanted


def _decoded(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def network(text: str) -> Network | None:
    """A CIDR or a bare address; None for anything else."""
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None


def _addresses(values: Sequence[str], _variables: bool) -> Test:
    wanted = [found for found in map(network, values) if found is not None]

    def matches(text: str, _context: Context) -> bool:
        try:
            given = ipaddress.ip_address(text)
        except ValueError:
            return False
        mapped = given.ipv4_mapped if given.version == 6 else None  # a v4 client of a dual-stack socket
        return any((mapped or given) in one for one in wanted)

    return matches


def _family(
    names: Sequence[str], compile_: Callable[[Sequence[str], bool], Test], valid: Callable[[str], bool]
) -> list[Operator]:
    return [Operator(name, "Not" in name, compile_, valid) for name in names]


def _always(_text: str) -> bool:
    return True


def _is_bool(text: str) -> bool:
    return text.lower() in ("true", "false")


_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "Equals": op.eq,
    "NotEquals": op.eq,
    "LessThan": op.lt,
    "LessThanEquals": op.le,
    "GreaterThan": op.gt,
    "GreaterThanEquals": op.ge,
}


def _comparisons(kind: str, number: Number) -> list[Operator]:
    return [
        Operator(kind + name, name == "NotEquals", _ordered(compare, number), lambda text: number(text) is not None)
        for name, compare in _COMPARISONS.items()
    ]


_EXACT, _FOLDED = _texts(str), _texts(str.casefold)

OPERATORS: dict[str, Operator] = {
    found.name.lower(): found
    for found in (
        *_family(("StringEquals", "StringNotEquals"), _EXACT, _always),
        *_family(("StringEqualsIgnoreCase", "StringNotEqualsIgnoreCase"), _FOLDED, _always),
        *_family(("StringLike", "StringNotLike"), _patterns, _always),
        *_family(("ArnEquals", "ArnNotEquals", "ArnLike", "ArnNotLike"), _arns, _always),
        *_comparisons("Numeric", _number),
        *_comparisons("Date", _moment),
        *_family(("IpAddress", "NotIpAddress"), _addresses, lambda text: network(text) is not None),
        *_family(("Bool",), _FOLDED, _is_bool),
        *_family(("Null",), _FOLDED, _is_bool),
        *_family(("BinaryEquals",), _bytes, lambda text: _decoded(text) is not None),
    )
}
