"""Records by the names that callers use, or NoSuchEntity."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

import msgspec

from atoll.control_store import Table
from atoll.domain.arn import account_in
from atoll.domain.errors import ApiError
from atoll.services.iam.aws_managed_policies import MANAGED
from atoll.services.iam.records import (
    ACCESS_KEYS,
    ONLY,
    POLICIES,
    ROLES,
    USERS,
    WORLD,
    AccessKeyRecord,
    IdentityRecord,
    PolicyRecord,
    RoleRecord,
    RootRecord,
)

R = TypeVar("R", bound=msgspec.Struct)
H = TypeVar("H", bound=IdentityRecord)


class Reader(Protocol):
    """A State, or a Change: what is true now, or what will be true in this transaction."""

    def get(self, table: Table[R], key: str) -> R | None: ...

    def items(self, table: Table[R], prefix: str = "") -> Iterable[tuple[str, R]]: ...


def stored(reader: Reader, account: str) -> str:
    """How records name an account: the first one is "", because its records are older than the others."""
    first = reader.get(WORLD, ONLY)
    return "" if first is None or first.account == account else account


def root_of(reader: Reader, account: str) -> RootRecord | None:
    """The account's own record."""
    return reader.get(WORLD, stored(reader, account) or ONLY)


def key_of(reader: Reader, account: str, name: str) -> str:
    """The key of a user, role or policy."""
    return key_in(stored(reader, account), name)


def key_in(stored_account: str, name: str) -> str:
    return f"{stored_account}/{name.lower()}" if stored_account else name.lower()


def of_account(reader: Reader, table: Table[R], account: str) -> list[tuple[str, R]]:
    """An account's users, roles or policies in order of their names, which are in lower case here."""
    owner = stored(reader, account)
    if not owner:
        return [(key, record) for key, record in reader.items(table) if "/" not in key]
    return [(key.partition("/")[2], record) for key, record in reader.items(table, f"{owner}/")]


def holder(reader: Reader, table: Table[H], account: str, name: str) -> H:
    """The user or role of that name in its account. Raises NoSuchEntity."""
    record = reader.get(table, key_of(reader, account, name))
    if record is None or record.name != name:
        raise no_such(f"{table_noun(table)} with name {name}")
    return record


def table_noun(table: Table[H]) -> str:
    return "role" if table.name == ROLES.name else "user"


def managed_policy(reader: Reader, arn: str) -> PolicyRecord | None:
    """One of the account that the ARN names, or one of AWS's."""
    record = reader.get(POLICIES, key_of(reader, account_in(arn), arn.rpartition("/")[2]))
    return record if record is not None and record.arn == arn else MANAGED.get(arn)


def require_policy(reader: Reader, account: str, arn: str) -> PolicyRecord:
    """A policy that identities of this account may have. Raises NoSuchEntity, for other accounts' policies too."""
    found = managed_policy(reader, arn) if account_in(arn) == account or arn in MANAGED else None
    if found is None:
        raise no_such(f"policy {arn}")
    return found


def holders(reader: Reader, account: str) -> list[IdentityRecord]:
    """An account's users and roles."""
    users, roles = of_account(reader, USERS, account), of_account(reader, ROLES, account)
    return [*(user for _, user in users), *(role for _, role in roles)]


def keys_of(reader: Reader, account: str, user: str) -> list[AccessKeyRecord]:
    owner = stored(reader, account)
    return [key for _, key in reader.items(ACCESS_KEYS) if key.user == user and key.account == owner]


def no_such(what: str) -> ApiError:
    return ApiError("NoSuchEntity", f"The {what} cannot be found.")


def id_exists(reader: Reader, unique_id: str) -> bool:
    """Has a user or role of any account this unique id?"""
    every = (*(user for _, user in reader.items(USERS)), *(role for _, role in reader.items(ROLES)))
    return any(record.id == unique_id for record in every)


def arn_of(account: str, record: IdentityRecord) -> str:
    kind = "role" if isinstance(record, RoleRecord) else "user"
    return f"arn:aws:iam::{account}:{kind}{record.path}{record.name}"
