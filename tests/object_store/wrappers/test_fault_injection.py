"""Faulty: the inner store until a planned fault."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from atoll.domain.errors import ApiError, Upstream
from atoll.object_store.memory_store import MemoryStore
from atoll.object_store.wrappers.fault_injection import Faulty
from contracts.store import KEY, StoreContract, Ticks, content, put


class TestFaultyWithoutPlans(StoreContract):
    @asynccontextmanager
    async def open(self, folder, clock):
        yield Faulty(MemoryStore("here", clock))


def test_the_planned_call_fails_and_no_other():
    async def run():
        store = Faulty(MemoryStore("here", Ticks()))
        store.fail("put", ApiError("ServiceUnavailable"), skip=1, times=2)
        await put(store, content=b"one")
        for _ in range(2):
            with pytest.raises(ApiError):
                await put(store, content=b"two")
        assert await content(store) == b"one"
        await put(store, content=b"three")
        assert await content(store) == b"three"

    asyncio.run(run())


def test_a_fault_afterwards_loses_the_answer_but_not_the_write():
    async def run():
        store = Faulty(MemoryStore("here", Ticks()))
        store.fail("put", Upstream("cut"), when="after")
        with pytest.raises(Upstream):
            await put(store)
        assert await content(store) == b"hello"

    asyncio.run(run())


@pytest.mark.parametrize("operation", ["get", "head", "scan", "changes", "trim", "drop", "delete", "amend", "join"])
def test_every_operation_can_fail(operation):
    async def run():
        store = Faulty(MemoryStore("here", Ticks()))
        store.fail(operation, Upstream("planned"))
        calls = {
            "get": lambda: store.get(KEY),
            "head": lambda: store.head(KEY),
            "scan": lambda: store.scan("bucket"),
            "changes": lambda: store.changes("bucket", 0),
            "trim": lambda: store.trim("bucket", 0),
            "drop": lambda: store.drop(KEY),
            "delete": lambda: store.delete(KEY, "null"),
            "amend": lambda: store.update_metadata(KEY, "null", lambda known: known),
            "join": lambda: store.join(KEY, [], None, discard=KEY),
        }
        with pytest.raises(Upstream):
            await calls[operation]()

    asyncio.run(run())
