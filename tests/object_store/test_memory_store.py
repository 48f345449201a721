"""The reference engine."""

from contextlib import asynccontextmanager

from atoll.object_store.memory_store import MemoryStore
from contracts.store import StoreContract


class TestMemoryStore(StoreContract):
    @asynccontextmanager
    async def open(self, folder, clock):
        yield MemoryStore("here", clock)
