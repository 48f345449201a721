import asyncio

import pytest

from atoll.services.s3control.async_request_start import CLIENT_TOKEN_KEPT_MS
from atoll.services.s3control.records import CLIENT_TOKENS, REQUESTS


def test_the_same_request_with_the_same_client_token_is_one_request(world):
    async def conversation():
        first = await world.create(token="t")
        await world.settle(1)
        world.clock.advance(1)
        await world.settle(1)
        assert await world.create(token="t") == first
        assert len(world.state.items(REQUESTS)) == 1

    asyncio.run(conversation())


def test_it_is_one_request_also_when_its_bucket_has_gone_meanwhile(world):
    async def conversation():
        first = await world.create(token="t")
        world.buckets.clear()
        assert await world.create(token="t") == first

    asyncio.run(conversation())


def test_two_that_arrive_together_are_one_request(world):
    async def conversation():
        async with asyncio.TaskGroup() as group:
            twins = [group.create_task(world.create(token="t")) for _ in range(5)]
        assert len({twin.result() for twin in twins}) == 1
        assert len(world.state.items(REQUESTS)) == 1

    asyncio.run(conversation())


def test_a_delete_is_one_request_for_all_who_send_its_client_token_also_when_it_is_done(world):
    async def conversation():
        await world.create(token="c")
        await world.settle(5)
        async with asyncio.TaskGroup() as group:
            twins = [group.create_task(world.delete(token="d")) for _ in range(5)]
        await world.settle(5)
        again = await world.delete(token="d")
        assert {twin.result() for twin in twins} == {again}
        assert len(world.state.items(REQUESTS)) == 2

    asyncio.run(conversation())


def test_another_request_with_the_same_client_token_is_a_conflict(world):
    async def conversation():
        await world.create(token="t")
        details = {"Name": "other", "Regions": [{"Bucket": "demo-us-east-1"}]}
        return await world.refusal("CreateMultiRegionAccessPoint", ClientToken="t", Details=details)

    error = asyncio.run(conversation())
    assert (error.code, error.status) == ("ClientTokenConflict", 409)


def test_a_client_token_belongs_to_its_operation(world):
    async def conversation():
        created = await world.create(token="t")
        assert await world.delete(token="t") != created

    asyncio.run(conversation())


def test_a_client_token_is_kept_for_a_day(world):
    async def conversation():
        first = await world.create(token="t")
        world.clock.advance(CLIENT_TOKEN_KEPT_MS / 1000 - 1)
        assert await world.create(token="t") == first
        world.clock.advance(1)
        assert await world.create(token="t") != first
        assert len(world.state.items(CLIENT_TOKENS)) == 1

    asyncio.run(conversation())


def test_client_tokens_that_nobody_can_repeat_any_more_are_dropped(world):
    async def conversation():
        await world.create(token="old")
        world.clock.advance(CLIENT_TOKEN_KEPT_MS / 1000)
        await world.delete("elsewhere", token="new")
        assert [key.rpartition("/")[2] for key, _ in world.state.items(CLIENT_TOKENS)] == ["new"]

    asyncio.run(conversation())


@pytest.mark.parametrize("token", ["a b", "a" * 65, "tab\t", "\n"])
def test_a_client_token_has_64_characters_at_most_and_no_blanks(world, token):
    details = {"Name": "demo", "Regions": [{"Bucket": "demo-us-east-1"}]}
    error = asyncio.run(world.refusal("CreateMultiRegionAccessPoint", ClientToken=token, Details=details))
    assert error.code == "InvalidRequest"


@pytest.mark.parametrize("operation", ["CreateMultiRegionAccessPoint", "DeleteMultiRegionAccessPoint", "PutMultiRegionAccessPointPolicy"])
@pytest.mark.parametrize("details", [{}, {"Name": "Upper"}, {"Name": "a/b"}, {"Name": "ab"}])
def test_a_name_that_cannot_be_is_refused_at_once(world, operation, details):
    assert asyncio.run(world.refusal(operation, ClientToken="t", Details=details)).code == "InvalidRequest"


def test_a_failure_is_told_through_the_token_with_the_request_that_met_it(world):
    async def conversation():
        await world.made()
        arn = await world.create()
        assert await world.outcome(arn) == ("NEW", "")
        world.clock.advance(1)
        await world.settle(1)
        found = await world.describe(arn)
        assert found["RequestStatus"] == "FAILED"
        error = found["ResponseDetails"]["ErrorDetails"]
        assert (error["Code"], error["Resource"], error["RequestId"]) == ("MultiRegionAccessPointAlreadyOwnedByYou", "demo", "REQUEST1")
        assert "MultiRegionAccessPointDetails" not in found["ResponseDetails"]

    asyncio.run(conversation())


def test_tokens_of_all_verbs_have_the_form_that_was_seen(world):
    async def conversation():
        arns = [await world.create(), await world.delete(), await world.put_policy("{}")]
        assert [arn.split("/")[-2] for arn in arns] == ["create", "delete", "put-policy"]
        assert len({arn.rpartition("/")[2] for arn in arns}) == 3

    asyncio.run(conversation())
