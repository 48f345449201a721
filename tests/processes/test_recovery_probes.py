import asyncio

import pytest

from atoll.domain.errors import Upstream
from atoll.domain.http_message import Body, Response
from atoll.processes.recovery_probes import ASK_S, RecoveryProbes, is_healthy
from net.servers import Dial, settle


class Region:
    def __init__(self):
        self.away, self.status, self.asked = False, 200, 0

    async def __call__(self, request):
        self.asked += 1
        if self.away:
            raise Upstream("away")
        return Response(self.status, {}, Body.of(b"{}"))


@pytest.mark.parametrize(("away", "status", "expected"), [(False, 200, True), (False, 500, False), (True, 200, False)])
def test_well_is_who_answers_that_it_is_well(away, status, expected):
    region = Region()
    region.away, region.status = away, status
    assert asyncio.run(is_healthy(region, 5.0)) is expected


def test_who_takes_too_long_is_away():
    async def never(request):
        await asyncio.Event().wait()

    assert asyncio.run(is_healthy(never, 0.001)) is False


def test_a_return_is_told_once_and_only_after_an_absence():
    async def scenario():
        clock, region, result = Dial(), Region(), []

        async def step(asked):
            await settle(lambda: region.asked == asked and clock._sleepers)
            clock.advance(ASK_S)

        async with asyncio.TaskGroup() as group:
            task = group.create_task(RecoveryProbes({"us-west-2": region}, result.append, clock).watch())
            await step(1)
            region.away = True
            await step(2)
            await step(3)
            assert result == []
            region.away = False
            await step(4)
            assert result == ["us-west-2"]
            await step(5)
            task.cancel()
        assert result == ["us-west-2"]

    asyncio.run(scenario())
