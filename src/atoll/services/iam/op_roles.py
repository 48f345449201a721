"""What do IAM's operations on roles do?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import structs

from atoll.domain.call import Answer, Call
from atoll.domain.errors import ApiError
from atoll.services.iam import answers, checks, making
from atoll.services.iam.finding import holder, key_of, must_policy, of_account
from atoll.services.iam.here import Here
from atoll.services.iam.op_users import must_be_bare
from atoll.services.iam.quotas import ROLES_MAX, TRUST_MAX_CHARS
from atoll.services.iam.records import ROLES, RoleRecord
from atoll.state import Change

SESSION_MIN_S, SESSION_MAX_S = 3600, 43_200  # IAM API, CreateRole: MaxSessionDuration


async def CreateRole(
    here: Here,
    call: Call,
    *,
    RoleName: str,
    AssumeRolePolicyDocument: str,
    Path: str = "/",
    Description: str = "",
    MaxSessionDuration: int = SESSION_MIN_S,
    PermissionsBoundary: str = "",
    Tags: Sequence[Mapping[str, str]] = (),
) -> Answer:
    record = RoleRecord(
        name=checks.name("roleName", RoleName, 64),
        id=making.unique_id(making.ROLE, here.dice),
        path=checks.path(Path),
        created_ms=call.now_ms,
        trust=_trust(here, "assumeRolePolicyDocument", AssumeRolePolicyDocument),
        description=checks.description(Description),
        max_session_s=checks.between("maxSessionDuration", MaxSessionDuration, SESSION_MIN_S, SESSION_MAX_S),
        boundary=PermissionsBoundary,
        tags=checks.tags(Tags),
    )

    def add(change: Change) -> None:
        if change.get(ROLES, key_of(change, call.account, RoleName)):
            raise ApiError("EntityAlreadyExists", f"Role with name {RoleName} already exists.")
        checks.within(len(of_account(change, ROLES, call.account)) + 1, ROLES_MAX, "roles")
        if PermissionsBoundary:
            must_policy(change, call.account, PermissionsBoundary)
        change.put(ROLES, key_of(change, call.account, RoleName), record)

    await here.state.change(add)
    return Answer({"Role": answers.role(record, call.account) | answers.extras(record)})


async def GetRole(here: Here, call: Call, *, RoleName: str) -> Answer:
    record = holder(here.state, ROLES, call.account, RoleName)
    return Answer({"Role": answers.role(record, call.account) | answers.extras(record)})


async def ListRoles(
    here: Here, call: Call, *, PathPrefix: str = "/", Marker: str | None = None, MaxItems: int | None = None
) -> Answer:
    found = [(key, role) for key, role in of_account(here.state, ROLES, call.account) if role.path.startswith(PathPrefix)]
    return Answer(answers.page("Roles", [(key, answers.role(role, call.account)) for key, role in found], Marker, MaxItems))


async def DeleteRole(here: Here, call: Call, *, RoleName: str) -> Answer:
    def remove(change: Change) -> None:
        must_be_bare(holder(change, ROLES, call.account, RoleName))
        change.delete(ROLES, key_of(change, call.account, RoleName))

    await here.state.change(remove)
    return Answer()


async def UpdateAssumeRolePolicy(here: Here, call: Call, *, RoleName: str, PolicyDocument: str) -> Answer:
    trust = _trust(here, "policyDocument", PolicyDocument)

    def replace(change: Change) -> None:
        change.put(ROLES, key_of(change, call.account, RoleName), structs.replace(holder(change, ROLES, call.account, RoleName), trust=trust))

    await here.state.change(replace)
    return Answer()


async def PutRolePermissionsBoundary(here: Here, call: Call, *, RoleName: str, PermissionsBoundary: str) -> Answer:
    def bound(change: Change) -> None:
        role = holder(change, ROLES, call.account, RoleName)
        must_policy(change, call.account, PermissionsBoundary)
        change.put(ROLES, key_of(change, call.account, RoleName), structs.replace(role, boundary=PermissionsBoundary))

    await here.state.change(bound)
    return Answer()


async def DeleteRolePermissionsBoundary(here: Here, call: Call, *, RoleName: str) -> Answer:
    def unbound(change: Change) -> None:
        change.put(ROLES, key_of(change, call.account, RoleName), structs.replace(holder(change, ROLES, call.account, RoleName), boundary=""))

    await here.state.change(unbound)
    return Answer()


def _trust(here: Here, member: str, text: str) -> str:
    return checks.document(member, text, here.check_trust_policy, TRUST_MAX_CHARS)
