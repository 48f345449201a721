"""What a transaction sees and does."""

import asyncio

import msgspec
import pytest

from atoll.control_store import ControlStore, Table, Transaction
from atoll.domain.errors import ApiError


class Thing(msgspec.Struct, frozen=True):
    size: int


class Newer(msgspec.Struct, frozen=True):
    size: str


THINGS = Table("thing", Thing)
OTHERS = Table("other", Thing)


def run(*fns):
    """Each function in a transaction of its own; the results, and the state."""

    async def all_of_them():
        state = ControlStore.memory()
        return [await state.transact(fn) for fn in fns], state

    return asyncio.run(all_of_them())


def put(key: str, size: int, table=THINGS):
    return lambda transaction: transaction.put(table, key, Thing(size))


def test_what_was_put_is_read_in_the_same_transaction():
    def fn(transaction: Transaction):
        transaction.put(THINGS, "a", Thing(1))
        return transaction.get(THINGS, "a")

    assert run(fn)[0] == [Thing(1)]


def test_what_another_transaction_committed_is_read():
    assert run(put("a", 1), lambda transaction: transaction.get(THINGS, "a"))[0][1] == Thing(1)


def test_tables_keep_their_keys_apart():
    assert run(put("a", 1), put("a", 2, OTHERS), lambda transaction: transaction.items(THINGS))[0][2] == [("a", Thing(1))]


def test_items_are_in_order_and_narrowed_by_prefix():
    results, _ = run(put("b/2", 1), put("a", 2), put("b/1", 3), put("b\U0010ffff", 4), lambda transaction: transaction.items(THINGS, "b"))
    assert [key for key, _ in results[4]] == ["b/1", "b/2", "b\U0010ffff"]


def test_what_was_deleted_is_gone_and_may_come_again():
    results, state = run(
        put("a", 1),
        lambda transaction: transaction.delete(THINGS, "a"),
        lambda transaction: (transaction.get(THINGS, "a"), transaction.items(THINGS)),
        put("a", 2),
    )
    assert results[1] is True
    assert results[2] == (None, [])
    assert state.get(THINGS, "a") == Thing(2)


def test_deleting_what_is_not_there_says_so_and_changes_nothing():
    results, state = run(lambda transaction: transaction.delete(THINGS, "a"))
    assert results == [False]
    assert state.version == 0


def test_putting_the_same_again_wakes_nobody():
    _, state = run(put("a", 1), put("a", 1))
    assert state.version == 1


def test_all_that_one_transaction_writes_has_one_version():
    def both(transaction: Transaction):
        transaction.put(THINGS, "a", Thing(1))
        transaction.put(OTHERS, "b", Thing(2))

    _, state = run(both)
    assert state.version == 1
    assert (state.get(THINGS, "a"), state.get(OTHERS, "b")) == (Thing(1), Thing(2))


def test_what_a_newer_atoll_wrote_is_not_overlooked_by_a_change():
    newer = Table("thing", Newer)
    with pytest.raises(ApiError, match="newer version of Atoll") as caught:
        run(lambda transaction: transaction.put(newer, "a", Newer("huge")), lambda transaction: transaction.get(THINGS, "a"))
    assert caught.value.code == "ServiceUnavailable"
