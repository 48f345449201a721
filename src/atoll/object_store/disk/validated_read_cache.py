"""What a reading process just read and the writer has not changed since: current versions with small bodies."""

from __future__ import annotations

from collections import OrderedDict

from atoll.domain.objects import Key
from atoll.object_store.disk.index_reader import Hit
from atoll.object_store.disk.read_cache import READ_CACHE_MAX_BYTES, weight
from atoll.object_store.disk.sequence_locks import Generation, Generations
from atoll.object_store.version_order import is_internal


class Watched:
    """Hits by key with the generation in which they were read, the least recently used out first. As Recent for who asks."""

    __slots__ = ("_generations", "_hits", "_missed", "_size")

    def __init__(self, generations: Generations) -> None:
        self._generations = generations
        self._hits: OrderedDict[Key, tuple[Hit, Generation]] = OrderedDict()
        self._missed: tuple[Key, Generation | None] | None = None
        self._size = 0

    def get(self, key: Key) -> Hit | None:
        """None also begins a reading: what the database says next may be kept."""
        generation = self._generations.of(key)
        kept = self._hits.get(key)
        if kept is not None:
            if kept[1] == generation:
                self._hits.move_to_end(key)
                return kept[0]
            self._size -= weight(self._hits.pop(key)[0])
        self._missed = (key, generation)
        return None

    def keep(self, key: Key, hit: Hit) -> None:
        """What the database said of the key that `get` just did not have."""
        missed, self._missed = self._missed, None
        if missed is None or missed[0] != key or missed[1] is None or is_internal(key.bucket):
            return
        self._hits[key] = (hit, missed[1])
        self._size += weight(hit)
        while self._size > READ_CACHE_MAX_BYTES:
            self._size -= weight(self._hits.popitem(last=False)[1][0])
