import asyncio

import pytest

from atoll.rules.policy.public_access import PublicAccess
from atoll.services.s3control.access_point_buckets import block_of, members_of
from atoll.services.s3control.async_request_start import Failed
from services.s3control.points_world import ACCOUNT, OTHER


def test_members_are_found_by_their_buckets(world):
    world.buckets["theirs"] = ("ap-northeast-1", OTHER)
    found = members_of(world.deps, ACCOUNT, [{"Bucket": "demo-us-east-1"}, {"Bucket": "theirs", "BucketAccountId": OTHER}])
    assert found.buckets == {"us-east-1": "demo-us-east-1", "ap-northeast-1": "theirs"}
    assert found.owners == {"us-east-1": ACCOUNT, "ap-northeast-1": OTHER}


@pytest.mark.parametrize(
    ("regions", "code"),
    [
        ([{"Bucket": "nowhere"}], "NoSuchBucket"),
        ([{"Bucket": "demo-us-east-1"}, {"Bucket": "second"}], "MultiRegionAccessPointSameBucketRegion"),
        ([{"Bucket": "demo-us-east-1"}, {"Bucket": "demo-us-east-1"}], "MultiRegionAccessPointSameBucketRegion"),
        ([{"Bucket": "moon"}], "MultiRegionAccessPointUnsupportedRegion"),
        ([{"Bucket": "demo-us-east-1", "BucketAccountId": OTHER}], "AccessDenied"),
    ],
)
def test_what_is_wrong_with_a_bucket_is_told_through_the_token(world, regions, code):
    world.buckets["second"] = ("us-east-1", ACCOUNT)
    world.buckets["moon"] = ("moon-east-1", ACCOUNT)
    found = members_of(world.deps, ACCOUNT, regions)
    assert isinstance(found, Failed)
    assert found.code == code

    async def conversation():
        arn = await world.submit("CreateMultiRegionAccessPoint", Name="demo", Regions=regions)
        world.clock.advance(1)
        await world.settle()
        assert await world.outcome(arn) == ("FAILED", code)
        assert world.mrap() is None

    asyncio.run(conversation())


@pytest.mark.parametrize(("compat", "region", "fit"), [("strict", "af-south-1", False), ("strict", "sa-east-1", True), ("lenient", "sa-east-1", False)])
def test_strict_points_live_in_the_seventeen_regions_lenient_ones_in_those_of_the_world(make, compat, region, fit):
    world = make(compat=compat)
    world.buckets["far"] = (region, ACCOUNT)
    assert isinstance(members_of(world.deps, ACCOUNT, [{"Bucket": "far"}]), Failed) is not fit


@pytest.mark.parametrize("regions", [[], [{}], [{"Bucket": ""}]])
def test_a_point_without_buckets_is_refused_at_once(world, regions):
    error = asyncio.run(world.refusal("CreateMultiRegionAccessPoint", ClientToken="t", Details={"Name": "demo", "Regions": regions}))
    assert (error.code, error.status) == ("InvalidRequest", 400)


def test_too_many_regions_are_refused_at_once_in_aws_own_spelling(world):
    details = {"Name": "demo", "Regions": [{"Bucket": f"b-{number}"} for number in range(21)]}
    error = asyncio.run(world.refusal("CreateMultiRegionAccessPoint", ClientToken="t", Details=details))
    assert (error.code, error.status) == ("TooManyMultiRegionAccessPointregionsError", 400)


@pytest.mark.parametrize(
    ("given", "block"),
    [
        (None, PublicAccess(True, True, True, True)),
        ({}, PublicAccess(False, False, False, False)),
        ({"BlockPublicPolicy": True}, PublicAccess(False, False, True, False)),
        ({"BlockPublicAcls": True, "IgnorePublicAcls": False, "RestrictPublicBuckets": True}, PublicAccess(True, False, False, True)),
    ],
)
def test_the_public_access_block_is_on_unless_something_else_is_said(given, block):
    assert block_of(given) == block
