"""Opening a store: it is ours alone, and what a crash left is removed."""

import asyncio
import shutil
import sqlite3

import pytest

from atoll.domain.http_message import Body
from atoll.domain.objects import Key
from atoll.object_store.disk.disk_store import DiskStore
from atoll.object_store.disk.integrity_check import check
from atoll.object_store.disk.schema import DATABASE
from contracts.store import KEY, LARGE, Ticks, content, metadata, put, refused


async def with_store(folder, use):
    store = await DiskStore.open(folder, "here", Ticks())
    try:
        return await use(store)
    finally:
        await store.close()


async def two_objects(store):
    await put(store, content=LARGE)
    await put(store, key=Key("bucket", "small"))


def crashed_copy(folder, copy):
    """The store as a crash at this moment would leave it."""
    shutil.copytree(folder, copy)
    return copy


def test_a_store_keeps_everything_over_a_restart(tmp_path):
    async def read(store):
        return await content(store), await content(store, Key("bucket", "small")), await store.changes("bucket", 0)

    asyncio.run(with_store(tmp_path, two_objects))
    large, small, feed = asyncio.run(with_store(tmp_path, read))
    assert (large, small, len(feed)) == (LARGE, b"hello", 2)


def test_the_feed_counts_on_over_a_restart_although_it_was_trimmed(tmp_path):
    async def trim(store):
        await two_objects(store)
        (_, last) = await store.changes("bucket", 0)
        await store.trim("bucket", last.seq)
        return last.seq

    async def write(store):
        await put(store)
        (change,) = await store.changes("bucket", 0)
        return change.seq

    assert asyncio.run(with_store(tmp_path, trim)) < asyncio.run(with_store(tmp_path, write))


def test_a_store_has_one_owner(tmp_path):
    async def again(store):
        with pytest.raises(BlockingIOError):
            await DiskStore.open(tmp_path, "here", Ticks())

    asyncio.run(with_store(tmp_path, again))
    asyncio.run(with_store(tmp_path, two_objects))


def test_orphans_of_a_crash_are_removed(tmp_path):
    async def crash(store):
        await two_objects(store)
        (large,) = (tmp_path / "a/blobs").glob("??/*")
        copy = crashed_copy(tmp_path / "a", tmp_path / "b")
        shutil.copy(large, copy / "blobs" / large.parent.name / "abcdef01")
        (copy / "tmp" / "77").write_bytes(b"unfinished")
        return copy

    copy = asyncio.run(with_store(tmp_path / "a", crash))
    assert sorted(broken.kind for broken in check(copy)) == ["file-orphan", "file-orphan"]
    assert asyncio.run(with_store(copy, content)) == LARGE
    assert list(check(copy)) == []


def test_new_files_never_take_the_name_of_an_old_one(tmp_path):
    async def overwrite(store):
        await put(store, key=Key("bucket", "second"), content=LARGE[::-1])
        return await content(store)

    asyncio.run(with_store(tmp_path, two_objects))
    assert asyncio.run(with_store(tmp_path, overwrite)) == LARGE
    assert list(check(tmp_path)) == []


def test_a_store_of_another_format_is_refused(tmp_path):
    asyncio.run(with_store(tmp_path, two_objects))
    db = sqlite3.connect(tmp_path / DATABASE)
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(RuntimeError, match="format 99"):
        asyncio.run(with_store(tmp_path, content))


def test_replaced_and_deleted_files_go(tmp_path):
    async def use(store):
        await put(store, content=LARGE)
        await put(store, content=LARGE)
        await put(store, key=Key("bucket", "b"), content=LARGE)
        await store.delete(Key("bucket", "b"), "null")

    asyncio.run(with_store(tmp_path, use))
    assert len(list((tmp_path / "blobs").glob("??/*"))) == 1


def test_an_upload_that_outlives_its_store_is_refused_and_leaves_no_file(tmp_path):
    async def run():
        store = await DiskStore.open(tmp_path, "here", Ticks())
        closed = asyncio.Event()

        async def slow():
            for _ in range(4):
                yield LARGE
            await closed.wait()
            yield LARGE * 4

        async with asyncio.TaskGroup() as group:
            task = group.create_task(refused(store.put(KEY, Body(slow(), None), metadata)))
            await asyncio.sleep(0)
            await store.close()
            closed.set()
        return task.result()

    assert asyncio.run(run()) == "ServiceUnavailable"
    assert list(check(tmp_path)) == []


def test_a_body_that_nobody_read_does_not_keep_its_file(tmp_path):
    async def use(store):
        await put(store, content=LARGE)
        found = await store.get(KEY)
        body = found.body()
        await store.delete(KEY, "null")
        assert len(list((tmp_path / "blobs").glob("??/*"))) == 1
        del found, body

    asyncio.run(with_store(tmp_path, use))
    assert list((tmp_path / "blobs").glob("??/*")) == []
