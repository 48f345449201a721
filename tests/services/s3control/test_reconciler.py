import asyncio
import json

import pytest

from atoll.control_store import ControlStore
from atoll.services.s3control.async_request_steps import regions_behind
from atoll.services.s3control.reconciler import ACKNOWLEDGE_MAX_S, RETRY_S
from atoll.services.s3control.records import WORK
from services.s3control.points_world import ACCOUNT, OTHER, REGIONS, until


def policy(arn, principal=OTHER):
    statement = {"Effect": "Allow", "Principal": {"AWS": principal}, "Action": "s3:GetObject", "Resource": f"{arn}/object/*"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def test_create_is_polled_from_new_to_succeeded_and_the_point_becomes_ready(world):
    async def conversation():
        arn = await world.create()
        result = [await world.outcome(arn)]
        assert (await world.status(), world.mrap().serving) == ("CREATING", False)
        async with world.running():
            await until(lambda: world.events and world.clock.sleepers)
            result.append(await world.outcome(arn))
            assert "ResponseDetails" not in await world.describe(arn)
            world.clock.advance(0.2)
            await until(lambda: world.mrap().serving)
            result.append(await world.outcome(arn))
        assert result == [("NEW", ""), ("INPROGRESS", ""), ("SUCCEEDED", "")]
        assert await world.status() == "READY"
        regions = (await world.describe(arn))["ResponseDetails"]["MultiRegionAccessPointDetails"]["Regions"]
        assert regions == [{"Name": region, "RequestStatus": "SUCCEEDED"} for region in REGIONS]

    asyncio.run(conversation())


def test_two_reconcilers_of_one_region_do_each_step_once(world):
    async def conversation():
        async with world.running("us-east-1", "us-east-1", "us-east-1"):
            await world.create()
            await until(lambda: world.events and world.clock.sleepers)
            world.clock.advance(0.2)
            await until(lambda: world.mrap().serving)
            await asyncio.sleep(0.02)
        assert [event["event"] for event in world.events] == ["request started", "request ended"]

    asyncio.run(conversation())


def test_a_request_outlives_the_process_that_began_it(world):
    async def conversation():
        arn = await world.create()
        await world.reconciler("us-east-1").step()
        world.clock.advance(60)
        await world.reconciler("eu-central-1").step()
        assert await world.outcome(arn) == ("SUCCEEDED", "")

    asyncio.run(conversation())


@pytest.mark.parametrize(("profile", "early_s", "late_s"), [("native", 0.19, 0.02), ("aws", 179, 1)])
def test_a_request_takes_its_time(make, profile, early_s, late_s):
    async def conversation():
        world = make(profile=profile)
        arn = await world.create()
        world.clock.advance(early_s)
        await world.settle()
        assert await world.outcome(arn) == ("INPROGRESS", "")
        world.clock.advance(late_s)
        await world.settle()
        assert await world.outcome(arn) == ("SUCCEEDED", "")

    asyncio.run(conversation())


def test_a_world_may_say_how_long_it_takes(make):
    async def conversation():
        world = make(profile="aws")
        world.create_delay_s = 3.0
        arn = await world.create()
        for seconds, wanted in ((2.9, "INPROGRESS"), (0.1, "SUCCEEDED")):
            world.clock.advance(seconds)
            await world.settle()
            assert await world.outcome(arn) == (wanted, "")

    asyncio.run(conversation())


def test_a_bucket_that_went_away_meanwhile_leaves_the_point_partially_created_and_a_second_try_mends_it(world):
    async def conversation():
        arn = await world.create()
        lost = world.buckets.pop("demo-eu-central-1")
        await world.settle(1)
        world.clock.advance(1)
        await world.settle(1)
        assert (await world.outcome(arn), await world.status()) == (("FAILED", "NoSuchBucket"), "PARTIALLY_CREATED")
        regions = (await world.describe(arn))["ResponseDetails"]["MultiRegionAccessPointDetails"]["Regions"]
        assert {row["Name"]: row["RequestStatus"] for row in regions}["eu-central-1"] == "FAILED"
        alias = world.mrap().alias
        world.buckets["demo-eu-central-1"] = lost
        again = await world.create()
        await world.settle(1)
        world.clock.advance(1)
        await world.settle(1)
        assert (await world.outcome(again), await world.status(), world.mrap().alias) == (("SUCCEEDED", ""), "READY", alias)

    asyncio.run(conversation())


def test_a_deleted_point_is_gone_its_name_free_and_its_alias_burnt(world):
    async def conversation():
        first = await world.made()
        arn = await world.delete()
        assert await world.status() == "DELETING"
        assert not world.mrap().serving
        await world.settle(1)
        world.clock.advance(0.2)
        await world.settle(1)
        assert await world.outcome(arn) == ("SUCCEEDED", "")
        assert (await world.refusal("GetMultiRegionAccessPoint", Name="demo")).code == "NoSuchMultiRegionAccessPoint"
        second = await world.made()
        assert second.alias != first.alias
        assert world.mraps.by_alias(first.alias) is None
        assert world.mraps.by_arn(first.arn) is None
        assert world.mraps.by_alias(second.alias) is second

    asyncio.run(conversation())


def test_a_policy_is_established_when_every_region_has_seen_it(world):
    async def conversation():
        mrap = await world.made()
        text = policy(mrap.arn)
        arn = await world.put_policy(text)
        found = (await world.ask("GetMultiRegionAccessPointPolicy", Name="demo")).members["Policy"]
        assert found == {"Proposed": {"Policy": text}}
        assert world.mraps.protection(mrap.arn)[1] is None
        await world.settle(1)
        world.clock.advance(0.2)
        await world.settle(1)
        assert await world.outcome(arn) == ("SUCCEEDED", "")
        found = (await world.ask("GetMultiRegionAccessPointPolicy", Name="demo")).members["Policy"]
        assert found == {"Established": {"Policy": text}, "Proposed": {"Policy": text}}
        assert world.mraps.protection(mrap.arn)[1].policy.statements

    asyncio.run(conversation())


def test_the_old_policy_counts_while_a_newer_one_is_proposed(world):
    async def conversation():
        mrap = await world.made()
        await world.put_policy(policy(mrap.arn))
        world.clock.advance(1)
        await world.settle()
        before = world.mraps.protection(mrap.arn)[1].policy.statements[0].principal.accounts
        await world.put_policy(policy(mrap.arn, ACCOUNT))
        assert world.mraps.protection(mrap.arn)[1].policy.statements[0].principal.accounts == before
        world.clock.advance(1)
        await world.settle()
        assert world.mraps.protection(mrap.arn)[1].policy.statements[0].principal.accounts == {ACCOUNT}

    asyncio.run(conversation())


def test_a_region_that_is_down_delays_a_policy_but_does_not_stop_it(world):
    async def conversation():
        mrap = await world.made()
        text = policy(mrap.arn)
        arn = await world.put_policy(text)
        alive = [world.reconciler(region) for region in REGIONS[:2]]
        for one in alive:
            await one.step()
        world.clock.advance(ACKNOWLEDGE_MAX_S - 0.1)
        assert await alive[0].step() == pytest.approx(0.1, abs=0.01)
        assert await world.outcome(arn) == ("INPROGRESS", "")
        world.clock.advance(0.2)
        await alive[0].step()
        assert (await world.outcome(arn), await world.status()) == (("SUCCEEDED", ""), "INCONSISTENT_ACROSS_REGIONS")
        assert world.mrap().established.text == text
        assert world.mrap().serving
        await world.reconciler(REGIONS[2]).step()
        assert (await world.status(), regions_behind(world.mrap())) == ("READY", [])

    asyncio.run(conversation())


def test_of_two_policies_that_overlap_the_later_one_wins(world):
    async def conversation():
        mrap = await world.made()
        first = await world.put_policy(policy(mrap.arn))
        second = await world.put_policy(policy(mrap.arn, ACCOUNT))
        world.clock.advance(1)
        await world.settle()
        assert await world.outcome(first) == ("FAILED", "MultiRegionAccessPointModifiedByAnotherRequest")
        assert await world.outcome(second) == ("SUCCEEDED", "")
        assert world.mrap().established.text == policy(mrap.arn, ACCOUNT)

    asyncio.run(conversation())


def test_a_policy_of_a_point_that_is_deleted_meanwhile_fails(world):
    async def conversation():
        mrap = await world.made()
        arn = await world.put_policy(policy(mrap.arn))
        await world.delete()
        world.clock.advance(1)
        await world.settle()
        assert await world.outcome(arn) == ("FAILED", "MultiRegionAccessPointModifiedByAnotherRequest")
        assert world.mrap() is None

    asyncio.run(conversation())


def test_routes_take_effect_at_once_where_nothing_slows_them(world):
    async def conversation():
        await world.made()
        async with world.running("us-east-1"):
            await world.routes({"Region": "us-east-1", "TrafficDialPercentage": 0})
            await until(lambda: world.mrap().traffic_dials["us-east-1"] == 0)
        assert world.mrap().traffic_dials == {"us-east-1": 0, "eu-central-1": 100, "ap-northeast-1": 100}

    asyncio.run(conversation())


def test_routes_take_two_minutes_where_we_are_as_slow_as_aws(make):
    async def conversation():
        world = make(profile="aws")
        mrap = await world.made()
        await world.routes({"Region": "us-east-1", "TrafficDialPercentage": 0})
        await world.settle()
        assert world.mrap().traffic_dials == mrap.traffic_dials
        result = (await world.ask("GetMultiRegionAccessPointRoutes", Mrap=mrap.arn)).members["Routes"]
        assert {route["Region"]: route["TrafficDialPercentage"] for route in result}["us-east-1"] == 0
        world.clock.advance(119)
        assert await world.reconciler().step() == pytest.approx(1, abs=0.01)
        world.clock.advance(1)
        await world.settle()
        assert world.mrap().traffic_dials["us-east-1"] == 0

    asyncio.run(conversation())


def test_nothing_to_do_waits_for_news_only(world):
    async def conversation():
        await world.made()
        assert await world.reconciler().step() is None
        assert world.state.items(WORK) == []

    asyncio.run(conversation())


def test_a_state_file_that_is_away_is_waited_for(make, tmp_path):
    async def conversation():
        path = tmp_path / "state.db"
        world = make(state=ControlStore.open(path))
        arn = await world.create()
        path.rename(tmp_path / "elsewhere")
        async with world.running("us-east-1"):
            await until(lambda: world.clock.sleepers)
            assert [event["event"] for event in world.events] == ["access points wait"]
            (tmp_path / "elsewhere").rename(path)
            world.clock.advance(RETRY_S)
            await until(lambda: len(world.events) == 3)
        assert await world.outcome(arn) == ("SUCCEEDED", "")

    asyncio.run(conversation())


def test_a_region_in_another_process_finishes_what_this_one_took_in(make, tmp_path):
    async def conversation():
        path = tmp_path / "state.db"
        deps, there = make(state=ControlStore.open(path)), make(state=ControlStore.open(path))
        arn = await deps.create()
        assert await there.outcome(arn) == ("NEW", "")
        there.clock.advance(1)
        await there.settle()
        assert await deps.outcome(arn) == ("SUCCEEDED", "")
        assert await deps.status() == "READY"

    asyncio.run(conversation())
