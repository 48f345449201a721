"""Is it there? Records by the names that callers use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

import msgspec

from atoll.domain.errors import ApiError
from atoll.services.iam.managed import MANAGED
from atoll.services.iam.records import ACCESS_KEYS, POLICIES, ROLES, USERS, AccessKeyRecord, Holder, PolicyRecord, RoleRecord
from atoll.state import Table

R = TypeVar("R", bound=msgspec.Struct)
H = TypeVar("H", bound=Holder)


class Reader(Protocol):
    """A State, or a Change: what is true now, or what will be true in this transaction."""

    def get(self, table: Table[R], key: str) -> R | None: ...

    def items(self, table: Table[R], prefix: str = "") -> Iterable[tuple[str, R]]: ...


def holder(reader: Reader, table: Table[H], name: str) -> H:
    """The user or role of that name. Raises NoSuchEntity."""
    record = reader.get(table, name.lower())
    if record is None or record.name != name:
        raise no_such(f"{noun(table)} with name {name}")
    return record


def noun(table: Table[H]) -> str:
    return "role" if table.name == ROLES.name else "user"


def managed_policy(reader: Reader, arn: str) -> PolicyRecord | None:
    """One of this world's, or one of AWS's."""
    record = reader.get(POLICIES, arn.rpartition("/")[2].lower())
    return record if record is not None and record.arn == arn else MANAGED.get(arn)


def must_policy(reader: Reader, arn: str) -> PolicyRecord:
    """Raises NoSuchEntity."""
    found = managed_policy(reader, arn)
    if found is None:
        raise no_such(f"policy {arn}")
    return found


def holders(reader: Reader) -> list[Holder]:
    return [*(user for _, user in reader.items(USERS)), *(role for _, role in reader.items(ROLES))]


def keys_of(reader: Reader, user: str) -> list[AccessKeyRecord]:
    return [key for _, key in reader.items(ACCESS_KEYS) if key.user == user]


def no_such(what: str) -> ApiError:
    return ApiError("NoSuchEntity", f"The {what} cannot be found.")


def has_id(reader: Reader, unique_id: str) -> bool:
    return any(record.id == unique_id for record in holders(reader))


def arn_of(account: str, record: Holder) -> str:
    kind = "role" if isinstance(record, RoleRecord) else "user"
    return f"arn:aws:iam::{account}:{kind}{record.path}{record.name}"
