"""Reserved: the inner store, but for new bytes when the disk is nearly full."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from atoll.domain.errors import ApiError
from atoll.domain.http_message import Body
from atoll.domain.objects import Key, ObjectMetadata
from atoll.object_store.memory_store import MemoryStore
from atoll.object_store.wrappers.reserved_space import CHECK_INTERVAL_S, RESERVE_BYTES, ReservedSpaceStore
from contracts.store import StoreContract

KEY = Key("b", "k")


class TestReservedStoreWithRoom(StoreContract):
    @asynccontextmanager
    async def open(self, folder, clock):
        yield ReservedSpaceStore(MemoryStore("here", clock), lambda: RESERVE_BYTES, lambda: 0.0)


class Disk:
    """A file system whose free space a test decides, and the clock by which it is looked at."""

    def __init__(self):
        self.free, self.now = RESERVE_BYTES, 0.0
        self.store = ReservedSpaceStore(MemoryStore("here", lambda: 1), lambda: self.free, lambda: self.now)

    def put(self, data=b"1", **metadata):
        return asyncio.run(self.store.put(KEY, Body.of(data), lambda: ObjectMetadata(size=len(data), **metadata)))

    def later(self, free):
        self.free, self.now = free, self.now + CHECK_INTERVAL_S


def test_new_bytes_are_refused_when_only_the_reserve_is_left():
    disk = Disk()
    disk.later(RESERVE_BYTES - 1)
    with pytest.raises(ApiError) as refused:
        disk.put()
    assert (refused.value.code, refused.value.status) == ("ServiceUnavailable", 503)
    assert asyncio.run(disk.store.head(KEY)) is None


def test_what_is_there_can_be_read_and_deleted_so_that_room_is_made():
    disk = Disk()
    disk.put()
    disk.later(0)
    assert asyncio.run(disk.store.get(KEY)) is not None
    assert asyncio.run(disk.store.delete(KEY, "null")) is not None


def test_a_delete_marker_needs_no_room():
    disk = Disk()
    disk.later(0)
    assert disk.put(b"", marker=True, version="v").marker


def test_writes_go_on_once_there_is_room_again():
    disk = Disk()
    disk.later(0)
    with pytest.raises(ApiError):
        disk.put()
    disk.later(RESERVE_BYTES)
    assert disk.put().size == 1


def test_the_disk_is_not_looked_at_for_every_write():
    disk = Disk()
    disk.put()
    disk.free = 0
    assert disk.put().size == 1
