"""Through: the inner store and nothing else."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace

from atoll.domain.objects import Ability
from atoll.store.memory import MemoryStore
from atoll.store.wrap.through import Through
from contracts.store import KEY, StoreContract, Ticks, content, put


class TestThroughStore(StoreContract):
    @asynccontextmanager
    async def open(self, folder, clock):
        yield Through(MemoryStore("here", clock))


class Unable(MemoryStore):
    able = Ability(changes=False)


def test_a_wrapper_can_what_the_store_within_can():
    assert Through(Unable("here", Ticks())).able == Ability(changes=False)


def test_what_is_written_through_the_wrapper_is_in_the_store_within():
    async def run():
        inner = MemoryStore("here", Ticks())
        outer = Through(Through(inner))
        await put(outer, content=b"through two")
        await outer.amend(KEY, "null", lambda facts: replace(facts, tags={"a": "b"}))
        assert await content(inner) == b"through two"
        assert (await inner.head(KEY)).tags == {"a": "b"}
        assert await outer.changes(KEY.bucket, 0) == await inner.changes(KEY.bucket, 0)

    asyncio.run(run())


def test_a_wrapper_that_overrides_one_call_leaves_the_others():
    class Blind(Through):
        async def head(self, key, version=None):
            return None

    async def run():
        store = Blind(MemoryStore("here", Ticks()))
        await put(store)
        assert await store.head(KEY) is None
        assert await content(store) == b"hello"

    asyncio.run(run())
