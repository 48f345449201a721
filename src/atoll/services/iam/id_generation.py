"""New ids, secrets and root accounts."""

from __future__ import annotations

from collections.abc import Callable

from atoll.control_store import ControlStore, Transaction
from atoll.domain.resource_names import ACCOUNT
from atoll.rules.session_token import KEY_BYTES, SECRET_BYTES, UNIQUE_ID_BYTES, secret_key
from atoll.rules.session_token import unique_id as id_of
from atoll.services.iam.records import ONLY, SESSION_KEYS, WORLD, RootRecord, SessionKeyRecord

RandomBytes = Callable[[int], bytes]

# IAM user guide, "Understanding unique ID prefixes"
USER, ROLE, POLICY, LONG_TERM_KEY = "AIDA", "AROA", "ANPA", "AKIA"


def unique_id(prefix: str, random_bytes: RandomBytes) -> str:
    return id_of(prefix, random_bytes(UNIQUE_ID_BYTES))


def secret(random_bytes: RandomBytes) -> str:
    return secret_key(random_bytes(SECRET_BYTES))


def account_id(random_bytes: RandomBytes) -> str:
    """Twelve digits that do not begin with 0: tools that take it for a number lose nothing."""
    return str(10**11 + int.from_bytes(random_bytes(16)) % (9 * 10**11))


async def create_root_account(state: ControlStore, *, account: str = "", random_bytes: RandomBytes, now: float = 0.0) -> RootRecord:
    """The account and its root key pair, and what seals session tokens: made once, and found from then on.

    `account` "": roll one. `now`, in seconds, becomes the date of the root user's creation.
    """
    assert not account or ACCOUNT.fullmatch(account), f"{account!r} is not an account id"
    fresh = RootRecord(
        account=account or account_id(random_bytes),
        access_key=unique_id(LONG_TERM_KEY, random_bytes),
        secret=secret(random_bytes),
        created_ms=int(now * 1000),
    )
    session_key = SessionKeyRecord(key=random_bytes(KEY_BYTES))

    def found_or_made(transaction: Transaction) -> RootRecord:
        root = transaction.get(WORLD, ONLY)
        if root is not None:
            return root
        transaction.put(WORLD, ONLY, fresh)
        transaction.put(SESSION_KEYS, ONLY, session_key)
        return fresh

    known = state.get(WORLD, ONLY)
    return known if known is not None else await state.transact(found_or_made)
