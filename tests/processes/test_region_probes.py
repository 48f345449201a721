import asyncio
from types import SimpleNamespace

import pytest

from atoll.domain.errors import Upstream
from atoll.domain.http_message import Body, Response
from atoll.gateway.internal_endpoints import HEALTH
from atoll.processes.region_probes import PROBE_S, RETRY_S, MeasuredRouting
from atoll.rules.region_selection import FAILURES_MAX, RegionSelector
from net.servers import Dial, settle

POINT = SimpleNamespace(members={"near": "b-near", "far": "b-far"}, traffic_dials={"near": 100, "far": 0})


class Region:
    """Answers after `takes_s` of the clock; `away` breaks off."""

    def __init__(self, clock, takes_s=0.0):
        self.clock, self.takes_s, self.away, self.status, self.asked = clock, takes_s, False, 200, []

    async def __call__(self, request):
        self.asked.append(request)
        if self.away:
            raise Upstream("away")
        self.clock.time += self.takes_s
        return Response(self.status, {}, Body.of(b"{}"))


def routing(**regions):
    clock = next(iter(regions.values())).clock
    return MeasuredRouting("here", regions, {"near": 5.0, "far": 100.0}.__getitem__, clock, RegionSelector())


async def watched(found, steps):
    """Let the probes run while `steps` turns the clock."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(found.watch())
        await steps()
        task.cancel()


def test_before_the_first_sample_the_worlds_link_table_counts():
    found = routing(near=Region(Dial()))
    assert [(one.region, one.bucket, one.active, one.healthy, one.rtt_ms) for one in found.candidates(POINT)] == [
        ("near", "b-near", True, True, 5.0),
        ("far", "b-far", False, True, 100.0),
    ]


def test_a_probe_measures_the_way_there_and_back():
    async def scenario():
        near = Region(Dial(), takes_s=0.02)
        found = routing(near=near)

        async def steps():
            await settle(lambda: near.asked)

        await watched(found, steps)
        assert found.candidates(POINT)[0].rtt_ms == pytest.approx(20.0)
        assert near.asked[0].target == HEALTH

    asyncio.run(scenario())


def test_a_region_that_does_not_answer_is_down_after_a_few_probes_and_up_after_one():
    async def scenario():
        clock = Dial()
        near = Region(clock)
        near.away = True
        found = routing(near=near)

        async def steps():
            for count in range(1, FAILURES_MAX + 1):
                await settle(lambda count=count: len(near.asked) == count)
                await asyncio.sleep(0)
                assert found.healthy("near") == (count < FAILURES_MAX)
                near.away = count < FAILURES_MAX
                await settle(lambda: clock._sleepers)
                clock.advance(RETRY_S)
            await settle(lambda: found.healthy("near"))

        await watched(found, steps)

    asyncio.run(scenario())


def test_a_region_that_answers_is_asked_less_often_than_one_that_does_not():
    assert RETRY_S < PROBE_S


def test_an_answer_that_is_not_well_counts_as_none():
    async def scenario():
        near = Region(Dial())
        near.status = 503
        found = routing(near=near)

        async def steps():
            await settle(lambda: near.asked)

        await watched(found, steps)
        assert found.region_selector.rtt_ms("near") is None

    asyncio.run(scenario())


def test_the_choice_is_that_of_the_rules():
    found = routing(near=Region(Dial()))
    choice = found.choose("m.mrap", found.candidates(POINT))
    assert (choice.region, choice.bucket) == ("near", "b-near")
