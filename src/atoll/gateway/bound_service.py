"""A service with its operations bound to their dependencies. The signatures are the support matrix."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from atoll.aws_protocols.api_coverage import signature_members
from atoll.aws_protocols.codec import Codec, codec
from atoll.domain.api_call import Call, OperationOutput
from atoll.domain.errors import not_implemented

Operation = Callable[..., Awaitable[OperationOutput]]
Bound = Callable[..., Awaitable[OperationOutput]]


@dataclass(frozen=True, slots=True)
class BoundService:
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


def bind(service: str, operations: Mapping[str, Operation], deps: object) -> BoundService:
    """A service's operations with `deps` filled in."""
    return BoundService(
        service,
        codec(service),
        {name: functools.partial(function, deps) for name, function in operations.items()},
        {name: signature_members(function) for name, function in operations.items()},
    )


def call_operation(part: BoundService, call: Call, params: Mapping[str, Any]) -> Awaitable[OperationOutput]:
    """Run the operation of a call."""
    return part.operation(call.operation)(call, **params)
