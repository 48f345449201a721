"""What do IAM's operations on users do?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import structs

from atoll.domain.call import Answer, Call
from atoll.domain.errors import ApiError
from atoll.services.iam import answers, checks, making
from atoll.services.iam.answers import Members
from atoll.services.iam.finding import holder, keys_of, must_policy
from atoll.services.iam.here import Here
from atoll.services.iam.quotas import USERS_MAX
from atoll.services.iam.records import ONLY, USERS, WORLD, Holder, UserRecord
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
        if change.get(USERS, UserName.lower()):
            raise ApiError("EntityAlreadyExists", f"User with name {UserName} already exists.")
        checks.within(len(change.items(USERS)) + 1, USERS_MAX, "users")
        if PermissionsBoundary:
            must_policy(change, PermissionsBoundary)
        change.put(USERS, UserName.lower(), record)

    await here.state.change(add)
    return Answer({"User": answers.user(record, call.account) | answers.extras(record)})


async def GetUser(here: Here, call: Call, *, UserName: str | None = None) -> Answer:
    if UserName is None and call.caller.kind == "root":
        return Answer({"User": _root(here, call)})
    record = holder(here.state, USERS, UserName or own_name(call))
    return Answer({"User": answers.user(record, call.account) | answers.extras(record)})


async def ListUsers(
    here: Here, call: Call, *, PathPrefix: str = "/", Marker: str | None = None, MaxItems: int | None = None
) -> Answer:
    found = [(key, user) for key, user in here.state.items(USERS) if user.path.startswith(PathPrefix)]
    return Answer(answers.page("Users", [(key, answers.user(user, call.account)) for key, user in found], Marker, MaxItems))


async def DeleteUser(here: Here, call: Call, *, UserName: str) -> Answer:
    def remove(change: Change) -> None:
        must_be_bare(holder(change, USERS, UserName))
        if keys_of(change, UserName):
            raise ApiError("DeleteConflict", "Cannot delete entity, must delete access keys first.")
        change.delete(USERS, UserName.lower())

    await here.state.change(remove)
    return Answer()


async def PutUserPermissionsBoundary(here: Here, call: Call, *, UserName: str, PermissionsBoundary: str) -> Answer:
    def bound(change: Change) -> None:
        user = holder(change, USERS, UserName)
        must_policy(change, PermissionsBoundary)
        change.put(USERS, UserName.lower(), structs.replace(user, boundary=PermissionsBoundary))

    await here.state.change(bound)
    return Answer()


async def DeleteUserPermissionsBoundary(here: Here, call: Call, *, UserName: str) -> Answer:
    def unbound(change: Change) -> None:
        change.put(USERS, UserName.lower(), structs.replace(holder(change, USERS, UserName), boundary=""))

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
    root = here.state.get(WORLD, ONLY)
    created_ms = root.created_ms if root is not None else 0
    return {"UserId": call.account, "Arn": call.caller.arn, "CreateDate": answers.moment(created_ms)}
