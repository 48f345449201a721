"""The group committer: waiters are isolated from each other, and a failed commit shows nothing."""

import asyncio
import resource
from contextlib import asynccontextmanager, contextmanager

from atoll.domain.errors import ApiError
from atoll.domain.http_message import Body
from atoll.domain.objects import Condition, Key
from atoll.object_store.disk import group_commit
from atoll.object_store.disk.disk_store import DiskStore
from atoll.object_store.disk.integrity_check import check
from atoll.object_store.disk.schema import DATABASE
from atoll.object_store.disk.write_operations import Write
from contracts.store import KEY, LARGE, Ticks, content, metadata, put


@asynccontextmanager
async def opened(folder):
    store = await DiskStore.open(folder, "here", Ticks())
    try:
        yield store
    finally:
        await store.close()


@contextmanager
def no_file_beyond(size):
    """Real refusals by the kernel: no file of this process grows beyond `size` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def outcomes(calls):
    async def one(call):
        try:
            return await call
        except (ApiError, RuntimeError) as fault:
            return fault

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(call)) for call in calls]
    return [task.result() for task in tasks]


def numbered(store, count, size=4096):
    return [put(store, key=Key("bucket", f"k{number:03}"), content=bytes([number]) * size) for number in range(count)]


def test_a_disk_that_is_full_at_commit_fails_every_waiter_and_shows_nothing(tmp_path):
    async def run():
        async with opened(tmp_path) as store:
            await put(store, content=b"before")
            log = (tmp_path / f"{DATABASE}-wal").stat().st_size
            with no_file_beyond(log + 8192):
                failed = await outcomes(numbered(store, 40))
            assert {(fault.code, fault.status) for fault in failed} == {("ServiceUnavailable", 503)}
            assert len(set(map(id, failed))) == 40
            assert [entry.name for entry in await store.scan("bucket")] == ["a/key"]
            assert len(await store.changes("bucket", 0)) == 1
            await outcomes(numbered(store, 40))
            assert len(await store.scan("bucket")) == 41
            assert await content(store, Key("bucket", "k007")) == b"\x07" * 4096

    asyncio.run(run())
    assert list(check(tmp_path)) == []


def test_a_database_that_may_not_grow_fails_every_waiter_and_lives_on(tmp_path):
    async def run():
        async with opened(tmp_path) as store:
            await put(store, content=b"before")
            (pages,) = store._opened.db.execute("PRAGMA page_count").fetchone()
            store._opened.db.execute(f"PRAGMA max_page_count = {pages}")
            failed = await outcomes(numbered(store, 10))
            assert {fault.code for fault in failed} == {"ServiceUnavailable"}
            store._opened.db.execute("PRAGMA max_page_count = 1000000")
            await outcomes(numbered(store, 10))
            assert len(await store.scan("bucket")) == 11

    asyncio.run(run())
    assert list(check(tmp_path)) == []


def test_a_disk_that_is_full_for_a_large_body_leaves_no_file(tmp_path):
    async def run():
        async with opened(tmp_path) as store:
            with no_file_beyond(100_000):
                (fault,) = await outcomes([put(store, content=LARGE)])
            assert fault.code == "ServiceUnavailable"
            assert await store.head(KEY) is None
            await put(store, content=LARGE)
            assert await content(store) == LARGE

    asyncio.run(run())
    assert list(check(tmp_path)) == []


def test_a_large_body_whose_commit_fails_leaves_no_file(tmp_path):
    async def run():
        async with opened(tmp_path) as store:
            await put(store)
            (fault,) = await outcomes([put(store, content=LARGE, condition=Condition(if_none_match=True))])
            assert fault.code == "PreconditionFailed"

    asyncio.run(run())
    assert list(check(tmp_path)) == []


class BrokenInvariant(Write):
    """Writes a row, then fails."""

    def apply(self, index):
        index.insert_blob(1_000_000, 1, 0, b"x")
        raise RuntimeError("a bug of ours")


def test_an_operation_that_fails_halfway_is_undone_and_its_neighbours_are_not(tmp_path):
    async def run():
        async with opened(tmp_path) as store:
            calls = [*numbered(store, 5), store._committer.submit(BrokenInvariant()), *numbered(store, 9)[5:]]
            results = await outcomes(calls)
            assert [type(result).__name__ for result in results] == ["ObjectMetadata"] * 5 + ["RuntimeError"] + ["ObjectMetadata"] * 4
            assert len(await store.scan("bucket")) == 9

    asyncio.run(run())
    assert list(check(tmp_path)) == []


def test_a_cancelled_waiter_does_not_disturb_its_group(tmp_path):
    async def run():
        async with opened(tmp_path) as store, asyncio.TaskGroup() as group:
            tasks = [group.create_task(call) for call in numbered(store, 20)]
            await asyncio.sleep(0)
            tasks[3].cancel()
            tasks[19].cancel()
            await asyncio.wait(tasks)
            assert [task.cancelled() for task in tasks].count(True) == 2
            assert len(await store.scan("bucket")) >= 18

    asyncio.run(run())
    assert list(check(tmp_path)) == []


def test_a_large_upload_can_be_cancelled_at_any_turn(tmp_path):
    async def run():
        async with opened(tmp_path) as store:
            for turns in range(12):
                async with asyncio.TaskGroup() as group:
                    task = group.create_task(put(store, content=LARGE * 8))
                    for _ in range(turns):
                        await asyncio.sleep(0)
                    task.cancel()

    asyncio.run(run())
    assert list(check(tmp_path)) == []


def test_conditions_are_judged_in_the_order_of_arrival(tmp_path):
    async def run():
        async with opened(tmp_path) as store:
            calls = [put(store, etag="first", condition=Condition(if_none_match=True))]
            calls += [put(store, etag=f"e{number}", condition=Condition(if_match="first")) for number in range(3)]
            results = await outcomes(calls)
            assert [getattr(result, "code", "") or result.etag for result in results] == [
                "first", "e0", "PreconditionFailed", "PreconditionFailed",
            ]  # fmt: skip

    asyncio.run(run())


def test_groups_are_bounded_in_operations_and_bytes(tmp_path, monkeypatch):
    sizes = []
    inner = group_commit.Committer._commit

    def seen(self, group):
        sizes.append((len(group), sum(write.weight for write in group)))
        return inner(self, group)

    monkeypatch.setattr(group_commit.Committer, "_commit", seen)

    async def run():
        async with opened(tmp_path) as store:
            await outcomes(put(store, key=Key("bucket", f"{number}")) for number in range(600))
            await outcomes(put(store, key=Key("bucket", f"{number}"), content=b"x" * 65_000) for number in range(150))

    asyncio.run(run())
    assert max(operations for operations, _ in sizes) == 256
    assert 4_000_000 < max(weight for _, weight in sizes) <= group_commit.GROUP_MAX_BYTES


def test_a_queue_that_is_full_tells_callers_to_slow_down(tmp_path, monkeypatch):
    monkeypatch.setattr(group_commit, "QUEUE_MAX_OPERATIONS", 10)

    async def run():
        async with opened(tmp_path) as store:
            results = await outcomes(numbered(store, 30))
            assert {result.code for result in results if isinstance(result, ApiError)} == {"SlowDown"}
            await put(store)

    asyncio.run(run())


def test_a_closed_store_refuses_writes_and_answers_the_ones_before(tmp_path):
    async def run():
        store = await DiskStore.open(tmp_path, "here", Ticks())
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(call) for call in numbered(store, 5)]
            await asyncio.sleep(0)
            await store.close()
        assert all(task.result().size == 4096 for task in tasks)
        (fault,) = await outcomes([put(store)])
        assert fault.code == "ServiceUnavailable"
        await store.close()

    asyncio.run(run())


def test_the_log_is_taken_in_and_stays_short(tmp_path, monkeypatch):
    monkeypatch.setattr(group_commit, "CHECKPOINT_PAGES", 100)

    async def run():
        async with opened(tmp_path) as store:
            for _ in range(30):
                await outcomes(numbered(store, 50))
            return (tmp_path / f"{DATABASE}-wal").stat().st_size

    assert asyncio.run(run()) < 3_000_000


def test_an_unsealed_body_is_never_in_a_group(tmp_path):
    async def run():
        async with opened(tmp_path) as store:
            gate = asyncio.Event()

            async def slow():
                yield b"x"
                await gate.wait()

            async with asyncio.TaskGroup() as group:
                group.create_task(store.put(KEY, Body(slow(), None), metadata))
                await put(store, key=Key("bucket", "quick"))  # would hang if it waited for the slow one
                gate.set()

    asyncio.run(run())
