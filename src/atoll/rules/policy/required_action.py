"""An action that a call requires on a resource."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgspec

from atoll.domain.arn import bucket_arn, object_arn


class RequiredAction(msgspec.Struct, frozen=True):
    """One action on one resource ARN ("*" for actions that take no resource)."""

    action: str
    resource: str


class CallDetails(msgspec.Struct, frozen=True):
    """What decides which actions a call requires. See required_actions."""

    operation: str
    params: Mapping[str, object]
    bucket: str
    key: str
    version: bool
    account: str
    headers: Mapping[str, str]
    source: tuple[str, str, str] | None
    access_point: str
    caller_arn: str
    identity: str = ""

    def has(self, member: str, header: str) -> bool:
        return member in self.params or header in self.headers

    def text(self, member: str) -> str:
        found = self.params.get(member)
        return found if isinstance(found, str) else ""

    @property
    def bucket_arn(self) -> str:
        return bucket_arn(self.bucket)

    @property
    def object_arn(self) -> str:
        return object_arn(self.bucket, self.key)


ActionResolver = Callable[[CallDetails], Iterator[RequiredAction]]


def own_name(service: str) -> ActionResolver:
    """The action that is named as the operation, on everything."""

    def required_actions(call: CallDetails) -> Iterator[RequiredAction]:
        yield RequiredAction(f"{service}:{call.operation}", "*")

    return required_actions


def everywhere(action: str) -> ActionResolver:
    def required_actions(_call: CallDetails) -> Iterator[RequiredAction]:
        yield RequiredAction(action, "*")

    return required_actions


def nothing(_call: CallDetails) -> Iterator[RequiredAction]:
    return iter(())
