import asyncio
from datetime import UTC, datetime

import pytest

from services.s3control.points_world import ACCOUNT


@pytest.mark.parametrize("arn", ["", "tok123", f"arn:aws:s3:us-west-2:{ACCOUNT}:async-request/mrap/create/tok123"])
def test_an_unknown_token_is_404(world, arn):
    error = asyncio.run(world.refusal("DescribeMultiRegionAccessPointOperation", RequestTokenARN=arn))
    assert (error.code, error.status) == ("NoSuchAsyncRequest", 404)


def test_a_request_is_described_with_its_parameters_as_submitted(world):
    async def conversation():
        arn = await world.create(PublicAccessBlock={"BlockPublicAcls": False})
        return arn, await world.describe(arn)

    arn, found = asyncio.run(conversation())
    regions = [{"Bucket": "demo-us-east-1"}, {"Bucket": "demo-eu-central-1"}, {"Bucket": "demo-ap-northeast-1"}]
    assert found == {
        "CreationTime": datetime(2027, 1, 15, 8, 0, 0, 250_000, tzinfo=UTC),
        "Operation": "CreateMultiRegionAccessPoint",
        "RequestTokenARN": arn,
        "RequestParameters": {
            "CreateMultiRegionAccessPointRequest": {"Name": "demo", "PublicAccessBlock": {"BlockPublicAcls": False}, "Regions": regions}
        },
        "RequestStatus": "NEW",
    }


def test_requests_can_be_described_long_after_their_point_is_gone(world):
    async def conversation():
        await world.made()
        put, gone = await world.put_policy("{}"), await world.delete()
        world.clock.advance(400 * 24 * 3600)
        await world.settle()
        assert (await world.describe(put))["RequestParameters"] == {"PutMultiRegionAccessPointPolicyRequest": {"Name": "demo", "Policy": "{}"}}
        assert (await world.describe(gone))["RequestParameters"] == {"DeleteMultiRegionAccessPointRequest": {"Name": "demo"}}
        assert await world.outcome(gone) == ("SUCCEEDED", "")

    asyncio.run(conversation())
