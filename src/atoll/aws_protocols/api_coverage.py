"""Counts how much of AWS's API is taken: operations and their members.

An operation's signature is the support matrix: its keyword parameters are the members it takes. This module compares signatures
with the models; `docs/COVERAGE.md` is its output, and a test keeps the two equal.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from atoll.aws_protocols.codec import codec
from atoll.aws_protocols.service_models import load


@dataclass(frozen=True, slots=True)
class Row:
    """One operation of the model: whether Atoll has it, and what it takes and refuses of its members."""

    service: str
    operation: str
    built: bool
    deprecated: bool
    taken: tuple[str, ...]
    refused: tuple[str, ...]


def signature_members(function: Callable[..., Any]) -> frozenset[str]:
    """Members a function takes: its keyword-only parameters."""
    parameters = inspect.signature(function).parameters.values()
    return frozenset(p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY)


def coverage(service: str, operations: Mapping[str, Callable[..., Any]]) -> list[Row]:
    """One row for each operation of the model, in the model's order.

    Raises LookupError for operations and members that the model does not have: a typing error would be a dead parameter.
    """
    api, model = codec(service), load(service)
    strangers = sorted(set(operations) - set(model.operations))
    if strangers:
        raise LookupError(f"{service} has no operation {', '.join(strangers)}")
    return [
        _row(service, name, model.operations[name].deprecated, api.members(name), operations.get(name))
        for name in model.operations
    ]


def _row(service: str, name: str, deprecated: bool, members: frozenset[str], function: Callable[..., Any] | None) -> Row:
    if function is None:
        return Row(service, name, False, deprecated, (), ())
    taken = signature_members(function)
    if not taken <= members:
        raise LookupError(f"{service} {name} has no member {', '.join(sorted(taken - members))}")
    return Row(service, name, True, deprecated, tuple(sorted(taken)), tuple(sorted(members - taken)))


_HEAD = """\
# Coverage of AWS's APIs

Generated from the signatures of `services/*/control.py` and AWS's own models (`atoll.aws_protocols.api_coverage`); do not edit.
A member that is not taken is refused by name with NotImplemented, never dropped. So is an operation that is not built.
"""


def markdown(rows: Iterable[Row]) -> str:
    """The text of docs/COVERAGE.md."""
    by_service: dict[str, list[Row]] = {}
    for row in rows:
        by_service.setdefault(row.service, []).append(row)
    return "\n".join([_HEAD, *(_section(service, found) for service, found in by_service.items())])


def _section(service: str, rows: list[Row]) -> str:
    built = [row for row in rows if row.built]
    missing = [row.operation for row in rows if not row.built and not row.deprecated]
    deprecated = [row.operation for row in rows if not row.built and row.deprecated]
    lines = [f"## {service}: {len(built)} of {len(rows)} operations", ""]
    if built:
        lines += ["| operation | members taken | members refused |", "|---|---|---|"]
        lines += [f"| {row.operation} | {_share(row)} | {', '.join(row.refused) or '-'} |" for row in built]
        lines.append("")
    if missing:
        lines += [f"Not built ({len(missing)}): {', '.join(missing)}.", ""]
    if deprecated:
        lines += [f"Deprecated by AWS and not built: {', '.join(deprecated)}.", ""]
    return "\n".join(lines)


def _share(row: Row) -> str:
    total = len(row.taken) + len(row.refused)
    return "all" if not row.refused else f"{len(row.taken)} of {total}"
