"""What do IAM's operations on users do?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import structs

from atoll.domain.call import Answer, Call
from atoll.domain.errors import ApiError
from atoll.services.iam import answers, checks, making
from atoll.services.iam.answers import Members
from atoll.services.iam.finding import holder, key_of, keys_of, must_policy, of_account, root_of
from atoll.services.iam.here import Here
from atoll.services.iam.quotas import USERS_MAX
from atoll.services.iam.records import USERS, Holder, UserRecord
from atoll.state import Change


async def CreateUser(
    here: Here,
    call: Call,
    *,
    UserName: str,
    Path: str = "/",
    PermissionsBoundary: str = "",
    Tags: Sequence[Mapping[str, str]] = (),
) -> Answer:
    record = UserRecord(
        name=checks.name("userName", UserName, 64),
        id=making.unique_id(making.USER, here.dice),
        path=checks.path(Path),
        created_ms=call.now_ms,
        boundary=PermissionsBoundary,
        tags=checks.tags(Tags),
    )

    def add(change: Change) -> None:
        if change.get(USERS, key_of(change, call.account, UserName)):
            raise ApiError("EntityAlreadyExists", f"User with name {UserName} already exists.")
        checks.within(len(of_account(change, USERS, call.account)) + 1, USERS_MAX, "users")
        if PermissionsBoundary:
            must_policy(change, call.account, PermissionsBoundary)
        change.put(USERS, key_of(change, call.account, UserName), record)

    await here.state.change(add)
    return Answer({"User": answers.user(record, call.account) | answers.extras(record)})


async def GetUser(here: Here, call: Call, *, UserName: str | None = None) -> Answer:
    if UserName is None and call.caller.kind == "root":
        return Answer({"User": _root(here, call)})
    record = holder(here.state, USERS, call.account, UserName or own_name(call))
    return Answer({"User": answers.user(record, call.account) | answers.extras(record)})


async def ListUsers(
    here: Here, call: Call, *, PathPrefix: str = "/", Marker: str | None = None, MaxItems: int | None = None
) -> Answer:
    found = [(key, user) for key, user in of_account(here.state, USERS, call.account) if user.path.startswith(PathPrefix)]
    return Answer(answers.page("Users", [(key, answers.user(user, call.account)) for key, user in found], Marker, MaxItems))


async def DeleteUser(here: Here, call: Call, *, UserName: str) -> Answer:
    def remove(change: Change) -> None:
        must_be_bare(holder(change, USERS, call.account, UserName))
        if keys_of(change, call.account, UserName):
            raise ApiError("DeleteConflict", "Cannot delete entity, must delete access keys first.")
        change.delete(USERS, key_of(change, call.account, UserName))

    await here.state.change(remove)
    return Answer()


async def PutUserPermissionsBoundary(here: Here, call: Call, *, UserName: str, PermissionsBoundary: str) -> Answer:
    def bound(change: Change) -> None:
        user = holder(change, USERS, call.account, UserName)
        must_policy(change, call.account, PermissionsBoundary)
        change.put(USERS, key_of(change, call.account, UserName), structs.replace(user, boundary=PermissionsBoundary))

    await here.state.change(bound)
    return Answer()


async def DeleteUserPermissionsBoundary(here: Here, call: Call, *, UserName: str) -> Answer:
    def unbound(change: Change) -> None:
        change.put(USERS, key_of(change, call.account, UserName), structs.replace(holder(change, USERS, call.account, UserName), boundary=""))

    await here.state.change(unbound)
    return Answer()


def own_name(call: Call) -> str:
    """Whom an operation means that names no user. IAM API: "determined implicitly based on the access key"."""
    if call.caller.kind != "user":
        raise ApiError("ValidationError", "Must specify userName when calling with non-User credentials")
    return call.caller.name


def must_be_bare(record: Holder) -> None:
    """IAM API, DeleteUser and DeleteRole: policies go first. Raises DeleteConflict."""
    if record.policies:
        raise ApiError("DeleteConflict", "Cannot delete entity, must delete policies first.")
    if record.attached:
        raise ApiError("DeleteConflict", "Cannot delete entity, must detach all policies first.")


def _root(here: Here, call: Call) -> Members:
    """The root user has no name and no path."""
    root = root_of(here.state, call.account)
    created_ms = root.created_ms if root is not None else 0
    return {"UserId": call.account, "Arn": call.caller.arn, "CreateDate": answers.moment(created_ms)}
