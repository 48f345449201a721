"""Recent: what was read stays at hand exactly as long as nobody writes to its key."""

import asyncio
import time

import pytest

from atoll.domain.errors import ApiError
from atoll.domain.message import Body
from atoll.domain.objects import Condition, Facts, Key
from atoll.store.disk.engine import DiskStore
from atoll.store.disk.reads import Hit
from atoll.store.disk.recent import ENTRY_BYTES, RECENT_MAX_BYTES, Recent
from atoll.store.disk.schema import INLINE

KEY, OTHER = Key("bucket", "a"), Key("bucket", "b")


def hit(content=b"x"):
    return Hit(Facts(size=len(content)), INLINE, 1, None, 0, content)


def test_what_was_read_is_found_again():
    recent, found = Recent(), hit()
    recent.keep(KEY, found)
    assert recent.get(KEY) is found


def test_a_write_takes_its_key_out_and_only_that():
    recent = Recent()
    recent.keep(KEY, hit())
    recent.keep(OTHER, hit())
    recent.begin(KEY)
    assert recent.get(KEY) is None
    assert recent.get(OTHER) is not None


def test_nothing_is_kept_while_a_write_to_its_key_is_on_its_way():
    recent = Recent()
    recent.begin(KEY)
    recent.begin(KEY)
    recent.end(KEY)
    recent.keep(KEY, hit())
    assert recent.get(KEY) is None
    recent.end(KEY)
    recent.keep(KEY, hit())
    assert recent.get(KEY) is not None


def test_a_write_that_may_touch_any_key_empties_all_and_keeps_it_empty():
    recent = Recent()
    recent.keep(KEY, hit())
    recent.begin(None)
    recent.keep(OTHER, hit())
    assert recent.get(KEY) is None
    assert recent.get(OTHER) is None
    recent.end(None)
    recent.keep(OTHER, hit())
    assert recent.get(OTHER) is not None


def test_the_least_recently_used_goes_first_when_the_bytes_are_full():
    recent, half = Recent(), hit(bytes(RECENT_MAX_BYTES // 2 - ENTRY_BYTES))
    recent.keep(KEY, half)
    recent.keep(OTHER, half)
    recent.get(KEY)
    recent.keep(Key("bucket", "c"), half)
    assert recent.get(KEY) is not None
    assert recent.get(OTHER) is None


def test_internal_areas_are_not_kept():
    recent = Recent()
    recent.keep(Key("bucket!uploads", "a"), hit())
    assert recent.get(Key("bucket!uploads", "a")) is None


async def opened(folder):
    return await DiskStore.open(folder, "here", lambda: int(time.time() * 1000))


async def put(store, content, condition=Condition()):
    return await store.put(KEY, Body.of(content), lambda: Facts(etag=str(len(content))), condition)


async def read(store):
    found = await store.get(KEY)
    return None if found is None else found.body().small


def test_a_reader_sees_each_overwrite_and_the_removal(tmp_path):
    async def story():
        store = await opened(tmp_path)
        seen = []
        for content in (b"one", b"three", b"fifteen"):
            await put(store, content)
            seen += [await read(store), await read(store)]
        await store.delete(KEY, "null")
        seen.append(await read(store))
        await store.close()
        return seen

    assert asyncio.run(story()) == [b"one", b"one", b"three", b"three", b"fifteen", b"fifteen", None]


def test_a_waiter_that_was_cancelled_leaves_nothing_stale(tmp_path):
    async def story():
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

    assert asyncio.run(story()) == b"newest"


def test_a_refused_write_leaves_what_was_there(tmp_path):
    async def story():
        store = await opened(tmp_path)
        await put(store, b"first")
        with pytest.raises(ApiError):
            await put(store, b"second", Condition(if_none_match=True))
        seen = [await read(store), await read(store)]
        await store.close()
        return seen

    assert asyncio.run(story()) == [b"first", b"first"]
