"""How do new ids, secrets and worlds come about?"""

from __future__ import annotations

from collections.abc import Callable

from atoll.domain.names import ACCOUNT
from atoll.rules.token import KEY_BYTES, SECRET_BYTES, UNIQUE_ID_BYTES, secret_key
from atoll.rules.token import unique_id as id_of
from atoll.services.iam.records import ONLY, SESSION_KEYS, WORLD, RootRecord, SessionKeyRecord
from atoll.state import Change, State

Dice = Callable[[int], bytes]

# IAM user guide, "Understanding unique ID prefixes"
USER, ROLE, POLICY, LASTING_KEY = "AIDA", "AROA", "ANPA", "AKIA"


def unique_id(prefix: str, dice: Dice) -> str:
    return id_of(prefix, dice(UNIQUE_ID_BYTES))


def secret(dice: Dice) -> str:
    return secret_key(dice(SECRET_BYTES))


def account_id(dice: Dice) -> str:
    """Twelve digits that do not begin with 0: tools that take it for a number lose nothing."""
    return str(10**11 + int.from_bytes(dice(16)) % (9 * 10**11))


async def create_world(state: State, *, account: str = "", dice: Dice, now: float = 0.0) -> RootRecord:
    """The account and its root key pair, and what seals session tokens: made once, and found from then on.

    `account` "": roll one. `now`, in seconds, becomes the date of the root user's creation.
    """
    assert not account or ACCOUNT.fullmatch(account), f"{account!r} is not an account id"
    fresh = RootRecord(
        account=account or account_id(dice),
        access_key=unique_id(LASTING_KEY, dice),
        secret=secret(dice),
        created_ms=int(now * 1000),
    )
    seal = SessionKeyRecord(key=dice(KEY_BYTES))

    def found_or_made(change: Change) -> RootRecord:
        root = change.get(WORLD, ONLY)
        if root is not None:
            return root
        change.put(WORLD, ONLY, fresh)
        change.put(SESSION_KEYS, ONLY, seal)
        return fresh

    known = state.get(WORLD, ONLY)
    return known if known is not None else await state.change(found_or_made)
