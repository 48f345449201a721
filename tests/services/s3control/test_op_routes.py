import asyncio

import pytest

from atoll.domain.errors import ApiError
from services.s3control.points_world import REGIONS


def shown(output):
    return {route["Region"]: (route["Bucket"], route["TrafficDialPercentage"]) for route in output.members["Routes"]}


def test_all_routes_are_active_at_creation(world):
    async def conversation():
        await world.create()
        return world.mrap().arn, await world.ask("GetMultiRegionAccessPointRoutes", Mrap=world.mrap().arn)

    arn, output = asyncio.run(conversation())
    assert output.members["Mrap"] == arn
    assert shown(output) == {region: (f"demo-{region}", 100) for region in REGIONS}


def test_a_failover_swaps_an_active_and_a_passive_region_in_one_request(world):
    async def conversation():
        mrap = await world.made()
        await world.routes({"Region": "eu-central-1", "TrafficDialPercentage": 0})
        output = await world.routes(
            {"Bucket": "demo-us-east-1", "TrafficDialPercentage": 0},
            {"Bucket": "demo-eu-central-1", "Region": "eu-central-1", "TrafficDialPercentage": 100},
        )
        assert output.members == {}
        result = shown(await world.ask("GetMultiRegionAccessPointRoutes", Mrap=mrap.arn))
        await world.settle()
        assert world.mrap().traffic_dials == {region: traffic_dial for region, (_, traffic_dial) in result.items()}
        return world.mrap().traffic_dials

    assert asyncio.run(conversation()) == {"us-east-1": 0, "eu-central-1": 100, "ap-northeast-1": 100}


def refused(world, *updates, regions=REGIONS):
    async def conversation():
        await world.made(regions=regions)
        with pytest.raises(ApiError) as error:
            await world.routes(*updates)
        return error.value

    return asyncio.run(conversation())


def test_the_last_active_route_is_refused(world):
    error = refused(world, *({"Region": region, "TrafficDialPercentage": 0} for region in REGIONS))
    assert (error.code, error.status) == ("InvalidRequest", 400)
    assert "one route must stay active" in error.message


@pytest.mark.parametrize(
    "update",
    [
        {"Region": "us-east-1", "TrafficDialPercentage": 50},
        {"Region": "us-east-1"},
        {"TrafficDialPercentage": 0},
        {"Region": "us-east-1", "Bucket": "demo-eu-central-1", "TrafficDialPercentage": 0},
    ],
)
def test_updates_that_make_no_sense_are_refused(world, update):
    assert refused(world, update).code == "InvalidRequest"


def test_one_region_cannot_fail_over(world):
    error = refused(world, {"Region": "us-east-1", "TrafficDialPercentage": 0}, regions=("us-east-1",))
    assert (error.code, error.status) == ("MethodNotAllowed", 405)


def test_of_updates_that_overlap_the_first_one_wins(world):
    async def attempt(region):
        try:
            await world.routes({"Region": region, "TrafficDialPercentage": 0})
        except ApiError as error:
            return error.code, error.status
        return "done", 200

    async def conversation():
        await world.made()
        async with asyncio.TaskGroup() as group:
            attempts = [group.create_task(attempt(region)) for region in REGIONS]
        await world.settle()
        return [one.result() for one in attempts], world.mrap().traffic_dials

    results, traffic_dials = asyncio.run(conversation())
    assert results == [("done", 200), ("OperationAborted", 409), ("OperationAborted", 409)]
    assert traffic_dials == {"us-east-1": 0, "eu-central-1": 100, "ap-northeast-1": 100}


def test_routes_of_a_point_that_is_not_ready_stay(world):
    async def conversation():
        await world.create()
        with pytest.raises(ApiError) as error:
            await world.routes({"Region": "us-east-1", "TrafficDialPercentage": 0})
        return error.value

    error = asyncio.run(conversation())
    assert error.code == "InvalidRequest"
    assert "CREATING" in error.message
