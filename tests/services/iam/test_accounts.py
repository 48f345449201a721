"""Accounts of a world, and records from before there was more than one."""

import asyncio
import sqlite3

import pytest

from atoll.control_store import ControlStore
from atoll.domain.quotas import ACCOUNTS_MAX
from atoll.rules.session_token import Session, encrypt_session
from atoll.services.iam.accounts import AccountRefused, accounts, create_account
from atoll.services.iam.caller_lookup import Identities
from atoll.services.iam.id_generation import create_root_account
from atoll.services.iam.lookup import key_of
from atoll.services.iam.records import ONLY, SESSION_KEYS, SessionKeyRecord
from services.iam.iam_world import ACCOUNT, NOW, RandomBytes


def made(*names, random_bytes=None):
    """A world with these accounts besides its first one."""

    async def whole():
        state, rolls = ControlStore.memory(), random_bytes or RandomBytes()
        await create_root_account(state, account=ACCOUNT, random_bytes=rolls, now=NOW)
        return state, [await create_account(state, name, random_bytes=rolls, now=NOW + at) for at, name in enumerate(names)]

    return asyncio.run(whole())


def test_a_world_begins_with_one_account_called_main():
    state, _ = made()
    assert [(one.name, one.account) for one in accounts(state)] == [("main", ACCOUNT)]


def test_accounts_are_listed_in_the_order_of_their_making_with_ids_and_keys_of_their_own():
    state, (zoe, ann) = made("zoe", "ann")
    found = accounts(state)
    assert [one.name for one in found] == ["main", "zoe", "ann"]
    assert found[1:] == [zoe, ann]
    assert len({one.account for one in found}) == len({one.access_key for one in found}) == len({one.secret for one in found}) == 3


def test_each_root_key_speaks_for_its_account():
    state, (ann,) = made("ann")
    caller = Identities(state, RandomBytes()).key(ann.access_key, "", NOW).caller
    assert (caller.kind, caller.account, caller.arn) == ("root", ann.account, f"arn:aws:iam::{ann.account}:root")


@pytest.mark.parametrize("name", ["", "1st", "-a", "a b", "a/b", "a" * 65, "é"])
def test_a_name_that_could_be_taken_for_something_else_is_refused(name):
    with pytest.raises(AccountRefused, match="is not a name"):
        made(name)


@pytest.mark.parametrize("names", [("main",), ("ann", "ann")])
def test_a_name_is_given_once(names):
    with pytest.raises(AccountRefused, match="already"):
        made(*names)


def test_an_id_is_given_once():
    with pytest.raises(AccountRefused, match="is taken"):
        made("ann", "bob", random_bytes=lambda n: bytes(n))


def test_there_are_only_so_many():
    names = [f"a{number}" for number in range(ACCOUNTS_MAX - 1)]
    assert len(made(*names)[1]) == ACCOUNTS_MAX - 1
    with pytest.raises(AccountRefused, match=f"at most {ACCOUNTS_MAX}"):
        made(*names, "more")


# -- what an Atoll of one account wrote. The bodies are as it wrote them.

WRITTEN = {
    ("iam-root", "one"): '{"account":"111122223333","access_key":"AKIAROOT","secret":"s","created_ms":1}',
    ("iam-user", "ann"): '{"name":"Ann","id":"AIDAANN","path":"/dev/","created_ms":2,"policies":{},"attached":["arn:aws:iam::111122223333:policy/P"],"boundary":"","tags":{}}',
    ("iam-role", "r"): '{"name":"r","id":"AROAR","path":"/","created_ms":2,"policies":{},"attached":[],"boundary":"","tags":{},"trust":"{}","description":"","max_session_s":3600}',
    ("iam-policy", "p"): '{"name":"P","id":"ANPAP","arn":"arn:aws:iam::111122223333:policy/P","path":"/","document":"{\\"Version\\":\\"2012-10-17\\",\\"Statement\\":[{\\"Effect\\":\\"Allow\\",\\"Action\\":\\"s3:*\\",\\"Resource\\":\\"*\\"}]}","created_ms":2,"description":"","tags":{}}',
    ("iam-access-key", "AKIAANN"): '{"id":"AKIAANN","user":"Ann","secret":"t","created_ms":3,"active":true}',
}


@pytest.fixture
def before(tmp_path):
    """The state of a home from before accounts, and one account more."""
    path = tmp_path / "state.db"
    ControlStore.open(path).close()
    connection = sqlite3.connect(path)
    connection.execute("UPDATE head SET version = 1")
    connection.executemany("INSERT INTO records VALUES (?, ?, 1, ?)", [(kind, key, body.encode()) for (kind, key), body in WRITTEN.items()])
    connection.commit()
    connection.close()

    async def more():
        state = ControlStore.open(path)
        await create_root_account(state, random_bytes=RandomBytes(), now=NOW)
        await create_account(state, "second", random_bytes=RandomBytes(), now=NOW)
        await state.transact(lambda transaction: transaction.put(SESSION_KEYS, ONLY, SessionKeyRecord(key=bytes(32))))
        return state

    state = asyncio.run(more())
    yield state
    state.close()


def test_records_from_before_accounts_are_the_first_ones(before):
    identities = Identities(before, RandomBytes())
    root, ann = identities.key("AKIAROOT", "", NOW).caller, identities.key("AKIAANN", "", NOW).caller
    assert (root.account, ann.account, ann.arn) == (ACCOUNT, ACCOUNT, f"arn:aws:iam::{ACCOUNT}:user/dev/Ann")
    assert [one.source for one in identities.caller_policies(ann).identity] == [f"policy arn:aws:iam::{ACCOUNT}:policy/P"]
    assert identities.role(f"arn:aws:iam::{ACCOUNT}:role/r").id == "AROAR"
    assert [one.name for one in accounts(before)] == ["main", "second"]


def test_a_session_token_from_before_accounts_still_speaks_for_its_user(before):
    session = Session(access_key="ASIAX", secret="x", kind="user", user_id="AIDAANN", issued=1, expires=int(NOW) + 9, name="Ann")
    token = encrypt_session(session, key=bytes(32), nonce=bytes(12))
    assert Identities(before, RandomBytes()).key("ASIAX", token, NOW).caller.arn == f"arn:aws:iam::{ACCOUNT}:user/dev/Ann"


def test_what_the_first_account_writes_lies_where_it_always_lay(before):
    second = accounts(before)[1].account
    assert (key_of(before, ACCOUNT, "Bob"), key_of(before, second, "Bob")) == ("bob", f"{second}/bob")
