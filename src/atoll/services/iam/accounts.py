"""The accounts of a world: which there are, and how one is added.

No API of AWS makes them here: the command line does, in a transaction on the control state that every process follows.
"""

from __future__ import annotations

import re

from atoll.control_store import ControlStore, Transaction
from atoll.domain.quotas import ACCOUNTS_MAX
from atoll.services.iam.id_generation import LONG_TERM_KEY, RandomBytes, account_id, secret, unique_id
from atoll.services.iam.records import ONLY, WORLD, RootRecord

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")  # begins with a letter, so that no name looks like an id


class AccountRefused(Exception):
    """There will be no such account. The text says why."""


def accounts(reader: ControlStore | Transaction) -> list[RootRecord]:
    """All of them, the first one first, the others in the order of their making."""
    found = reader.items(WORLD)
    return [root for _, root in sorted(found, key=lambda item: (item[0] != ONLY, item[1].created_ms, item[1].name))]


async def create_account(state: ControlStore, name: str, *, random_bytes: RandomBytes, now: float) -> RootRecord:
    """One more account with a root key pair of its own. `now` in seconds. Raises AccountRefused."""
    if not NAME.fullmatch(name):
        raise AccountRefused(f"{name[:80]!r} is not a name for an account: a letter, then up to 63 letters, digits, - and _")
    fresh = RootRecord(
        account=account_id(random_bytes),
        access_key=unique_id(LONG_TERM_KEY, random_bytes),
        secret=secret(random_bytes),
        created_ms=int(now * 1000),
        name=name,
    )
    return await state.transact(lambda transaction: _add(transaction, fresh))


def _add(transaction: Transaction, fresh: RootRecord) -> RootRecord:
    known = accounts(transaction)
    if any(root.name == fresh.name for root in known):
        raise AccountRefused(f"there is an account {fresh.name} already")
    if any(root.account == fresh.account for root in known):
        raise AccountRefused(f"the id {fresh.account} is taken; try again")
    if len(known) >= ACCOUNTS_MAX:
        raise AccountRefused(f"a world has at most {ACCOUNTS_MAX} accounts")
    transaction.put(WORLD, fresh.account, fresh)
    return fresh
