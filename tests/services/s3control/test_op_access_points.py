import asyncio
from datetime import UTC, datetime

import pytest

from atoll.domain.quotas import MRAPS_MAX
from atoll.services.s3control.records import ALIASES, MRAPS
from services.s3control.points_world import ACCOUNT, REGIONS


def test_a_new_point_has_an_alias_at_once_and_shows_what_was_asked_for(world):
    async def conversation():
        await world.create()
        return (await world.ask("GetMultiRegionAccessPoint", Name="demo")).members["AccessPoint"], world.mrap()

    shown, record = asyncio.run(conversation())
    assert shown == {
        "Name": "demo",
        "Alias": record.alias,
        "CreatedAt": datetime(2027, 1, 15, 8, 0, 0, 250_000, tzinfo=UTC),
        "PublicAccessBlock": {"BlockPublicAcls": True, "IgnorePublicAcls": True, "BlockPublicPolicy": True, "RestrictPublicBuckets": True},
        "Status": "CREATING",
        "Regions": [{"Bucket": f"demo-{region}", "Region": region, "BucketAccountId": ACCOUNT} for region in REGIONS],
    }
    assert record.traffic_dials == dict.fromkeys(REGIONS, 100)


@pytest.mark.parametrize("status", ["CREATING", "READY", "DELETING"])
def test_a_name_in_use_fails_through_the_token(world, status):
    async def conversation():
        await world.create()
        if status != "CREATING":
            world.clock.advance(1)
            await world.settle()
        if status == "DELETING":
            await world.delete()
        assert await world.status() == status
        arn = await world.create(regions=REGIONS[:1])
        await world.reconciler().step()
        world.clock.advance(0.2)
        await world.settle()
        assert await world.outcome(arn) == ("FAILED", "MultiRegionAccessPointAlreadyOwnedByYou")

    asyncio.run(conversation())


def test_a_partially_created_point_is_not_mended_by_another_create(world):
    async def conversation():
        await world.create()
        del world.buckets["demo-eu-central-1"]
        world.clock.advance(1)
        await world.settle()
        arn = await world.create(regions=("us-east-1",))
        world.clock.advance(1)
        await world.settle()
        assert await world.outcome(arn) == ("FAILED", "MultiRegionAccessPointAlreadyOwnedByYou")
        assert await world.status() == "PARTIALLY_CREATED"

    asyncio.run(conversation())


def test_a_partially_created_point_can_be_deleted(world):
    async def conversation():
        await world.create()
        del world.buckets["demo-eu-central-1"]
        world.clock.advance(1)
        await world.settle()
        arn = await world.delete()
        world.clock.advance(1)
        await world.settle()
        assert (await world.outcome(arn), world.mrap()) == (("SUCCEEDED", ""), None)

    asyncio.run(conversation())


@pytest.mark.parametrize(
    ("before", "code"),
    [
        ("", "NoSuchMultiRegionAccessPoint"),
        ("create", "MultiRegionAccessPointModifiedByAnotherRequest"),
        ("delete", "MultiRegionAccessPointModifiedByAnotherRequest"),
    ],
)
def test_a_delete_that_cannot_be_fails_through_the_token(world, before, code):
    async def conversation():
        if before:
            await world.create()
        if before == "delete":
            world.clock.advance(1)
            await world.settle()
            await world.delete()
        arn = await world.delete()
        world.clock.advance(1)
        await world.settle()
        assert await world.outcome(arn) == ("FAILED", code)

    asyncio.run(conversation())


def test_an_alias_that_was_ever_given_out_is_not_given_out_again(world):
    async def conversation():
        first = await world.made()
        await world.delete()
        world.clock.advance(1)
        await world.settle()
        assert world.state.get(ALIASES, first.alias).mrap == ""
        world.deps.random_bytes.rolls = 0
        second = await world.made()
        assert second.alias != first.alias

    asyncio.run(conversation())


def test_an_account_has_a_hundred_points_and_not_one_more(world):
    async def conversation():
        for number in range(MRAPS_MAX):
            await world.create(f"demo-{number}", regions=REGIONS[:1])
        details = {"Name": "one-more", "Regions": [{"Bucket": "demo-us-east-1"}]}
        return await world.refusal("CreateMultiRegionAccessPoint", ClientToken="t", Details=details)

    error = asyncio.run(conversation())
    assert (error.code, error.status) == ("TooManyMultiRegionAccessPoints", 400)
    assert len(world.state.items(MRAPS)) == MRAPS_MAX


@pytest.mark.parametrize(("size", "pages"), [(None, [5]), (5, [5]), (2, [2, 2, 1]), (1000, [5])])
def test_points_are_listed_by_name_page_by_page(world, size, pages):
    async def conversation():
        for name in ("eve", "ann", "dan", "bob", "cyd"):
            await world.create(name, regions=REGIONS[:1])
        token, found = None, []
        for _ in pages:
            output = await world.ask("ListMultiRegionAccessPoints", MaxResults=size, NextToken=token)
            token = output.members.get("NextToken")
            found.append([mrap["Name"] for mrap in output.members["AccessPoints"]])
        assert token is None
        return found

    found = asyncio.run(conversation())
    assert [len(page) for page in found] == pages
    assert sum(found, []) == ["ann", "bob", "cyd", "dan", "eve"]


@pytest.mark.parametrize("members", [{"MaxResults": 0}, {"NextToken": "%%%"}, {"NextToken": "/w=="}, {"NextToken": "é"}])
def test_paging_that_makes_no_sense_is_refused(world, members):
    assert asyncio.run(world.refusal("ListMultiRegionAccessPoints", **members)).code == "InvalidArgument"
