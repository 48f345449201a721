"""IAM's operations on attachments of managed policies."""

from __future__ import annotations

from typing import TypeVar

from msgspec import structs

from atoll.control_store import Table, Transaction
from atoll.domain.api_call import Call, OperationOutput
from atoll.services.iam import input_checks, output_members
from atoll.services.iam.dependencies import Dependencies
from atoll.services.iam.lookup import holder, key_of, no_such, require_policy, table_noun
from atoll.services.iam.quotas import ATTACHED_MAX
from atoll.services.iam.records import ROLES, USERS, IdentityRecord

H = TypeVar("H", bound=IdentityRecord)


async def AttachUserPolicy(deps: Dependencies, call: Call, *, UserName: str, PolicyArn: str) -> OperationOutput:
    return await _attach(deps, call, USERS, UserName, PolicyArn)


async def DetachUserPolicy(deps: Dependencies, call: Call, *, UserName: str, PolicyArn: str) -> OperationOutput:
    return await _detach(deps, call, USERS, UserName, PolicyArn)


async def ListAttachedUserPolicies(
    deps: Dependencies, call: Call, *, UserName: str, PathPrefix: str = "/", Marker: str | None = None, MaxItems: int | None = None
) -> OperationOutput:
    return OperationOutput(output_members.page("AttachedPolicies", _attached(deps, call, USERS, UserName, PathPrefix), Marker, MaxItems))


async def AttachRolePolicy(deps: Dependencies, call: Call, *, RoleName: str, PolicyArn: str) -> OperationOutput:
    return await _attach(deps, call, ROLES, RoleName, PolicyArn)


async def DetachRolePolicy(deps: Dependencies, call: Call, *, RoleName: str, PolicyArn: str) -> OperationOutput:
    return await _detach(deps, call, ROLES, RoleName, PolicyArn)


async def ListAttachedRolePolicies(
    deps: Dependencies, call: Call, *, RoleName: str, PathPrefix: str = "/", Marker: str | None = None, MaxItems: int | None = None
) -> OperationOutput:
    return OperationOutput(output_members.page("AttachedPolicies", _attached(deps, call, ROLES, RoleName, PathPrefix), Marker, MaxItems))


async def _attach(deps: Dependencies, call: Call, table: Table[H], name: str, arn: str) -> OperationOutput:
    """Twice is as good as once."""

    def attach(transaction: Transaction) -> None:
        record = holder(transaction, table, call.account, name)
        require_policy(transaction, call.account, arn)
        attached = tuple(dict.fromkeys((*record.attached, arn)))
        input_checks.check_quota(len(attached), ATTACHED_MAX, f"managed policies attached to a {table_noun(table)}")
        transaction.put(table, key_of(transaction, call.account, name), structs.replace(record, attached=attached))

    await deps.state.transact(attach)
    return OperationOutput()


async def _detach(deps: Dependencies, call: Call, table: Table[H], name: str, arn: str) -> OperationOutput:
    def detach(transaction: Transaction) -> None:
        record = holder(transaction, table, call.account, name)
        if arn not in record.attached:
            raise no_such(f"policy {arn} among those of the {table_noun(table)} {name}")
        rest = tuple(other for other in record.attached if other != arn)
        transaction.put(table, key_of(transaction, call.account, name), structs.replace(record, attached=rest))

    await deps.state.transact(detach)
    return OperationOutput()


def _attached(deps: Dependencies, call: Call, table: Table[H], name: str, prefix: str) -> list[tuple[str, dict[str, str]]]:
    policies = [require_policy(deps.state, call.account, arn) for arn in holder(deps.state, table, call.account, name).attached]
    shown = [policy for policy in policies if policy.path.startswith(prefix)]
    return sorted((policy.arn, {"PolicyName": policy.name, "PolicyArn": policy.arn}) for policy in shown)
