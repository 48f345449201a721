"""What do IAM's operations on access keys do?"""

from __future__ import annotations

from msgspec import structs

from atoll.domain.call import Answer, Call
from atoll.domain.errors import not_implemented
from atoll.services.iam import answers, checks, making
from atoll.services.iam.finding import holder, keys_of, no_such, root_of, stored
from atoll.services.iam.here import Here
from atoll.services.iam.op_users import own_name
from atoll.services.iam.quotas import ACCESS_KEYS_MAX
from atoll.services.iam.records import ACCESS_KEYS, USERS, AccessKeyRecord
from atoll.state import Change


async def CreateAccessKey(here: Here, call: Call, *, UserName: str | None = None) -> Answer:
    user = _whose(call, UserName)
    record = AccessKeyRecord(
        id=making.unique_id(making.LASTING_KEY, here.dice),
        user=user,
        account=stored(here.state, call.account),
        secret=making.secret(here.dice),
        created_ms=call.now_ms,
    )

    def add(change: Change) -> None:
        holder(change, USERS, call.account, user)
        checks.within(len(keys_of(change, call.account, user)) + 1, ACCESS_KEYS_MAX, "access keys per user")
        change.put(ACCESS_KEYS, record.id, record)

    await here.state.change(add)
    return Answer({"AccessKey": {**answers.access_key(record), "SecretAccessKey": record.secret}})


async def ListAccessKeys(
    here: Here, call: Call, *, UserName: str | None = None, Marker: str | None = None, MaxItems: int | None = None
) -> Answer:
    if UserName is None and call.caller.kind == "root":
        return Answer(answers.page("AccessKeyMetadata", _root_keys(here, call), Marker, MaxItems))
    user = holder(here.state, USERS, call.account, UserName or own_name(call))
    keys = [(key.id, answers.access_key(key)) for key in keys_of(here.state, call.account, user.name)]
    return Answer(answers.page("AccessKeyMetadata", keys, Marker, MaxItems))


async def UpdateAccessKey(here: Here, call: Call, *, AccessKeyId: str, Status: str, UserName: str | None = None) -> Answer:
    user = _whose(call, UserName)
    if Status not in {"Active", "Inactive"}:
        raise checks.invalid("status", Status, "be one of Active, Inactive")

    def switch(change: Change) -> None:
        key = _key(change, call.account, user, AccessKeyId)
        change.put(ACCESS_KEYS, key.id, structs.replace(key, active=Status == "Active"))

    await here.state.change(switch)
    return Answer()


async def DeleteAccessKey(here: Here, call: Call, *, AccessKeyId: str, UserName: str | None = None) -> Answer:
    user = _whose(call, UserName)
    await here.state.change(lambda change: change.delete(ACCESS_KEYS, _key(change, call.account, user, AccessKeyId).id))
    return Answer()


def _whose(call: Call, name: str | None) -> str:
    if name is None and call.caller.kind == "root":
        raise not_implemented("changes to the key pair of the root user, which belongs to its account")
    return name or own_name(call)


def _key(change: Change, account: str, user: str, key_id: str) -> AccessKeyRecord:
    holder(change, USERS, account, user)
    key = change.get(ACCESS_KEYS, key_id)
    if key is None or key.user != user or key.account != stored(change, account):
        raise no_such(f"Access Key with id {key_id}")
    return key


def _root_keys(here: Here, call: Call) -> list[tuple[str, answers.Members]]:
    root = root_of(here.state, call.account)
    if root is None:
        return []
    shown: answers.Members = {
        "AccessKeyId": root.access_key,
        "Status": "Active",
        "CreateDate": answers.moment(root.created_ms),
    }
    return [(root.access_key, shown)]
