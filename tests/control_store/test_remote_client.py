"""A copy of the state on another node: changes go to the holder, reads stay, and nothing is lost or made twice."""

import asyncio
import threading
from contextlib import asynccontextmanager

import msgspec
import pytest

from atoll.control_store import ControlStore, Table
from atoll.control_store.remote_client import TRIES_MAX, RemoteControlStore
from atoll.control_store.remote_server import ControlStoreServer
from atoll.control_store.transaction_proposal import TRANSACTION_PATH
from atoll.domain.errors import ApiError, Upstream
from atoll.domain.http_message import Body, Response

PATIENCE_S = 10


class Thing(msgspec.Struct, frozen=True):
    size: int


THINGS = Table("thing", Thing)
OTHERS = Table("other", Thing)


def put(key, size=1, table=THINGS):
    return lambda transaction: transaction.put(table, key, Thing(size))


class Line:
    """The way to the holder. It can be cut, lose an answer after the question arrived, or deliver a question twice."""

    def __init__(self, offer):
        self.offer = offer
        self.cut = self.deaf = self.twice = False
        self.changes = 0

    async def __call__(self, request):
        if self.cut:
            raise Upstream("the line is cut")
        if request.path != TRANSACTION_PATH:
            return await self.offer(request)
        self.changes += 1
        response = await self.offer(request)
        if self.deaf:
            raise Upstream("the answer was lost")
        return await self.offer(request) if self.twice else response


class Nodes:
    def __init__(self, folder):
        self.folder = folder
        self.holder = ControlStore.open(folder / "holder.db")
        self.offer = ControlStoreServer(self.holder, folder / "holder.db")
        self.line = Line(self.offer)
        self.copy = self.opened()

    def opened(self, name="copy"):
        return RemoteControlStore(self.folder / f"{name}.db", self.line, place="tokyo")

    async def until_equal(self):
        async with asyncio.timeout(PATIENCE_S):
            await self.copy.changed(self.holder.version - 1)

    async def until_kept(self):
        """The copy's file has it too, for the next start."""
        async with asyncio.timeout(PATIENCE_S):
            while self.copy._kept < self.holder.version:
                await asyncio.sleep(0)

    def close(self):
        for each in (self.copy, self.offer, self.holder):
            each.close()


@asynccontextmanager
async def following(state):
    """The copy follows for as long as the block runs."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(state.follow())
        yield
        task.cancel()


@pytest.fixture
def world(tmp_path):
    nodes = Nodes(tmp_path)
    yield nodes
    nodes.close()


def test_what_the_holder_changes_arrives(world):
    async def main():
        async with following(world.copy):
            await world.holder.transact(put("a", 5))
            await world.until_equal()
            assert world.copy.get(THINGS, "a") == Thing(5)
            assert world.copy.last_error == ""

    asyncio.run(main())


def test_a_deletion_arrives_too(world):
    async def main():
        async with following(world.copy):
            await world.holder.transact(put("a"))
            await world.until_equal()
            await world.holder.transact(lambda transaction: transaction.delete(THINGS, "a"))
            await world.until_kept()
        again = world.opened()
        assert world.copy.items(THINGS) == again.items(THINGS) == []
        again.close()

    asyncio.run(main())


def test_a_change_is_made_at_the_holder_and_read_here_as_soon_as_it_returns(world):
    async def main():
        assert await world.copy.transact(lambda transaction: transaction.put(THINGS, "a", Thing(5)) or "done") == "done"
        assert world.copy.get(THINGS, "a") == world.holder.get(THINGS, "a") == Thing(5)
        assert world.copy.version == world.holder.version

    asyncio.run(main())


def test_a_change_sees_its_own_writes_and_deletions(world):
    def busy(transaction):
        transaction.put(THINGS, "b", Thing(2))
        transaction.delete(THINGS, "a")
        transaction.put(THINGS, "c", Thing(3))
        return transaction.items(THINGS), transaction.get(THINGS, "a"), transaction.get(THINGS, "c"), transaction.delete(THINGS, "nothing")

    async def main():
        await world.copy.transact(put("a"))
        seen = await world.copy.transact(busy)
        assert seen == ([("b", Thing(2)), ("c", Thing(3))], None, Thing(3), False)
        assert world.holder.items(THINGS) == [("b", Thing(2)), ("c", Thing(3))]

    asyncio.run(main())


def test_a_refusal_changes_nothing_anywhere(world):
    def refuse(transaction):
        transaction.put(THINGS, "a", Thing(1))
        raise ApiError("BucketAlreadyExists", "taken")

    async def main():
        with pytest.raises(ApiError, match="taken"):
            await world.copy.transact(refuse)
        assert world.holder.version == world.copy.version == 0
        assert world.line.changes == 0

    asyncio.run(main())


def test_a_change_that_rested_on_an_old_record_runs_again_on_the_new_one(world):
    async def main():
        await world.copy.transact(put("n", 10))
        await world.holder.transact(put("n", 20))  # the copy does not follow: it rehearses on 10
        sizes = []

        def add(transaction):
            size = transaction.get(THINGS, "n").size
            sizes.append(size)
            transaction.put(THINGS, "n", Thing(size + 1))

        await world.copy.transact(add)
        assert sizes == [10, 20]
        assert world.holder.get(THINGS, "n") == world.copy.get(THINGS, "n") == Thing(21)

    asyncio.run(main())


def test_a_change_that_rested_on_a_range_runs_again_when_the_range_grew(world):
    async def main():
        await world.copy.transact(put("a/1"))
        await world.holder.transact(put("a/2"))

        def count(transaction):
            transaction.put(OTHERS, "count", Thing(len(transaction.items(THINGS, "a/"))))

        await world.copy.transact(count)
        assert world.holder.get(OTHERS, "count") == Thing(2)

    asyncio.run(main())


def test_a_name_that_was_taken_elsewhere_is_seen_when_the_change_runs_again(world):
    def claim(transaction):
        if transaction.get(THINGS, "name") is not None:
            raise ApiError("BucketAlreadyExists", "taken")
        transaction.put(THINGS, "name", Thing(2))

    async def main():
        await world.holder.transact(put("name", 1))
        with pytest.raises(ApiError, match="taken"):
            await world.copy.transact(claim)
        assert world.holder.get(THINGS, "name") == Thing(1)

    asyncio.run(main())


def test_what_others_do_besides_is_no_conflict(world):
    async def main():
        await world.holder.transact(put("other"))
        await world.copy.transact(put("mine"))
        assert world.line.changes == 1
        assert [key for key, _ in world.copy.items(THINGS)] == ["mine", "other"]

    asyncio.run(main())


def test_counting_from_three_nodes_at_once_loses_no_count(world):
    def add(transaction):
        found = transaction.get(THINGS, "n")
        transaction.put(THINGS, "n", Thing(found.size + 1 if found else 1))

    async def main():
        async def often(state):
            for _ in range(10):
                await state.transact(add)

        third = world.opened("third")
        async with asyncio.TaskGroup() as group:
            for state in (world.copy, third, world.holder):
                group.create_task(often(state))
        assert world.holder.get(THINGS, "n") == Thing(30)
        third.close()

    asyncio.run(main())


def test_a_change_that_never_gets_ahead_of_the_others_answers_503(world):
    async def main():
        loop, rehearsed = asyncio.get_running_loop(), []

        def unlucky(transaction):
            rehearsed.append(transaction.get(THINGS, "n"))
            asyncio.run_coroutine_threadsafe(world.holder.transact(put("n", len(rehearsed))), loop).result(PATIENCE_S)
            transaction.put(OTHERS, "x", Thing(1))

        with pytest.raises(ApiError, match="Others keep changing") as caught:
            await world.copy.transact(unlucky)
        assert (caught.value.status, len(rehearsed)) == (503, TRIES_MAX)
        assert world.holder.get(OTHERS, "x") is None

    asyncio.run(main())


def test_while_the_holder_is_away_reads_go_on_and_changes_answer_503(world):
    async def main():
        async with following(world.copy):
            await world.copy.transact(put("a", 5))
            world.line.cut = True
            with pytest.raises(ApiError) as caught:
                await world.copy.transact(put("a", 6))
            assert caught.value.status == 503
            assert world.copy.get(THINGS, "a") == Thing(5)

    asyncio.run(main())


def test_a_copy_catches_up_when_the_holder_is_back(world):
    async def main():
        world.line.cut = True
        async with following(world.copy):
            await asyncio.sleep(0)
            await world.holder.transact(put("a", 5))
            assert world.copy.last_error == "the line is cut"
            world.line.cut = False
            await world.until_equal()
            assert world.copy.get(THINGS, "a") == Thing(5)

    asyncio.run(main())


def test_a_copy_that_is_opened_again_knows_what_it_knew(world):
    async def main():
        await world.copy.transact(put("a", 5))
        world.line.cut = True
        again = world.opened()
        assert (again.get(THINGS, "a"), again.version) == (Thing(5), world.holder.version)
        assert await again.joined(0.0)
        again.close()

    asyncio.run(main())


def test_a_copy_that_was_away_for_long_reads_everything_again(world):
    async def main():
        await world.copy.transact(put("gone"))
        world.line.cut = True
        await world.holder.transact(lambda transaction: transaction.delete(THINGS, "gone"))
        world.holder._writer.execute("DELETE FROM records WHERE body IS NULL")
        world.holder._writer.execute("UPDATE head SET trimmed = version")
        await world.holder.transact(put("new"))
        world.line.cut = False
        async with following(world.copy):
            await world.until_kept()
        assert [key for key, _ in world.copy.items(THINGS)] == ["new"]
        again = world.opened()
        assert [key for key, _ in again.items(THINGS)] == ["new"]
        again.close()

    asyncio.run(main())


def test_a_copy_can_take_over_as_the_holder(world):
    async def main():
        await world.copy.transact(put("kept"))
        await world.copy.transact(put("gone"))
        await world.copy.transact(lambda transaction: transaction.delete(THINGS, "gone"))
        heir = ControlStore.open(world.folder / "copy.db")
        world.line.offer = ControlStoreServer(heir, world.folder / "copy.db")
        third = world.opened("third")
        await third.transact(put("new"))
        assert [key for key, _ in third.items(THINGS)] == [key for key, _ in heir.items(THINGS)] == ["kept", "new"]
        assert third.version == heir.version > world.holder.version
        for each in (third, world.line.offer, heir):
            each.close()

    asyncio.run(main())


def test_without_a_copy_and_without_the_holder_there_is_no_joining(world):
    async def main():
        world.line.cut = True
        assert not await world.copy.joined(0.01)
        assert world.copy.last_error == "the line is cut"

    asyncio.run(main())


def test_a_first_copy_is_fetched_in_order_to_join(world):
    async def main():
        await world.holder.transact(put("a"))
        assert await world.copy.joined(PATIENCE_S)
        assert world.copy.get(THINGS, "a") == Thing(1)

    asyncio.run(main())


def test_a_question_that_is_delivered_twice_is_one_change(world):
    async def main():
        world.line.twice = True
        await world.copy.transact(put("a"))
        assert (world.holder.version, world.line.changes) == (1, 1)

    asyncio.run(main())


def test_a_change_whose_answer_was_lost_answers_503_and_shows_once_news_arrive(world):
    async def main():
        world.line.deaf = True
        with pytest.raises(ApiError) as caught:
            await world.copy.transact(put("a"))
        assert caught.value.status == 503
        async with following(world.copy):
            await world.until_equal()
        assert world.copy.get(THINGS, "a") == Thing(1)

    asyncio.run(main())


def test_a_holder_that_is_older_than_the_copy_is_not_believed(world):
    async def main():
        await world.copy.transact(put("a"))
        older = ControlStore.open(world.folder / "older.db")
        world.line.offer = ControlStoreServer(older, world.folder / "older.db")
        async with following(world.copy), asyncio.timeout(PATIENCE_S):
            while not world.copy.last_error:
                await asyncio.sleep(0.001)
        assert "the state is older" in world.copy.last_error
        assert world.copy.get(THINGS, "a") == Thing(1)
        world.line.offer.close()
        older.close()

    asyncio.run(main())


def test_a_holder_that_leaves_answers_who_waits(world):
    async def main():
        async with asyncio.TaskGroup() as group, asyncio.timeout(PATIENCE_S):
            waiting = group.create_task(world.copy._catch_up())
            while not world.offer._held:
                await asyncio.sleep(0)
            world.offer.leave()
            await waiting
        assert world.copy.version == 0

    asyncio.run(main())


def test_a_change_runs_beside_the_loop(world):
    async def main():
        assert await world.copy.transact(lambda transaction: threading.current_thread()) is not threading.main_thread()

    asyncio.run(main())


def test_a_copy_of_secrets_is_for_its_owner_only(world):
    assert (world.folder / "copy.db").stat().st_mode & 0o077 == 0


def test_an_answer_that_is_no_batch_is_trouble_and_not_the_end(world):
    async def nonsense(request):
        return Response(200, {}, Body.of(b"\xc1"))

    async def main():
        copy = RemoteControlStore(world.folder / "n.db", nonsense, place="tokyo")
        assert not await copy.joined(0.01)
        assert copy.last_error
        with pytest.raises(ApiError):
            await copy.transact(put("a"))
        copy.close()

    asyncio.run(main())
