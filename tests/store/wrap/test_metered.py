"""Metered: the inner store, counted."""

import asyncio
from contextlib import asynccontextmanager
from itertools import count

import pytest

from atoll.domain.errors import ApiError, Incomplete
from atoll.domain.objects import Condition
from atoll.store.memory import MemoryStore
from atoll.store.wrap.faulty import Faulty
from atoll.store.wrap.metered import Metered, Tally
from contracts.store import KEY, StoreContract, Ticks, put


class TestMeteredStore(StoreContract):
    @asynccontextmanager
    async def open(self, folder, clock):
        yield Metered(MemoryStore("here", clock), lambda: 0.0)


def test_calls_refusals_faults_and_seconds_are_counted():
    async def run():
        faulty = Faulty(MemoryStore("here", Ticks()))
        store = Metered(faulty, count().__next__)  # every look at the clock is one second later
        await put(store)
        with pytest.raises(ApiError):
            await put(store, condition=Condition(if_none_match=True))
        faulty.fail("put", Incomplete("cut"))
        with pytest.raises(Incomplete):
            await put(store)
        await store.head(KEY)
        assert store.tallies["put"] == Tally(calls=3, refused=1, failed=1, seconds=3)
        assert store.tallies["head"] == Tally(calls=1, seconds=1)

    asyncio.run(run())
