import asyncio
import json

import pytest

from atoll.rules.policy.public_access import PublicAccess
from atoll.services.s3control.access_points import account_block
from atoll.services.s3control.records import ACCOUNT_BLOCKS, AccountBlockRecord
from services.s3control.points_world import ACCOUNT, OTHER, REGIONS


async def with_policy(world, **details):
    mrap = await world.made(**details)
    statement = {"Effect": "Allow", "Principal": {"AWS": OTHER}, "Action": "s3:GetObject", "Resource": f"{mrap.arn}/object/*"}
    await world.put_policy(json.dumps({"Version": "2012-10-17", "Statement": statement}))
    world.clock.advance(1)
    await world.settle()
    return world.mrap()


def test_a_point_is_found_by_its_alias_and_by_its_arn(world):
    mrap = asyncio.run(world.made())
    assert world.mraps.by_alias(mrap.alias) is mrap
    assert world.mraps.by_arn(mrap.arn) is mrap
    assert mrap.arn == f"arn:aws:s3::{ACCOUNT}:accesspoint/{mrap.alias}"


def test_a_point_offers_what_the_data_plane_asks_for(world):
    mrap = asyncio.run(world.made())
    assert (mrap.account, mrap.serving) == (ACCOUNT, True)
    assert mrap.members == {region: f"demo-{region}" for region in REGIONS}
    assert mrap.traffic_dials == dict.fromkeys(REGIONS, 100)


@pytest.mark.parametrize("alias", ["", "demo", "mfzwi23gnjvgw.mrap"])
def test_nothing_else_is_an_alias(world, alias):
    asyncio.run(world.made())
    assert world.mraps.by_alias(alias) is None


@pytest.mark.parametrize("arn", ["", "demo", "arn:aws:s3:::bucket", f"arn:aws:s3::{ACCOUNT}:accesspoint/demo"])
def test_nothing_else_is_an_arn(world, arn):
    asyncio.run(world.made())
    assert world.mraps.by_arn(arn) is None
    assert world.mraps.protection(arn) is None


def test_a_point_of_that_alias_under_another_account_is_not_ours(world):
    mrap = asyncio.run(world.made())
    assert world.mraps.by_arn(mrap.arn.replace(ACCOUNT, OTHER)) is None


def test_a_bucket_is_attached_from_create_until_the_point_is_gone(world):
    async def conversation():
        result = [world.mraps.attached("demo-us-east-1", ACCOUNT)]
        await world.create(regions=("us-east-1",))
        result.append(world.mraps.attached("demo-us-east-1", ACCOUNT))
        world.clock.advance(1)
        await world.settle()
        await world.delete()
        result.append(world.mraps.attached("demo-us-east-1", ACCOUNT))
        world.clock.advance(1)
        await world.settle()
        return [*result, world.mraps.attached("demo-us-east-1", ACCOUNT)]

    assert asyncio.run(conversation()) == [False, True, True, False]
    assert not world.mraps.attached("demo-eu-central-1", ACCOUNT)


def test_the_guard_is_the_owner_the_established_policy_and_the_block(world):
    mrap = asyncio.run(with_policy(world, PublicAccessBlock={"RestrictPublicBuckets": True}))
    guarded, policy = world.mraps.protection(mrap.arn)
    assert guarded.account == ACCOUNT
    assert policy.source == "access point policy of demo"
    assert policy.policy.statements[0].principal.accounts == {OTHER}
    assert guarded.block == PublicAccess(restrict_public_buckets=True)


def test_the_guard_is_the_same_object_until_the_record_changes(world):
    mrap = asyncio.run(with_policy(world))
    first = world.mraps.protection(mrap.arn)
    assert world.mraps.protection(mrap.arn) is first
    asyncio.run(world.routes({"Region": "us-east-1", "TrafficDialPercentage": 0}))
    assert world.mraps.protection(mrap.arn) is not first


def test_a_point_that_does_not_serve_guards_nothing(world):
    async def conversation():
        await world.create()
        result = [world.mraps.protection(world.mrap().arn)]
        world.clock.advance(1)
        await world.settle()
        await world.delete()
        return [*result, world.mraps.protection(world.mrap().arn)]

    assert asyncio.run(conversation()) == [None, None]


def test_a_guard_that_was_kept_goes_with_its_point(world):
    async def conversation():
        mrap = await with_policy(world)
        result = [world.mraps.protection(mrap.arn) is not None]
        await world.delete()
        result.append(world.mraps.protection(mrap.arn) is not None)
        world.clock.advance(1)
        await world.settle()
        await world.made()
        return [*result, world.mraps.protection(mrap.arn) is not None, world.mraps.protection(world.mrap().arn)]

    assert asyncio.run(conversation()) == [True, False, False, (world.mrap(), None)]


def test_a_bucket_is_held_by_access_points_of_its_own_account_alone(world):
    """S3 user guide: a bucket of another account may be deleted under an access point."""
    asyncio.run(world.made())
    assert [world.mraps.attached("demo-us-east-1", account) for account in (ACCOUNT, OTHER)] == [True, False]


def test_an_account_without_a_public_access_block_blocks_nothing(world):
    assert account_block(world.state, ACCOUNT) == PublicAccess()
    record = AccountBlockRecord(PublicAccess(block_public_policy=True))
    asyncio.run(world.state.transact(lambda transaction: transaction.put(ACCOUNT_BLOCKS, ACCOUNT, record)))
    assert account_block(world.state, ACCOUNT) is account_block(world.state, ACCOUNT)
    assert (account_block(world.state, ACCOUNT), account_block(world.state, OTHER)) == (record.block, PublicAccess())
