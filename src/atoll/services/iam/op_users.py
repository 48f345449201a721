"""IAM's operations on users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import structs

from atoll.control_store import Transaction
from atoll.domain.api_call import Call, OperationOutput
from atoll.domain.errors import ApiError
from atoll.services.iam import id_generation, input_checks, output_members
from atoll.services.iam.dependencies import Dependencies
from atoll.services.iam.lookup import holder, key_of, keys_of, of_account, require_policy, root_of
from atoll.services.iam.output_members import Members
from atoll.services.iam.quotas import USERS_MAX
from atoll.services.iam.records import USERS, IdentityRecord, UserRecord


async def CreateUser(
    deps: Dependencies,
    call: Call,
    *,
    UserName: str,
    Path: str = "/",
    PermissionsBoundary: str = "",
    Tags: Sequence[Mapping[str, str]] = (),
) -> OperationOutput:
    record = UserRecord(
        name=input_checks.name("userName", UserName, 64),
        id=id_generation.unique_id(id_generation.USER, deps.random_bytes),
        path=input_checks.path(Path),
        created_ms=call.now_ms,
        boundary=PermissionsBoundary,
        tags=input_checks.tags(Tags),
    )

    def add(transaction: Transaction) -> None:
        if transaction.get(USERS, key_of(transaction, call.account, UserName)):
            raise ApiError("EntityAlreadyExists", f"User with name {UserName} already exists.")
        input_checks.check_quota(len(of_account(transaction, USERS, call.account)) + 1, USERS_MAX, "users")
        if PermissionsBoundary:
            require_policy(transaction, call.account, PermissionsBoundary)
        transaction.put(USERS, key_of(transaction, call.account, UserName), record)

    await deps.state.transact(add)
    return OperationOutput({"User": output_members.user(record, call.account) | output_members.extras(record)})


async def GetUser(deps: Dependencies, call: Call, *, UserName: str | None = None) -> OperationOutput:
    if UserName is None and call.caller.kind == "root":
        return OperationOutput({"User": _root(deps, call)})
    record = holder(deps.state, USERS, call.account, UserName or own_user_name(call))
    return OperationOutput({"User": output_members.user(record, call.account) | output_members.extras(record)})


async def ListUsers(
    deps: Dependencies, call: Call, *, PathPrefix: str = "/", Marker: str | None = None, MaxItems: int | None = None
) -> OperationOutput:
    found = [(key, user) for key, user in of_account(deps.state, USERS, call.account) if user.path.startswith(PathPrefix)]
    return OperationOutput(output_members.page("Users", [(key, output_members.user(user, call.account)) for key, user in found], Marker, MaxItems))


async def DeleteUser(deps: Dependencies, call: Call, *, UserName: str) -> OperationOutput:
    def remove(transaction: Transaction) -> None:
        require_nothing_attached(holder(transaction, USERS, call.account, UserName))
        if keys_of(transaction, call.account, UserName):
            raise ApiError("DeleteConflict", "Cannot delete entity, must delete access keys first.")
        transaction.delete(USERS, key_of(transaction, call.account, UserName))

    await deps.state.transact(remove)
    return OperationOutput()


async def PutUserPermissionsBoundary(deps: Dependencies, call: Call, *, UserName: str, PermissionsBoundary: str) -> OperationOutput:
    def bound(transaction: Transaction) -> None:
        user = holder(transaction, USERS, call.account, UserName)
        require_policy(transaction, call.account, PermissionsBoundary)
        transaction.put(USERS, key_of(transaction, call.account, UserName), structs.replace(user, boundary=PermissionsBoundary))

    await deps.state.transact(bound)
    return OperationOutput()


async def DeleteUserPermissionsBoundary(deps: Dependencies, call: Call, *, UserName: str) -> OperationOutput:
    def unbound(transaction: Transaction) -> None:
        transaction.put(USERS, key_of(transaction, call.account, UserName), structs.replace(holder(transaction, USERS, call.account, UserName), boundary=""))

    await deps.state.transact(unbound)
    return OperationOutput()


def own_user_name(call: Call) -> str:
    """Whom an operation means that names no user. IAM API: "determined implicitly based on the access key"."""
    if call.caller.kind != "user":
        raise ApiError("ValidationError", "Must specify userName when calling with non-User credentials")
    return call.caller.name


def require_nothing_attached(record: IdentityRecord) -> None:
    """IAM API, DeleteUser and DeleteRole: policies go first. Raises DeleteConflict."""
    if record.policies:
        raise ApiError("DeleteConflict", "Cannot delete entity, must delete policies first.")
    if record.attached:
        raise ApiError("DeleteConflict", "Cannot delete entity, must detach all policies first.")


def _root(deps: Dependencies, call: Call) -> Members:
    """The root user has no name and no path."""
    root = root_of(deps.state, call.account)
    created_ms = root.created_ms if root is not None else 0
    return {"UserId": call.account, "Arn": call.caller.arn, "CreateDate": output_members.moment(created_ms)}
