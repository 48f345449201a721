"""Patterns with * and ? in policies.

`*` is any run of characters, `?` is one. Whoever may write a policy also chooses the pattern, so matching must not take
exponential time: each piece between two stars is taken at its leftmost place and never given back (an atomic group).
That is enough, because the pieces have a fixed length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from atoll.rules.policy.model import Context, Test
from atoll.rules.policy.variables import Token, Variable, Wildcard, is_plain, resolved, tokens

ARN_SECTIONS = 6
_COMPILED_MAX = 1024  # patterns with variables, kept compiled per substituted value


def glob(text: str) -> Callable[[str], bool]:
    """A test for a pattern without variables."""
    return _static(_fixed(tokens(text, variables=False, wildcards=True)))


def pattern(text: str, *, variables: bool) -> Test:
    """The whole text against the whole pattern."""
    return _test(tokens(text, variables=variables, wildcards=True))


def arn_pattern(text: str, *, variables: bool) -> Test:
    """ARNs are compared section by section: a star crosses ":" in the last section of the pattern only.

    A pattern of fewer than six sections ("arn:aws:s3:*", "*") covers the rest with its last one.
    """
    sections = _sections(tokens(text, variables=variables, wildcards=True))
    if all(is_plain(section) for section in sections[:-1]):
        return pattern(text, variables=variables)  # plain leading sections pin their colons: one comparison will do
    return _by_section([_test(section) for section in sections])


def strict_arn_pattern(text: str, *, variables: bool) -> Test:
    """As arn_pattern, for ArnLike and ArnEquals, which want all six sections on both sides."""
    sections = _sections(tokens(text, variables=variables, wildcards=True))
    if len(sections) != ARN_SECTIONS:
        return _never
    return _by_section([_test(section) for section in sections])


def can_start(text: str, start: str) -> bool:
    """Is there a text that begins with `start` and matches the pattern `text`? A variable may become anything."""
    places = {0}
    parts = _single_characters(tokens(text, variables=True, wildcards=True))
    for character in start:
        places = {after for place in _skipped(places, parts) for after in _steps(place, parts, character)}
    return bool(places)


def can_be(text: str, whole: str) -> bool:
    """Can the pattern match exactly `whole`? A variable may become anything."""
    loose = tuple(Wildcard.ANY if isinstance(part, Variable) else part for part in tokens(text, variables=True, wildcards=True))
    return _static(loose)(whole)


def _skipped(places: set[int], parts: Sequence[str | Wildcard]) -> set[int]:
    """Places reachable without a character: behind each star as well."""
    reached = set(places)
    for place in sorted(places):
        while place < len(parts) and parts[place] is Wildcard.ANY:
            place += 1
            reached.add(place)
    return reached


def _steps(place: int, parts: Sequence[str | Wildcard], character: str) -> tuple[int, ...]:
    if place == len(parts):
        return ()
    if parts[place] is Wildcard.ANY:
        return (place,)
    return (place + 1,) if parts[place] in (Wildcard.ONE, character) else ()


def _single_characters(parts: Sequence[Token]) -> list[str | Wildcard]:
    singles: list[str | Wildcard] = []
    for part in parts:
        if isinstance(part, str):
            singles.extend(part)
        else:
            singles.append(Wildcard.ANY if isinstance(part, Variable) else part)
    return singles


def _sections(parts: Sequence[Token]) -> list[list[Token]]:
    """Cut at the first five colons that stand in the pattern itself (not in a default)."""
    sections: list[list[Token]] = [[]]
    for part in parts:
        pieces = part.split(":", ARN_SECTIONS - len(sections)) if isinstance(part, str) else [part]
        for number, piece in enumerate(pieces):
            if number:
                sections.append([])
            if piece != "":
                sections[-1].append(piece)
    return sections


def _by_section(tests: Sequence[Test]) -> Test:
    def matches(text: str, context: Context) -> bool | None:
        parts = text.split(":", len(tests) - 1)
        if len(parts) != len(tests):
            return False
        verdicts = [test(part, context) for test, part in zip(tests, parts, strict=True)]
        return None if None in verdicts else all(verdicts)

    return matches


def _test(parts: Sequence[Token]) -> Test:
    if any(isinstance(part, Variable) for part in parts):
        return _dynamic(parts)
    matches = _static(_fixed(parts))
    return lambda text, _: matches(text)


def _fixed(parts: Sequence[Token]) -> tuple[str | Wildcard, ...]:
    return tuple(part for part in parts if not isinstance(part, Variable))


def _dynamic(parts: Sequence[Token]) -> Test:
    def matches(text: str, context: Context) -> bool | None:
        known = resolved(parts, context)
        return None if known is None else _compiled(_source(known)).match(text) is not None

    return matches


def _static(parts: Sequence[str | Wildcard]) -> Callable[[str], bool]:
    if is_plain(parts):
        return "".join(parts).__eq__
    if len(parts) == 1 and parts[0] is Wildcard.ANY:
        return _always
    if len(parts) == 2 and isinstance(parts[0], str) and parts[1] is Wildcard.ANY:
        start = parts[0]
        return lambda text: text.startswith(start)
    match = re.compile(_source(parts), re.DOTALL).match
    return lambda text: match(text) is not None


@lru_cache(maxsize=_COMPILED_MAX)
def _compiled(source: str) -> re.Pattern[str]:
    return re.compile(source, re.DOTALL)


def _source(parts: Sequence[str | Wildcard]) -> str:
    """first(?>.*?middle)...(.*last)\\Z"""
    pieces = [""]
    for part in parts:
        if part is Wildcard.ANY:
            pieces.append("")
        else:
            pieces[-1] += "." if isinstance(part, Wildcard) else re.escape(part)
    if len(pieces) == 1:
        return pieces[0] + r"\Z"
    middles = "".join(f"(?>.*?{piece})" for piece in pieces[1:-1] if piece)
    return pieces[0] + middles + ".*" + pieces[-1] + r"\Z"


def _always(_text: str) -> bool:
    return True


def _never(_text: str, _context: Context) -> bool:
    return False
