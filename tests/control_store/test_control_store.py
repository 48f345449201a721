"""Changes from one process: atomic, durable, read back at once, refused when the file is away."""

import asyncio
import sqlite3
import threading

import msgspec
import pytest

from atoll.control_store import ControlStore, Table, Transaction
from atoll.control_store.control_store import TRANSACTIONS_WAITING_MAX
from atoll.domain.errors import ApiError


class Thing(msgspec.Struct, frozen=True):
    size: int


THINGS = Table("thing", Thing)


def put(key: str, size: int = 1):
    return lambda transaction: transaction.put(THINGS, key, Thing(size))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state.db"


def opened(path, test, **options):
    """Run an async test function with an open State, and close it."""

    async def main():
        state = ControlStore.open(path, **options)
        try:
            await test(state)
        finally:
            state.close()

    asyncio.run(main())


def test_a_change_is_read_as_soon_as_it_returns(path):
    async def test(state):
        await state.transact(put("a", 5))
        assert state.get(THINGS, "a") == Thing(5)
        assert state.items(THINGS) == [("a", Thing(5))]

    opened(path, test)


def test_a_change_returns_what_its_function_returns(path):
    async def test(state):
        assert await state.transact(lambda transaction: transaction.items(THINGS)) == []

    opened(path, test)


def test_what_was_committed_is_there_after_reopening(path):
    async def write(state):
        await state.transact(put("a", 5))

    async def read(state):
        assert state.get(THINGS, "a") == Thing(5)
        assert state.version == 1

    opened(path, write)
    opened(path, read)


def test_a_change_that_raises_leaves_no_trace(path):
    def half(transaction: Transaction):
        transaction.put(THINGS, "a", Thing(1))
        raise ApiError("EntityAlreadyExists")

    async def test(state):
        with pytest.raises(ApiError) as caught:
            await state.transact(half)
        assert caught.value.code == "EntityAlreadyExists"
        assert state.get(THINGS, "a") is None
        assert await state.transact(lambda transaction: transaction.get(THINGS, "a")) is None

    opened(path, test)


def test_after_a_change_that_raised_the_next_one_works(path):
    def broken(transaction: Transaction):
        raise ZeroDivisionError

    async def test(state):
        with pytest.raises(ZeroDivisionError):
            await state.transact(broken)
        await state.transact(put("a"))
        assert state.get(THINGS, "a") == Thing(1)

    opened(path, test)


def test_changes_of_one_process_wait_for_each_other(path):
    def count(transaction: Transaction):
        found = transaction.get(THINGS, "n")
        transaction.put(THINGS, "n", Thing(found.size + 1 if found else 1))

    async def test(state):
        async with asyncio.TaskGroup() as group:
            for _ in range(50):
                group.create_task(state.transact(count))
        assert state.get(THINGS, "n") == Thing(50)

    opened(path, test)


def test_two_states_of_one_file_see_each_other(path):
    async def test(one):
        two = ControlStore.open(path)
        await one.transact(put("a"))
        two.refresh()
        await two.transact(put("b"))
        one.refresh()
        assert [key for key, _ in one.items(THINGS)] == ["a", "b"]
        assert [key for key, _ in two.items(THINGS)] == ["a", "b"]
        two.close()

    opened(path, test)


def test_a_change_judges_what_others_committed_not_what_the_snapshot_says(path):
    async def test(one):
        two = ControlStore.open(path)
        await one.transact(put("a", 7))
        assert two.get(THINGS, "a") is None
        assert await two.transact(lambda transaction: transaction.get(THINGS, "a")) == Thing(7)
        two.close()

    opened(path, test)


def test_waiting_for_a_newer_version_ends_with_it(path):
    async def test(state):
        async with asyncio.timeout(5), asyncio.TaskGroup() as group:
            waiting = group.create_task(state.changed(0))
            await state.transact(put("a"))
        assert waiting.result() == 1
        assert await state.changed(0) == 1

    opened(path, test)


def test_who_waits_sleeps_through_changes_that_changed_nothing(path):
    async def test(state):
        await state.transact(put("a"))
        async with asyncio.timeout(5), asyncio.TaskGroup() as group:
            waiting = group.create_task(state.changed(1))
            await state.transact(put("a"))
            assert not waiting.done()
            await state.transact(put("b"))
        assert waiting.result() == 2

    opened(path, test)


def test_following_brings_in_what_another_state_commits(path):
    async def test(one):
        two = ControlStore.open(path)
        async with asyncio.timeout(5), asyncio.TaskGroup() as group:
            following = group.create_task(two.follow())
            await one.transact(put("a"))
            await two.changed(0)
            following.cancel()
        assert two.get(THINGS, "a") == Thing(1)
        two.close()

    opened(path, test)


def test_a_locked_file_refuses_changes_and_goes_on_answering_reads(path):
    async def test(state):
        await state.transact(put("a"))
        blocker = sqlite3.connect(path, isolation_level=None)
        blocker.execute("BEGIN IMMEDIATE")
        with pytest.raises(ApiError) as caught:
            await state.transact(put("b"))
        assert (caught.value.code, caught.value.status) == ("ServiceUnavailable", 503)
        state.refresh()
        assert state.items(THINGS) == [("a", Thing(1))]
        blocker.execute("ROLLBACK")
        blocker.close()
        await state.transact(put("b"))
        assert state.get(THINGS, "b") == Thing(1)

    opened(path, test, busy_s=0.02)


def test_a_change_waits_for_a_lock_that_is_released_in_time(path):
    async def test(state):
        blocker = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        blocker.execute("BEGIN IMMEDIATE")
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(state.transact(put("a")))
            await asyncio.sleep(0.01)
            assert not waiting.done()
            blocker.execute("ROLLBACK")
        assert state.get(THINGS, "a") == Thing(1)
        blocker.close()

    opened(path, test)


def test_reads_go_on_while_a_change_waits(path):
    async def test(state):
        await state.transact(put("a"))
        inside, leave = threading.Event(), threading.Event()

        def slow(transaction: Transaction):
            transaction.put(THINGS, "a", Thing(2))
            inside.set()
            leave.wait(5)

        async with asyncio.TaskGroup() as group:
            group.create_task(state.transact(slow))
            await asyncio.get_running_loop().run_in_executor(None, inside.wait, 5)
            assert state.get(THINGS, "a") == Thing(1)
            leave.set()
        assert state.get(THINGS, "a") == Thing(2)

    opened(path, test)


def test_a_file_that_was_moved_away_refuses_changes_and_goes_on_answering_reads(path, tmp_path):
    async def test(state):
        await state.transact(put("a"))
        path.rename(tmp_path / "away.db")
        with pytest.raises(ApiError) as caught:
            await state.transact(put("b"))
        assert caught.value.code == "ServiceUnavailable"
        state.refresh()
        assert state.get(THINGS, "a") == Thing(1)
        (tmp_path / "away.db").rename(path)
        await state.transact(put("b"))
        assert state.get(THINGS, "b") == Thing(1)

    opened(path, test)


def test_a_file_that_was_replaced_is_not_taken_for_the_old_one(path, tmp_path):
    async def test(state):
        path.rename(tmp_path / "away.db")
        sqlite3.connect(path).close()
        with pytest.raises(ApiError) as caught:
            await state.transact(put("b"))
        assert caught.value.code == "ServiceUnavailable"

    opened(path, test)


def test_a_ruined_file_is_trouble_for_changes_and_none_for_reads(path):
    async def test(state):
        await state.transact(put("a"))
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("DROP TABLE head")
        other.close()
        state.refresh()
        assert "head" in state.last_error
        with pytest.raises(ApiError) as caught:
            await state.transact(put("b"))
        assert caught.value.code == "ServiceUnavailable"
        assert state.get(THINGS, "a") == Thing(1)

    opened(path, test)


def test_a_change_that_nobody_waits_for_any_more_still_reaches_the_snapshot(path):
    async def test(state):
        inside, leave = threading.Event(), threading.Event()

        def slow(transaction: Transaction):
            inside.set()
            leave.wait(5)
            transaction.put(THINGS, "a", Thing(1))

        async with asyncio.timeout(5), asyncio.TaskGroup() as group:
            task = group.create_task(state.transact(slow))
            await asyncio.get_running_loop().run_in_executor(None, inside.wait, 5)
            task.cancel()
            leave.set()
            await state.changed(0)
        assert state.get(THINGS, "a") == Thing(1)

    opened(path, test)


def test_too_many_waiting_changes_are_refused(path):
    async def test(state):
        leave = threading.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(state.transact(lambda transaction: leave.wait(5)))
            for _ in range(TRANSACTIONS_WAITING_MAX - 1):
                group.create_task(state.transact(lambda transaction: None))
            await asyncio.sleep(0)
            with pytest.raises(ApiError, match="Too many changes") as caught:
                await state.transact(put("a"))
            leave.set()
        assert caught.value.code == "ServiceUnavailable"

    opened(path, test)


def test_a_state_in_memory_does_the_same_without_a_file():
    async def main():
        state = ControlStore.memory()
        await state.transact(put("a"))
        state.refresh()
        assert (state.get(THINGS, "a"), state.version, state.last_error) == (Thing(1), 1, "")
        state.close()

    asyncio.run(main())


def test_following_a_state_in_memory_waits_quietly():
    async def main():
        state = ControlStore.memory()
        async with asyncio.TaskGroup() as group:
            following = group.create_task(state.follow())
            await state.transact(put("a"))
            assert not following.done()
            following.cancel()
        state.close()

    asyncio.run(main())
