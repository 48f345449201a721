"""A cache of current versions with small bodies, kept while nobody writes to their key."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from atoll.domain.objects import Key
from atoll.domain.quotas import KiB, MiB
from atoll.object_store.disk.index_reader import Hit
from atoll.object_store.version_order import is_internal

READ_CACHE_MAX_BYTES: Final = 8 * MiB
ENTRY_BYTES: Final = 2 * KiB  # what a hit takes besides its content, about


class ReadCache:
    """Hits by key, the least recently used out first. Belongs to the loop's thread.

    From `begin` of a write, before it is submitted, to its `end`, when its outcome has come, nothing is kept that it could
    change: so no reader sees less than the database has.
    """

    __slots__ = ("_hits", "_size", "_writing")

    def __init__(self) -> None:
        self._hits: OrderedDict[Key, Hit] = OrderedDict()
        self._writing: dict[Key | None, int] = {}  # None: writes that may touch any key
        self._size = 0

    def get(self, key: Key) -> Hit | None:
        hit = self._hits.get(key)
        if hit is not None:
            self._hits.move_to_end(key)
        return hit

    def keep(self, key: Key, hit: Hit) -> None:
        if key in self._writing or None in self._writing or key in self._hits or is_internal(key.bucket):
            return
        self._hits[key] = hit
        self._size += weight(hit)
        while self._size > READ_CACHE_MAX_BYTES:
            self._size -= weight(self._hits.popitem(last=False)[1])

    def begin(self, key: Key | None) -> None:
        self._writing[key] = self._writing.get(key, 0) + 1
        if key is None:
            self._hits.clear()
            self._size = 0
        elif key in self._hits:
            self._size -= weight(self._hits.pop(key))

    def end(self, key: Key | None) -> None:
        left = self._writing[key] - 1
        if left:
            self._writing[key] = left
        else:
            del self._writing[key]


def weight(hit: Hit) -> int:
    return ENTRY_BYTES + len(hit.content or b"")
