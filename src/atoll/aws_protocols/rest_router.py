"""Finds the operation and the labels of a REST request from method, path and query.

Templates are compiled to patterns and filed under method and the first two literal segments, so that a request is compared with
a handful of them. Greedy labels keep their "/": the pattern strips the known suffix first, decoding comes last (mrap.md §2.3).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from atoll.aws_protocols.route import Route
from atoll.aws_protocols.service_models import Model, Operation
from atoll.aws_protocols.uri_decoding import decoded, query_pairs
from atoll.domain.errors import ApiError

_LABEL = re.compile(r"\{(\w+)(\+?)\}")

Head = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Template:
    """One operation's place. `words` must stand in the query (with their value when they have one); `query` and `headers` are
    required members, which tell operations with equal places apart."""

    operation: str
    pattern: re.Pattern[str]
    words: Mapping[str, str]
    query: frozenset[str]
    headers: frozenset[str]
    rank: tuple[int, ...]

    def fits(self, query: Mapping[str, str], headers: Mapping[str, str]) -> bool:
        return self.query <= query.keys() and all(name in headers for name in self.headers)

    def placed(self, path: str, query: Mapping[str, str]) -> re.Match[str] | None:
        if any(name not in query or (value and query[name] != value) for name, value in self.words.items()):
            return None
        return self.pattern.fullmatch(path)


def _pattern(path: str) -> re.Pattern[str]:
    out, at = "", 0
    for label in _LABEL.finditer(path):
        out += re.escape(path[at : label.start()]) + f"(?P<{label[1]}>{'.+' if label[2] else '[^/]+'})"
        at = label.end()
    return re.compile(out + re.escape(path[at:].rstrip("/")) + "/?", re.DOTALL)


def _head(path: str) -> Head:
    """The first two segments, as far as they are literal."""
    segments = path.split("/")[1:3]
    literal = [s for s in segments if "{" not in s]
    return tuple(literal) if segments[: len(literal)] == literal else ()


def _required(model: Model, operation: Operation, location: str) -> frozenset[str]:
    if operation.input is None:
        return frozenset()
    members = model.members(operation.input)
    return frozenset(members[n].wire for n in model.shape(operation.input).required if members[n].ref.location == location)


def _template(model: Model, operation: Operation) -> Template:
    path, _, query = operation.http.request_uri.partition("?")
    words = dict(word.partition("=")[::2] for word in query.split("&") if word)
    literal = len(_LABEL.sub("", path))
    needed = _required(model, operation, "querystring")
    headers = frozenset(name.lower() for name in _required(model, operation, "header"))
    rank = (literal, -path.count("+}"), len(words), len(needed) + len(headers), int(not operation.deprecated))
    return Template(operation.name, _pattern(path), words, needed, headers, rank)


class RestRouter:
    """All templates of a model, the most specific first."""

    def __init__(self, model: Model) -> None:
        self._filed: dict[tuple[str, Head], list[Template]] = {}
        for operation in model.operations.values():
            head = _head(operation.http.request_uri.partition("?")[0])
            self._filed.setdefault((operation.http.method, head), []).append(_template(model, operation))
        for templates in self._filed.values():
            templates.sort(key=lambda t: t.rank, reverse=True)
        self._methods = frozenset(method for method, _ in self._filed)
        self._unknown = _UNKNOWN.get(model.protocol, ("InvalidURI", 400))

    def route(self, method: str, path: str, query: str, headers: Mapping[str, str]) -> Route:
        """Raises MethodNotAllowed, or what the protocol answers to an unknown path."""
        words = dict(query_pairs(query)) if query else {}
        found = self._find(method, path, words, headers)
        if found is not None:
            return found
        others = sorted(m for m in self._methods if m != method and self._find(m, path, words, headers))
        if others:
            raise ApiError("MethodNotAllowed", f"{method} is not allowed here.", headers={"allow": ", ".join(others)})
        code, status = self._unknown
        raise ApiError(code, f"No operation answers {method} {path[:200]}.", status=status)

    def _find(self, method: str, path: str, words: Mapping[str, str], headers: Mapping[str, str]) -> Route | None:
        placed = [
            (template, match)
            for template in self._candidates(method, path)
            if (match := template.placed(path, words)) is not None
        ]
        if not placed:
            return None
        template, match = next(((t, m) for t, m in placed if t.fits(words, headers)), placed[-1])  # the least demanding one
        return Route(template.operation, {name: decoded(text) for name, text in match.groupdict().items()})

    def _candidates(self, method: str, path: str) -> list[Template]:
        first, _, rest = path[1:].partition("/")
        second = rest.partition("/")[0]
        heads: tuple[Head, ...] = ((first, second), (first,), ())
        return [template for head in heads for template in self._filed.get((method, head), ())]


_UNKNOWN: Mapping[str, tuple[str, int]] = {"rest-json": ("UnknownOperationException", 404)}
