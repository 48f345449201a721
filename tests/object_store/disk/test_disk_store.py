"""The disk engine: the contract on both loops, and what only a disk can do."""

from contextlib import asynccontextmanager

import uvloop

from atoll.object_store.disk.disk_store import DiskStore
from atoll.object_store.disk.integrity_check import check
from contracts.store import StoreContract


class TestDiskStore(StoreContract):
    @asynccontextmanager
    async def open(self, folder, clock):
        store = await DiskStore.open(folder, "here", clock)
        yield store
        await store.close()
        assert list(check(folder)) == []


class TestDiskStoreOnUvloop(TestDiskStore):
    run = staticmethod(uvloop.run)
