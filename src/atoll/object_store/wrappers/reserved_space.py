"""A Store around a Store that keeps disk space in reserve for deletions."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from atoll.domain.errors import ApiError
from atoll.domain.http_message import Body
from atoll.domain.interfaces import Store
from atoll.domain.objects import ALWAYS, Condition, Key, MakeMetadata, ObjectMetadata
from atoll.domain.quotas import MiB
from atoll.object_store.wrappers.pass_through import PassThroughStore

RESERVE_BYTES = 16 * MiB  # free space that new bytes may not touch: deletions and markers need a little to be written
CHECK_INTERVAL_S = 0.1  # how old the last look at the free space may be


class ReservedSpaceStore(PassThroughStore):
    """Refuses new bytes when less than the reserve is free, so that a client can always make room.

    `free_bytes()` tells what the file system has left, `monotonic()` the time in seconds. A disk that fills between two
    looks is the engine's business: the commit fails, and nothing of it shows.
    """

    def __init__(
        self, store: Store, free_bytes: Callable[[], int], monotonic: Callable[[], float], reserve: int = RESERVE_BYTES
    ) -> None:
        super().__init__(store)
        self._free_bytes = free_bytes
        self._monotonic = monotonic
        self._reserve = reserve
        self._looked = float("-inf")
        self._room = True

    def put(
        self, key: Key, body: Body, make_metadata: MakeMetadata, condition: Condition = ALWAYS
    ) -> Coroutine[Any, Any, ObjectMetadata]:
        """Raises ServiceUnavailable when the disk is nearly full; what has no bytes (a delete marker) is let through."""
        if body.length != 0 and not self._has_room():
            raise ApiError("ServiceUnavailable", "The disk is nearly full: new objects are refused until some are deleted.")
        return self._store.put(key, body, make_metadata, condition)

    def _has_room(self) -> bool:
        now = self._monotonic()
        if now - self._looked >= CHECK_INTERVAL_S:
            self._looked, self._room = now, self._free_bytes() >= self._reserve
        return self._room
