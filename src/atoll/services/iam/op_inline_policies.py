"""IAM's operations on inline policies."""

from __future__ import annotations

from typing import TypeVar

from msgspec import structs

from atoll.control_store import Table, Transaction
from atoll.domain.api_call import Call, OperationOutput
from atoll.services.iam import input_checks, output_members
from atoll.services.iam.dependencies import Dependencies
from atoll.services.iam.lookup import holder, key_of, no_such, table_noun
from atoll.services.iam.quotas import ROLE_INLINE_MAX_CHARS, USER_INLINE_MAX_CHARS
from atoll.services.iam.records import ROLES, USERS, IdentityRecord

H = TypeVar("H", bound=IdentityRecord)


async def PutUserPolicy(deps: Dependencies, call: Call, *, UserName: str, PolicyName: str, PolicyDocument: str) -> OperationOutput:
    return await _put(deps, call, USERS, UserName, (PolicyName, PolicyDocument), USER_INLINE_MAX_CHARS)


async def GetUserPolicy(deps: Dependencies, call: Call, *, UserName: str, PolicyName: str) -> OperationOutput:
    return OperationOutput({"UserName": UserName, **_get(deps, call, USERS, UserName, PolicyName)})


async def ListUserPolicies(
    deps: Dependencies, call: Call, *, UserName: str, Marker: str | None = None, MaxItems: int | None = None
) -> OperationOutput:
    return _list(deps, call, USERS, UserName, Marker, MaxItems)


async def DeleteUserPolicy(deps: Dependencies, call: Call, *, UserName: str, PolicyName: str) -> OperationOutput:
    return await _delete(deps, call, USERS, UserName, PolicyName)


async def PutRolePolicy(deps: Dependencies, call: Call, *, RoleName: str, PolicyName: str, PolicyDocument: str) -> OperationOutput:
    return await _put(deps, call, ROLES, RoleName, (PolicyName, PolicyDocument), ROLE_INLINE_MAX_CHARS)


async def GetRolePolicy(deps: Dependencies, call: Call, *, RoleName: str, PolicyName: str) -> OperationOutput:
    return OperationOutput({"RoleName": RoleName, **_get(deps, call, ROLES, RoleName, PolicyName)})


async def ListRolePolicies(
    deps: Dependencies, call: Call, *, RoleName: str, Marker: str | None = None, MaxItems: int | None = None
) -> OperationOutput:
    return _list(deps, call, ROLES, RoleName, Marker, MaxItems)


async def DeleteRolePolicy(deps: Dependencies, call: Call, *, RoleName: str, PolicyName: str) -> OperationOutput:
    return await _delete(deps, call, ROLES, RoleName, PolicyName)


async def _put(deps: Dependencies, call: Call, table: Table[H], name: str, policy: tuple[str, str], most: int) -> OperationOutput:
    input_checks.name("policyName", policy[0])
    input_checks.document("policyDocument", policy[1], deps.check_identity_policy, most)

    def put(transaction: Transaction) -> None:
        record = holder(transaction, table, call.account, name)
        policies = record.policies | dict([policy])
        input_checks.check_quota(sum(map(input_checks.policy_size, policies.values())), most, f"characters in inline policies of a {table_noun(table)}")
        transaction.put(table, key_of(transaction, call.account, name), structs.replace(record, policies=policies))

    await deps.state.transact(put)
    return OperationOutput()


def _get(deps: Dependencies, call: Call, table: Table[H], name: str, policy: str) -> dict[str, str]:
    policies = holder(deps.state, table, call.account, name).policies
    if policy not in policies:
        raise no_such(f"{table_noun(table)} policy with name {policy}")
    return {"PolicyName": policy, "PolicyDocument": output_members.encoded(policies[policy])}


def _list(deps: Dependencies, call: Call, table: Table[H], name: str, marker: str | None, most: int | None) -> OperationOutput:
    names = sorted(holder(deps.state, table, call.account, name).policies)
    return OperationOutput(output_members.page("PolicyNames", [(policy, policy) for policy in names], marker, most))


async def _delete(deps: Dependencies, call: Call, table: Table[H], name: str, policy: str) -> OperationOutput:
    def delete(transaction: Transaction) -> None:
        record = holder(transaction, table, call.account, name)
        if policy not in record.policies:
            raise no_such(f"{table_noun(table)} policy with name {policy}")
        rest = {key: text for key, text in record.policies.items() if key != policy}
        transaction.put(table, key_of(transaction, call.account, name), structs.replace(record, policies=rest))

    await deps.state.transact(delete)
    return OperationOutput()
