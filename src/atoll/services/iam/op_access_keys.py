"""IAM's operations on access keys."""

from __future__ import annotations

from msgspec import structs

from atoll.control_store import Transaction
from atoll.domain.api_call import Call, OperationOutput
from atoll.domain.errors import not_implemented
from atoll.services.iam import id_generation, input_checks, output_members
from atoll.services.iam.dependencies import Dependencies
from atoll.services.iam.lookup import holder, keys_of, no_such, root_of, stored
from atoll.services.iam.op_users import own_user_name
from atoll.services.iam.quotas import ACCESS_KEYS_MAX
from atoll.services.iam.records import ACCESS_KEYS, USERS, AccessKeyRecord


async def CreateAccessKey(deps: Dependencies, call: Call, *, UserName: str | None = None) -> OperationOutput:
    user = _user_name(call, UserName)
    record = AccessKeyRecord(
        id=id_generation.unique_id(id_generation.LONG_TERM_KEY, deps.random_bytes),
        user=user,
        account=stored(deps.state, call.account),
        secret=id_generation.secret(deps.random_bytes),
        created_ms=call.now_ms,
    )

    def add(transaction: Transaction) -> None:
        holder(transaction, USERS, call.account, user)
        input_checks.check_quota(len(keys_of(transaction, call.account, user)) + 1, ACCESS_KEYS_MAX, "access keys per user")
        transaction.put(ACCESS_KEYS, record.id, record)

    await deps.state.transact(add)
    return OperationOutput({"AccessKey": {**output_members.access_key(record), "SecretAccessKey": record.secret}})


async def ListAccessKeys(
    deps: Dependencies, call: Call, *, UserName: str | None = None, Marker: str | None = None, MaxItems: int | None = None
) -> OperationOutput:
    if UserName is None and call.caller.kind == "root":
        return OperationOutput(output_members.page("AccessKeyMetadata", _root_keys(deps, call), Marker, MaxItems))
    user = holder(deps.state, USERS, call.account, UserName or own_user_name(call))
    keys = [(key.id, output_members.access_key(key)) for key in keys_of(deps.state, call.account, user.name)]
    return OperationOutput(output_members.page("AccessKeyMetadata", keys, Marker, MaxItems))


async def UpdateAccessKey(deps: Dependencies, call: Call, *, AccessKeyId: str, Status: str, UserName: str | None = None) -> OperationOutput:
    user = _user_name(call, UserName)
    if Status not in {"Active", "Inactive"}:
        raise input_checks.invalid("status", Status, "be one of Active, Inactive")

    def switch(transaction: Transaction) -> None:
        key = _key(transaction, call.account, user, AccessKeyId)
        transaction.put(ACCESS_KEYS, key.id, structs.replace(key, active=Status == "Active"))

    await deps.state.transact(switch)
    return OperationOutput()


async def DeleteAccessKey(deps: Dependencies, call: Call, *, AccessKeyId: str, UserName: str | None = None) -> OperationOutput:
    user = _user_name(call, UserName)
    await deps.state.transact(lambda transaction: transaction.delete(ACCESS_KEYS, _key(transaction, call.account, user, AccessKeyId).id))
    return OperationOutput()


def _user_name(call: Call, name: str | None) -> str:
    if name is None and call.caller.kind == "root":
        raise not_implemented("changes to the key pair of the root user, which belongs to its account")
    return name or own_user_name(call)


def _key(transaction: Transaction, account: str, user: str, key_id: str) -> AccessKeyRecord:
    holder(transaction, USERS, account, user)
    key = transaction.get(ACCESS_KEYS, key_id)
    if key is None or key.user != user or key.account != stored(transaction, account):
        raise no_such(f"Access Key with id {key_id}")
    return key


def _root_keys(deps: Dependencies, call: Call) -> list[tuple[str, output_members.Members]]:
    root = root_of(deps.state, call.account)
    if root is None:
        return []
    shown: output_members.Members = {
        "AccessKeyId": root.access_key,
        "Status": "Active",
        "CreateDate": output_members.moment(root.created_ms),
    }
    return [(root.access_key, shown)]
