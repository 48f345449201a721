"""What do IAM's operations on inline policies do?"""

from __future__ import annotations

from typing import TypeVar

from msgspec import structs

from atoll.domain.call import Answer, Call
from atoll.services.iam import answers, checks
from atoll.services.iam.finding import holder, key_of, no_such, noun
from atoll.services.iam.here import Here
from atoll.services.iam.quotas import ROLE_INLINE_MAX_CHARS, USER_INLINE_MAX_CHARS
from atoll.services.iam.records import ROLES, USERS, Holder
from atoll.state import Change, Table

H = TypeVar("H", bound=Holder)


async def PutUserPolicy(here: Here, call: Call, *, UserName: str, PolicyName: str, PolicyDocument: str) -> Answer:
    return await _put(here, call, USERS, UserName, (PolicyName, PolicyDocument), USER_INLINE_MAX_CHARS)


async def GetUserPolicy(here: Here, call: Call, *, UserName: str, PolicyName: str) -> Answer:
    return Answer({"UserName": UserName, **_get(here, call, USERS, UserName, PolicyName)})


async def ListUserPolicies(
    here: Here, call: Call, *, UserName: str, Marker: str | None = None, MaxItems: int | None = None
) -> Answer:
    return _list(here, call, USERS, UserName, Marker, MaxItems)


async def DeleteUserPolicy(here: Here, call: Call, *, UserName: str, PolicyName: str) -> Answer:
    return await _delete(here, call, USERS, UserName, PolicyName)


async def PutRolePolicy(here: Here, call: Call, *, RoleName: str, PolicyName: str, PolicyDocument: str) -> Answer:
    return await _put(here, call, ROLES, RoleName, (PolicyName, PolicyDocument), ROLE_INLINE_MAX_CHARS)


async def GetRolePolicy(here: Here, call: Call, *, RoleName: str, PolicyName: str) -> Answer:
    return Answer({"RoleName": RoleName, **_get(here, call, ROLES, RoleName, PolicyName)})


async def ListRolePolicies(
    here: Here, call: Call, *, RoleName: str, Marker: str | None = None, MaxItems: int | None = None
) -> Answer:
    return _list(here, call, ROLES, RoleName, Marker, MaxItems)


async def DeleteRolePolicy(here: Here, call: Call, *, RoleName: str, PolicyName: str) -> Answer:
    return await _delete(here, call, ROLES, RoleName, PolicyName)


async def _put(here: Here, call: Call, table: Table[H], name: str, policy: tuple[str, str], most: int) -> Answer:
    checks.name("policyName", policy[0])
    checks.document("policyDocument", policy[1], here.check_identity_policy, most)

    def put(change: Change) -> None:
        record = holder(change, table, call.account, name)
        policies = record.policies | dict([policy])
        checks.within(sum(map(checks.weight, policies.values())), most, f"characters in inline policies of a {noun(table)}")
        change.put(table, key_of(change, call.account, name), structs.replace(record, policies=policies))

    await here.state.change(put)
    return Answer()


def _get(here: Here, call: Call, table: Table[H], name: str, policy: str) -> dict[str, str]:
    policies = holder(here.state, table, call.account, name).policies
    if policy not in policies:
        raise no_such(f"{noun(table)} policy with name {policy}")
    return {"PolicyName": policy, "PolicyDocument": answers.encoded(policies[policy])}


def _list(here: Here, call: Call, table: Table[H], name: str, marker: str | None, most: int | None) -> Answer:
    names = sorted(holder(here.state, table, call.account, name).policies)
    return Answer(answers.page("PolicyNames", [(policy, policy) for policy in names], marker, most))


async def _delete(here: Here, call: Call, table: Table[H], name: str, policy: str) -> Answer:
    def delete(change: Change) -> None:
        record = holder(change, table, call.account, name)
        if policy not in record.policies:
            raise no_such(f"{noun(table)} policy with name {policy}")
        rest = {key: text for key, text in record.policies.items() if key != policy}
        change.put(table, key_of(change, call.account, name), structs.replace(record, policies=rest))

    await here.state.change(delete)
    return Answer()
