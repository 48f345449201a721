"""The accounts of a world as the verbs read them that start at once."""

import asyncio

import pytest

from atoll.control_store import ControlStore
from atoll.processes.account_reader import NoSuchAccount, account, accounts
from atoll.services.iam.accounts import accounts as recorded
from atoll.services.iam.accounts import create_account
from atoll.services.iam.id_generation import create_root_account
from services.iam.iam_world import ACCOUNT, NOW, RandomBytes


@pytest.fixture
def state(tmp_path):
    """A state file with two accounts."""

    async def make():
        made, random_bytes = ControlStore.open(tmp_path / "state.db"), RandomBytes()
        try:
            await create_root_account(made, account=ACCOUNT, random_bytes=random_bytes, now=NOW)
            await create_account(made, "second", random_bytes=random_bytes, now=NOW)
            return recorded(made)
        finally:
            made.close()

    return tmp_path / "state.db", asyncio.run(make())


def test_the_file_says_what_the_records_say(state):
    path, records = state
    assert [(one.name, one.id, one.access_key, one.secret, one.created_ms) for one in accounts(path)] == [
        (one.name, one.account, one.access_key, one.secret, one.created_ms) for one in records
    ]


def test_an_account_is_found_by_its_name_and_by_its_id(state):
    path, records = state
    assert account(path, "second").id == records[1].account
    assert account(path, ACCOUNT).name == "main"


def test_an_account_that_there_is_not_is_told_with_those_that_are(state):
    with pytest.raises(NoSuchAccount, match="third is no account of this world; there are: main, second"):
        account(state[0], "third")


def test_no_file_has_no_accounts(tmp_path):
    assert accounts(tmp_path / "state.db") == []
    assert not (tmp_path / "state.db").exists()


def test_an_account_does_not_show_its_secret(state):
    one = account(state[0], "second")
    assert one.secret not in repr(one)
