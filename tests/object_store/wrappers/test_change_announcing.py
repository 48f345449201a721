"""Announced: the inner store, and a bell after each commit."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from atoll.domain.errors import ApiError
from atoll.domain.objects import Condition
from atoll.object_store.memory_store import MemoryStore
from atoll.object_store.wrappers.change_announcing import AnnouncedStore
from contracts.store import KEY, StoreContract, Ticks, put


class TestAnnouncedStore(StoreContract):
    @asynccontextmanager
    async def open(self, folder, clock):
        yield AnnouncedStore(MemoryStore("here", clock), lambda bucket: None)


def test_every_write_rings_for_its_bucket_and_no_read_does():
    async def run():
        has_notifier = []
        store = AnnouncedStore(MemoryStore("here", Ticks()), has_notifier.append)
        await put(store)
        await store.update_metadata(KEY, "null", lambda metadata: replace(metadata, tags={"a": "b"}))
        await store.get(KEY)
        await store.head(KEY)
        await store.scan(KEY.bucket)
        await store.delete(KEY, "null")
        assert has_notifier == [KEY.bucket] * 3

    asyncio.run(run())


def test_a_write_that_was_refused_rings_nothing():
    async def run():
        has_notifier = []
        store = AnnouncedStore(MemoryStore("here", Ticks()), has_notifier.append)
        with pytest.raises(ApiError):
            await put(store, condition=Condition(if_match="other"))
        assert has_notifier == []

    asyncio.run(run())
