"""Worlds and ids."""

import asyncio

import pytest

from atoll.control_store import ControlStore
from atoll.services.iam.id_generation import account_id, create_root_account, secret, unique_id
from atoll.services.iam.records import ONLY, SESSION_KEYS, WORLD


def counting():
    """Dice whose every roll is another byte, repeated."""
    rolls = iter(range(1, 255))
    return lambda n: bytes([next(rolls)]) * n


def created(**options):
    async def main():
        state = ControlStore.memory()
        random_bytes = counting()
        return state, await create_root_account(state, random_bytes=random_bytes, **options), await create_root_account(state, random_bytes=random_bytes, **options)

    return asyncio.run(main())


def test_a_world_is_created_once():
    state, first, second = created()
    assert first == second
    assert state.get(WORLD, ONLY) == first
    assert len(state.get(SESSION_KEYS, ONLY).key) == 32


def test_the_account_may_be_given():
    assert created(account="000011112222")[1].account == "000011112222"


def test_an_account_that_is_none_is_our_own_mistake():
    with pytest.raises(AssertionError):
        created(account="12")


def test_the_root_key_pair_is_of_this_world_alone():
    _, root, _ = created()
    assert root.access_key.startswith("AKIA")
    assert len(root.access_key) == 20
    assert len(root.secret) == 40


def test_two_processes_that_create_one_world_agree(tmp_path):
    async def main():
        random_bytes = counting()
        one, two = ControlStore.open(tmp_path / "state.db"), ControlStore.open(tmp_path / "state.db")
        roots = await create_root_account(one, random_bytes=random_bytes), await create_root_account(two, random_bytes=random_bytes)
        seals = one.get(SESSION_KEYS, ONLY), two.get(SESSION_KEYS, ONLY)
        one.close()
        two.close()
        return roots, seals

    roots, seals = asyncio.run(main())
    assert roots[0] == roots[1]
    assert seals[0] == seals[1]


@pytest.mark.parametrize("byte", [0, 1, 127, 255])
def test_an_account_has_twelve_digits_and_does_not_begin_with_zero(byte):
    account = account_id(lambda n: bytes([byte]) * n)
    assert len(account) == 12
    assert account.isdecimal()
    assert account[0] != "0"


def test_ids_and_secrets_use_all_their_dice():
    assert unique_id("AIDA", lambda n: bytes(n)) == "AIDA" + "A" * 16
    assert secret(lambda n: bytes(n)) == "A" * 40
