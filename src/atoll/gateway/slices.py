"""Which operations does a service take, and with which members? The signatures are the support matrix."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from atoll.domain.call import Answer, Call
from atoll.domain.errors import not_implemented
from atoll.wire.codec import Codec, codec
from atoll.wire.coverage import signature_members

Operation = Callable[..., Awaitable[Answer]]
Bound = Callable[..., Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Slice:
    """One AWS API as this process answers it: its codec, its operations bound to their collaborators."""

    service: str
    codec: Codec
    operations: Mapping[str, Bound]
    members: Mapping[str, frozenset[str]]

    def operation(self, name: str) -> Bound:
        """Raises NotImplemented, naming the operation."""
        found = self.operations.get(name)
        if found is None:
            raise not_implemented(f"the operation {name}")
        return found

    def check_members(self, name: str, params: Mapping[str, Any]) -> None:
        """Raises NotImplemented, naming the first member that the operation does not take."""
        if not params.keys() <= self.members[name]:
            missing = min(params.keys() - self.members[name])
            raise not_implemented(f"the parameter {missing} of {name}")


def bind(service: str, operations: Mapping[str, Operation], here: object) -> Slice:
    """A slice's operations with `here` filled in."""
    return Slice(
        service,
        codec(service),
        {name: functools.partial(function, here) for name, function in operations.items()},
        {name: signature_members(function) for name, function in operations.items()},
    )


def operate(part: Slice, call: Call, params: Mapping[str, Any]) -> Awaitable[Answer]:
    """Run the operation of a call."""
    return part.operation(call.operation)(call, **params)
