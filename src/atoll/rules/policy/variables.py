"""Policy variables: ${...} in a request.

A text of a policy is cut into tokens once: plain text, wildcards, variables. A substituted value is always plain text, so
a caller whose name contains a star gains nothing by it.
Source: IAM user guide, "IAM policy elements: Variables and tags".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeGuard

from atoll.rules.policy.model import Context

# ${key} or ${key, 'default'}
_VARIABLE = re.compile(r"\$\{\s*([^\s,{}'][^,{}']*?)\s*(?:,\s*'([^']*)'\s*)?\}")
_LITERALS = frozenset("*?$")  # ${*} ${?} ${$}


class Wildcard(Enum):
    ANY = "*"
    ONE = "?"


@dataclass(frozen=True, slots=True)
class Variable:
    key: str
    default: str | None

    def value(self, context: Context) -> str | None:
        """None when unresolved. A key of several values resolves to nothing, as only single ones may be used."""
        found = context.get(self.key)
        return found if isinstance(found, str) else self.default


Token = str | Wildcard | Variable


def tokens(text: str, *, variables: bool, wildcards: bool) -> tuple[Token, ...]:
    """Cut a text into tokens. Without `variables` (policies of 2008-10-17) "${" is plain text."""
    return tuple(_merged(_cut(text, variables=variables, wildcards=wildcards)))


def _cut(text: str, *, variables: bool, wildcards: bool) -> Iterator[Token]:
    position = 0
    while position < len(text):
        found = _VARIABLE.match(text, position) if variables and text[position] == "$" else None
        if found is None:
            yield _character(text[position], wildcards=wildcards)
            position += 1
        else:
            yield _variable(found)
            position = found.end()


def _character(character: str, *, wildcards: bool) -> Token:
    return Wildcard(character) if wildcards and character in "*?" else character


def _variable(found: re.Match[str]) -> Token:
    key, default = found.groups()
    return key if key in _LITERALS and default is None else Variable(key.lower(), default)


def _merged(parts: Iterator[Token]) -> Iterator[Token]:
    """Join neighbouring texts; a run of stars is one star."""
    last: Token | None = None
    for part in parts:
        if isinstance(last, str) and isinstance(part, str):
            last += part
        elif not (last is Wildcard.ANY and part is Wildcard.ANY):
            if last is not None:
                yield last
            last = part
    if last is not None:
        yield last


def is_plain(parts: Sequence[Token]) -> TypeGuard[Sequence[str]]:
    """Neither wildcard nor variable."""
    return all(isinstance(part, str) for part in parts)


def keys_of(parts: Sequence[Token]) -> Iterator[str]:
    return (part.key for part in parts if isinstance(part, Variable))


def resolved(parts: Sequence[Token], context: Context) -> tuple[str | Wildcard, ...] | None:
    """The same tokens with values in place of variables; None when one is unresolved."""
    known: list[str | Wildcard] = []
    for part in parts:
        value = part.value(context) if isinstance(part, Variable) else part
        if value is None:
            return None
        known.append(value)
    return tuple(known)
