"""Through: the inner store and nothing else."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace

from atoll.domain.objects import StoreCapabilities
from atoll.object_store.memory_store import MemoryStore
from atoll.object_store.wrappers.pass_through import PassThroughStore
from contracts.store import KEY, StoreContract, Ticks, content, put


class TestThroughStore(StoreContract):
    @asynccontextmanager
    async def open(self, folder, clock):
        yield PassThroughStore(MemoryStore("here", clock))


class Unable(MemoryStore):
    capabilities = StoreCapabilities(changes=False)


def test_a_wrapper_can_what_the_store_within_can():
    assert PassThroughStore(Unable("here", Ticks())).capabilities == StoreCapabilities(changes=False)


def test_what_is_written_through_the_wrapper_is_in_the_store_within():
    async def run():
        inner = MemoryStore("here", Ticks())
        outer = PassThroughStore(PassThroughStore(inner))
        await put(outer, content=b"through two")
        await outer.update_metadata(KEY, "null", lambda metadata: replace(metadata, tags={"a": "b"}))
        assert await content(inner) == b"through two"
        assert (await inner.head(KEY)).tags == {"a": "b"}
        assert await outer.changes(KEY.bucket, 0) == await inner.changes(KEY.bucket, 0)

    asyncio.run(run())


def test_a_wrapper_that_overrides_one_call_leaves_the_others():
    class Blind(PassThroughStore):
        async def head(self, key, version=None):
            return None

    async def run():
        store = Blind(MemoryStore("here", Ticks()))
        await put(store)
        assert await store.head(KEY) is None
        assert await content(store) == b"hello"

    asyncio.run(run())
