"""What do IAM's operations on attachments of managed policies do?"""

from __future__ import annotations

from typing import TypeVar

from msgspec import structs

from atoll.domain.call import Answer, Call
from atoll.services.iam import answers, checks
from atoll.services.iam.finding import holder, key_of, must_policy, no_such, noun
from atoll.services.iam.here import Here
from atoll.services.iam.quotas import ATTACHED_MAX
from atoll.services.iam.records import ROLES, USERS, Holder
from atoll.state import Change, Table

H = TypeVar("H", bound=Holder)


async def AttachUserPolicy(here: Here, call: Call, *, UserName: str, PolicyArn: str) -> Answer:
    return await _attach(here, call, USERS, UserName, PolicyArn)


async def DetachUserPolicy(here: Here, call: Call, *, UserName: str, PolicyArn: str) -> Answer:
    return await _detach(here, call, USERS, UserName, PolicyArn)


async def ListAttachedUserPolicies(
    here: Here, call: Call, *, UserName: str, PathPrefix: str = "/", Marker: str | None = None, MaxItems: int | None = None
) -> Answer:
    return Answer(answers.page("AttachedPolicies", _attached(here, call, USERS, UserName, PathPrefix), Marker, MaxItems))


async def AttachRolePolicy(here: Here, call: Call, *, RoleName: str, PolicyArn: str) -> Answer:
    return await _attach(here, call, ROLES, RoleName, PolicyArn)


async def DetachRolePolicy(here: Here, call: Call, *, RoleName: str, PolicyArn: str) -> Answer:
    return await _detach(here, call, ROLES, RoleName, PolicyArn)


async def ListAttachedRolePolicies(
    here: Here, call: Call, *, RoleName: str, PathPrefix: str = "/", Marker: str | None = None, MaxItems: int | None = None
) -> Answer:
    return Answer(answers.page("AttachedPolicies", _attached(here, call, ROLES, RoleName, PathPrefix), Marker, MaxItems))


async def _attach(here: Here, call: Call, table: Table[H], name: str, arn: str) -> Answer:
    """Twice is as good as once."""

    def attach(change: Change) -> None:
        record = holder(change, table, call.account, name)
        must_policy(change, call.account, arn)
        attached = tuple(dict.fromkeys((*record.attached, arn)))
        checks.within(len(attached), ATTACHED_MAX, f"managed policies attached to a {noun(table)}")
        change.put(table, key_of(change, call.account, name), structs.replace(record, attached=attached))

    await here.state.change(attach)
    return Answer()


async def _detach(here: Here, call: Call, table: Table[H], name: str, arn: str) -> Answer:
    def detach(change: Change) -> None:
        record = holder(change, table, call.account, name)
        if arn not in record.attached:
            raise no_such(f"policy {arn} among those of the {noun(table)} {name}")
        rest = tuple(other for other in record.attached if other != arn)
        change.put(table, key_of(change, call.account, name), structs.replace(record, attached=rest))

    await here.state.change(detach)
    return Answer()


def _attached(here: Here, call: Call, table: Table[H], name: str, prefix: str) -> list[tuple[str, dict[str, str]]]:
    policies = [must_policy(here.state, call.account, arn) for arn in holder(here.state, table, call.account, name).attached]
    shown = [policy for policy in policies if policy.path.startswith(prefix)]
    return sorted((policy.arn, {"PolicyName": policy.name, "PolicyArn": policy.arn}) for policy in shown)
