"""The accounts of a world as its state file says them, for the verbs that start at once: standard library only."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

BUSY_S = 5.0  # how long a reader waits for whoever recovers the file
FIRST_KEY, FIRST_NAME = "one", "main"  # services.iam.records: ONLY, FIRST_NAME


class NoSuchAccount(Exception):
    """The world has no account of that name or id. The text lists those that it has."""


@dataclass(frozen=True, slots=True)
class Account:
    """One account and its root key pair. The secret is never shown by accident."""

    name: str
    id: str
    access_key: str
    secret: str
    created_ms: int

    def __repr__(self) -> str:
        return f"Account({self.name}, {self.id})"


def accounts(state: Path) -> Sequence[Account]:
    """All of them, the first one first, the others in the order of their making; none when there is no state file yet."""
    import sqlite3

    if not state.exists():
        return []
    connection = sqlite3.connect(state, timeout=BUSY_S)
    try:
        rows = connection.execute("SELECT key, body FROM records WHERE kind = 'iam-root' AND body IS NOT NULL").fetchall()
    finally:
        connection.close()
    found = [(key, _account(json.loads(body))) for key, body in rows]
    return [one for _, one in sorted(found, key=lambda item: (item[0] != FIRST_KEY, item[1].created_ms, item[1].name))]


def _account(record: dict[str, str]) -> Account:
    name = record.get("name", FIRST_NAME)
    return Account(name, record["account"], record["access_key"], record["secret"], int(record.get("created_ms", 0)))


def account(state: Path, wanted: str) -> Account:
    """By name or id. Raises NoSuchAccount."""
    known = accounts(state)
    for one in known:
        if wanted in (one.name, one.id):
            return one
    raise NoSuchAccount(f"{wanted} is no account of this world; there are: {', '.join(one.name for one in known)}")
