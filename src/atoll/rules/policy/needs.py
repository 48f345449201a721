"""What is a need, and what is known of the call that has it?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgspec

from atoll.domain.arn import bucket_arn, object_arn


class Need(msgspec.Struct, frozen=True):
    """One action on one resource ARN ("*" for actions that take no resource)."""

    action: str
    resource: str


class Ask(msgspec.Struct, frozen=True):
    """The facts of a call that decide what it needs. See actions.required."""

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


Needs = Callable[[Ask], Iterator[Need]]


def own_name(service: str) -> Needs:
    """The action that is named as the operation, on everything."""

    def needs(ask: Ask) -> Iterator[Need]:
        yield Need(f"{service}:{ask.operation}", "*")

    return needs


def everywhere(action: str) -> Needs:
    def needs(_ask: Ask) -> Iterator[Need]:
        yield Need(action, "*")

    return needs


def nothing(_ask: Ask) -> Iterator[Need]:
    return iter(())
