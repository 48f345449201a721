"""Every step does nothing when it is already done, or when there is nothing that it could be done to."""

import asyncio
import json

import pytest

from atoll.services.s3control import async_request_steps
from atoll.services.s3control.records import REQUESTS, WORK
from services.s3control.points_world import ACCOUNT, REGIONS

KEY = f"{ACCOUNT}/demo"
STEPS = {
    "start": lambda transaction: async_request_steps.start(transaction, "arn"),
    "finish": lambda transaction: async_request_steps.finish(transaction, "arn", (), ()),
    "acknowledge": lambda transaction: async_request_steps.acknowledge(transaction, KEY, "us-east-1", 1),
    "reroute": lambda transaction: async_request_steps.apply_routes(transaction, KEY, 1),
}


def did(world, step):
    before = world.state.version
    return asyncio.run(world.state.transact(step)), world.state.version > before


@pytest.mark.parametrize("name", STEPS)
def test_what_is_not_there_is_left_alone(world, name):
    assert did(world, STEPS[name]) == (False, False)


def test_a_request_starts_once_and_ends_once(world):
    arn = asyncio.run(world.create())
    start, finish = lambda c: async_request_steps.start(c, arn), lambda c: async_request_steps.finish(c, arn, (), ())
    assert [did(world, step) for step in (finish, start, start, finish, finish, start)] == [
        (False, False), (True, True), (False, False), (True, True), (False, False), (False, False),
    ]  # fmt: skip
    assert world.state.get(REQUESTS, arn).status == "SUCCEEDED"
    assert world.state.items(WORK) == []
    assert world.mrap().status == "READY"


def test_a_region_acknowledges_a_version_once_and_never_an_older_one(world):
    asyncio.run(world.made())
    acknowledge = [lambda c, v=version: async_request_steps.acknowledge(c, KEY, "us-east-1", v) for version in (2, 2, 1)]
    assert [did(world, step)[0] for step in acknowledge] == [True, False, False]
    assert world.mrap().acknowledged == {"us-east-1": 2}


def test_routes_that_were_submitted_again_meanwhile_do_not_take_effect_twice(world):
    asyncio.run(world.made())
    asyncio.run(world.routes({"Region": "us-east-1", "TrafficDialPercentage": 0}))
    asyncio.run(world.routes({"Region": "us-east-1", "TrafficDialPercentage": 100}, {"Region": "eu-central-1", "TrafficDialPercentage": 0}))
    steps = [lambda c, v=version: async_request_steps.apply_routes(c, KEY, v) for version in (1, 2, 2)]
    assert [did(world, step)[0] for step in steps] == [False, True, False]
    assert world.mrap().traffic_dials == {"us-east-1": 100, "eu-central-1": 0, "ap-northeast-1": 100}


def test_a_point_is_behind_where_its_last_policy_was_not_seen(world):
    mrap = asyncio.run(world.made())
    assert async_request_steps.regions_behind(mrap) == []
    policy = {"Statement": {"Effect": "Deny", "Principal": "*", "Action": "s3:*", "Resource": mrap.arn}}
    asyncio.run(world.put_policy(json.dumps(policy)))
    assert async_request_steps.regions_behind(world.mrap()) == list(REGIONS)
    did(world, lambda c: async_request_steps.acknowledge(c, KEY, "us-east-1", 1))
    assert async_request_steps.regions_behind(world.mrap()) == list(REGIONS[1:])
