"""A store as the reading processes of a region have it: the whole contract with one opening that writes and one that reads."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from atoll.domain.http_message import Body
from atoll.domain.objects import Key, ObjectMetadata
from atoll.object_store.disk import read_only_store as reading
from atoll.object_store.disk.disk_store import DiskStore
from atoll.object_store.disk.integrity_check import check
from atoll.object_store.disk.read_only_store import ReadingStore
from contracts.store import LARGE, StoreContract, Ticks

KEY = Key("bucket", "a/key")


class Pair:
    """Writes through the one, reads through the other, as two processes of a region do."""

    capabilities = DiskStore.capabilities

    def __init__(self, writer, reader):
        self.writer, self.reader = writer, reader
        for name in ("put", "delete", "update_metadata", "join", "drop", "trim"):
            setattr(self, name, getattr(writer, name))
        for name in ("get", "head", "scan", "changes"):
            setattr(self, name, getattr(reader, name))


@asynccontextmanager
async def pair(folder, clock):
    writer = await DiskStore.open(folder, "here", clock)
    reader = await ReadingStore.open(folder)
    yield Pair(writer, reader)
    await reader.close()
    await writer.close()
    assert list(check(folder)) == []


class TestReadingStore(StoreContract):
    @asynccontextmanager
    async def open(self, folder, clock):
        async with pair(folder, clock) as store:
            yield store


def put(store, content, key=KEY, version="null"):
    return store.put(key, Body.of(content), lambda: ObjectMetadata(version=version))


async def content(store, version=None):
    return b"".join([piece async for piece in (await store.get(KEY, version)).body()])


def test_a_small_body_that_was_kept_is_read_again_after_every_write(tmp_path):
    async def whole():
        async with pair(tmp_path, Ticks()) as store:
            for number in range(50):
                await put(store, b"%d" % number)
                assert [await content(store) for _ in range(3)] == [b"%d" % number] * 3

    asyncio.run(whole())


def test_what_was_kept_costs_no_look_at_the_database(tmp_path):
    async def whole():
        async with pair(tmp_path, Ticks()) as store:
            await put(store, b"kept")
            await content(store)
            store.reader._reads.find = None  # would raise
            assert await content(store) == b"kept"

    asyncio.run(whole())


def files(folder):
    return [path for path in (folder / "blobs").glob("*/*")]


def test_a_file_that_a_reader_streams_outlives_its_version_and_its_writer(tmp_path):
    async def whole():
        writer, reader = await DiskStore.open(tmp_path, "here", Ticks()), await ReadingStore.open(tmp_path)
        await put(writer, LARGE)
        found = await reader.get(KEY)
        await writer.delete(KEY, "null")
        await writer.close()
        assert len(files(tmp_path)) == 1
        writer = await DiskStore.open(tmp_path, "here", Ticks())  # looks for orphans, and finds one that is read
        await put(writer, LARGE[::-1])
        assert len(files(tmp_path)) == 2  # under another id
        assert b"".join([piece async for piece in found.body()]) == LARGE
        assert await content(reader) == LARGE[::-1]
        reader._locked.settle()
        await writer.delete(KEY, "null")
        await writer.close()
        assert files(tmp_path) == []
        await reader.close()
        assert list(check(tmp_path)) == []

    asyncio.run(whole())


def test_a_version_that_goes_between_the_look_and_the_lock_is_not_served(tmp_path):
    async def whole():
        async with pair(tmp_path, Ticks()) as store:
            await put(store, LARGE)
            find = store.reader._reads.find
            stale = find(KEY, None)
            answers = [stale]
            store.reader._reads.find = lambda *asked: answers.pop() if answers else find(*asked)
            await put(store, LARGE[::-1])
            assert await content(store) == LARGE[::-1]
            answers.append(stale)
            await store.delete(KEY, "null")
            assert await store.get(KEY) is None
            answers.append(stale)
            await put(store, b"small now")
            assert await content(store) == b"small now"

    asyncio.run(whole())


def test_a_reader_waits_for_the_writer_to_make_the_store(tmp_path):
    async def whole():
        opening = asyncio.create_task(ReadingStore.open(tmp_path))
        await asyncio.sleep(0.05)
        assert not opening.done()
        writer = await DiskStore.open(tmp_path, "here", Ticks())
        reader = await opening
        await put(writer, b"x")
        assert await content(reader) == b"x"
        await reader.close()
        await writer.close()

    asyncio.run(whole())


def test_without_a_writer_it_gives_up(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "OPENING_S", 0.05)
    with pytest.raises(TimeoutError):
        asyncio.run(ReadingStore.open(tmp_path))


def test_a_reader_that_is_asked_to_write_is_a_fault_of_ours(tmp_path):
    async def whole():
        async with pair(tmp_path, Ticks()) as store:
            with pytest.raises(AssertionError):
                await store.reader.put(KEY, Body.of(b""), ObjectMetadata)

    asyncio.run(whole())
