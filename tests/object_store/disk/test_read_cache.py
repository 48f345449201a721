"""Recent: what was read stays at hand exactly as long as nobody writes to its key."""

import asyncio
import time

import pytest

from atoll.domain.errors import ApiError
from atoll.domain.http_message import Body
from atoll.domain.objects import Condition, Key, ObjectMetadata
from atoll.object_store.disk.disk_store import DiskStore
from atoll.object_store.disk.index_reader import Hit
from atoll.object_store.disk.read_cache import ENTRY_BYTES, READ_CACHE_MAX_BYTES, ReadCache
from atoll.object_store.disk.schema import INLINE

KEY, OTHER = Key("bucket", "a"), Key("bucket", "b")


def hit(content=b"x"):
    return Hit(ObjectMetadata(size=len(content)), INLINE, 1, None, 0, content)


def test_what_was_read_is_found_again():
    read_cache, found = ReadCache(), hit()
    read_cache.keep(KEY, found)
    assert read_cache.get(KEY) is found


def test_a_write_takes_its_key_out_and_only_that():
    read_cache = ReadCache()
    read_cache.keep(KEY, hit())
    read_cache.keep(OTHER, hit())
    read_cache.begin(KEY)
    assert read_cache.get(KEY) is None
    assert read_cache.get(OTHER) is not None


def test_nothing_is_kept_while_a_write_to_its_key_is_on_its_way():
    read_cache = ReadCache()
    read_cache.begin(KEY)
    read_cache.begin(KEY)
    read_cache.end(KEY)
    read_cache.keep(KEY, hit())
    assert read_cache.get(KEY) is None
    read_cache.end(KEY)
    read_cache.keep(KEY, hit())
    assert read_cache.get(KEY) is not None


def test_a_write_that_may_touch_any_key_empties_all_and_keeps_it_empty():
    read_cache = ReadCache()
    read_cache.keep(KEY, hit())
    read_cache.begin(None)
    read_cache.keep(OTHER, hit())
    assert read_cache.get(KEY) is None
    assert read_cache.get(OTHER) is None
    read_cache.end(None)
    read_cache.keep(OTHER, hit())
    assert read_cache.get(OTHER) is not None


def test_the_least_recently_used_goes_first_when_the_bytes_are_full():
    read_cache, half = ReadCache(), hit(bytes(READ_CACHE_MAX_BYTES // 2 - ENTRY_BYTES))
    read_cache.keep(KEY, half)
    read_cache.keep(OTHER, half)
    read_cache.get(KEY)
    read_cache.keep(Key("bucket", "c"), half)
    assert read_cache.get(KEY) is not None
    assert read_cache.get(OTHER) is None


def test_internal_areas_are_not_kept():
    read_cache = ReadCache()
    read_cache.keep(Key("bucket!uploads", "a"), hit())
    assert read_cache.get(Key("bucket!uploads", "a")) is None


async def opened(folder):
    return await DiskStore.open(folder, "here", lambda: int(time.time() * 1000))


async def put(store, content, condition=Condition()):
    return await store.put(KEY, Body.of(content), lambda: ObjectMetadata(etag=str(len(content))), condition)


async def read(store):
    found = await store.get(KEY)
    return None if found is None else found.body().small


def test_a_reader_sees_each_overwrite_and_the_removal(tmp_path):
    async def scenario():
        store = await opened(tmp_path)
        seen = []
        for content in (b"one", b"three", b"fifteen"):
            await put(store, content)
            seen += [await read(store), await read(store)]
        await store.delete(KEY, "null")
        seen.append(await read(store))
        await store.close()
        return seen

    assert asyncio.run(scenario()) == [b"one", b"one", b"three", b"three", b"fifteen", b"fifteen", None]


def test_a_waiter_that_was_cancelled_leaves_nothing_stale(tmp_path):
    async def scenario():
        store = await opened(tmp_path)
        await put(store, b"old")
        await read(store)
        async with asyncio.TaskGroup() as group:
            waiter = group.create_task(put(store, b"newer"))
            await asyncio.sleep(0)
            waiter.cancel()
            group.create_task(read(store))
        await put(store, b"newest")
        seen = await read(store)
        await store.close()
        return seen

    assert asyncio.run(scenario()) == b"newest"


def test_a_refused_write_leaves_what_was_there(tmp_path):
    async def scenario():
        store = await opened(tmp_path)
        await put(store, b"first")
        with pytest.raises(ApiError):
            await put(store, b"second", Condition(if_none_match=True))
        seen = [await read(store), await read(store)]
        await store.close()
        return seen

    assert asyncio.run(scenario()) == [b"first", b"first"]
