"""IAM's operations on roles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import structs

from atoll.control_store import Transaction
from atoll.domain.api_call import Call, OperationOutput
from atoll.domain.errors import ApiError
from atoll.services.iam import id_generation, input_checks, output_members
from atoll.services.iam.dependencies import Dependencies
from atoll.services.iam.lookup import holder, key_of, of_account, require_policy
from atoll.services.iam.op_users import require_nothing_attached
from atoll.services.iam.quotas import ROLES_MAX, TRUST_MAX_CHARS
from atoll.services.iam.records import ROLES, RoleRecord

SESSION_MIN_S, SESSION_MAX_S = 3600, 43_200  # IAM API, CreateRole: MaxSessionDuration


async def CreateRole(
    deps: Dependencies,
    call: Call,
    *,
    RoleName: str,
    AssumeRolePolicyDocument: str,
    Path: str = "/",
    Description: str = "",
    MaxSessionDuration: int = SESSION_MIN_S,
    PermissionsBoundary: str = "",
    Tags: Sequence[Mapping[str, str]] = (),
) -> OperationOutput:
    record = RoleRecord(
        name=input_checks.name("roleName", RoleName, 64),
        id=id_generation.unique_id(id_generation.ROLE, deps.random_bytes),
        path=input_checks.path(Path),
        created_ms=call.now_ms,
        trust=_trust(deps, "assumeRolePolicyDocument", AssumeRolePolicyDocument),
        description=input_checks.description(Description),
        max_session_s=input_checks.between("maxSessionDuration", MaxSessionDuration, SESSION_MIN_S, SESSION_MAX_S),
        boundary=PermissionsBoundary,
        tags=input_checks.tags(Tags),
    )

    def add(transaction: Transaction) -> None:
        if transaction.get(ROLES, key_of(transaction, call.account, RoleName)):
            raise ApiError("EntityAlreadyExists", f"Role with name {RoleName} already exists.")
        input_checks.check_quota(len(of_account(transaction, ROLES, call.account)) + 1, ROLES_MAX, "roles")
        if PermissionsBoundary:
            require_policy(transaction, call.account, PermissionsBoundary)
        transaction.put(ROLES, key_of(transaction, call.account, RoleName), record)

    await deps.state.transact(add)
    return OperationOutput({"Role": output_members.role(record, call.account) | output_members.extras(record)})


async def GetRole(deps: Dependencies, call: Call, *, RoleName: str) -> OperationOutput:
    record = holder(deps.state, ROLES, call.account, RoleName)
    return OperationOutput({"Role": output_members.role(record, call.account) | output_members.extras(record)})


async def ListRoles(
    deps: Dependencies, call: Call, *, PathPrefix: str = "/", Marker: str | None = None, MaxItems: int | None = None
) -> OperationOutput:
    found = [(key, role) for key, role in of_account(deps.state, ROLES, call.account) if role.path.startswith(PathPrefix)]
    return OperationOutput(output_members.page("Roles", [(key, output_members.role(role, call.account)) for key, role in found], Marker, MaxItems))


async def DeleteRole(deps: Dependencies, call: Call, *, RoleName: str) -> OperationOutput:
    def remove(transaction: Transaction) -> None:
        require_nothing_attached(holder(transaction, ROLES, call.account, RoleName))
        transaction.delete(ROLES, key_of(transaction, call.account, RoleName))

    await deps.state.transact(remove)
    return OperationOutput()


async def UpdateAssumeRolePolicy(deps: Dependencies, call: Call, *, RoleName: str, PolicyDocument: str) -> OperationOutput:
    trust = _trust(deps, "policyDocument", PolicyDocument)

    def replace(transaction: Transaction) -> None:
        transaction.put(ROLES, key_of(transaction, call.account, RoleName), structs.replace(holder(transaction, ROLES, call.account, RoleName), trust=trust))

    await deps.state.transact(replace)
    return OperationOutput()


async def PutRolePermissionsBoundary(deps: Dependencies, call: Call, *, RoleName: str, PermissionsBoundary: str) -> OperationOutput:
    def bound(transaction: Transaction) -> None:
        role = holder(transaction, ROLES, call.account, RoleName)
        require_policy(transaction, call.account, PermissionsBoundary)
        transaction.put(ROLES, key_of(transaction, call.account, RoleName), structs.replace(role, boundary=PermissionsBoundary))

    await deps.state.transact(bound)
    return OperationOutput()


async def DeleteRolePermissionsBoundary(deps: Dependencies, call: Call, *, RoleName: str) -> OperationOutput:
    def unbound(transaction: Transaction) -> None:
        transaction.put(ROLES, key_of(transaction, call.account, RoleName), structs.replace(holder(transaction, ROLES, call.account, RoleName), boundary=""))

    await deps.state.transact(unbound)
    return OperationOutput()


def _trust(deps: Dependencies, member: str, text: str) -> str:
    return input_checks.document(member, text, deps.check_trust_policy, TRUST_MAX_CHARS)
