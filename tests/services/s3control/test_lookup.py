import asyncio

import pytest

from atoll.domain.arn import access_point_arn
from atoll.domain.errors import ApiError
from atoll.services.s3control.operations import OPERATIONS
from services.s3control.points_world import ACCOUNT, OTHER

READS = [
    ("GetMultiRegionAccessPoint", {"Name": "demo"}),
    ("GetMultiRegionAccessPointPolicy", {"Name": "demo"}),
    ("GetMultiRegionAccessPointPolicyStatus", {"Name": "demo"}),
    ("GetMultiRegionAccessPointRoutes", {"Mrap": access_point_arn(ACCOUNT, "mfzwi23gnjvgw.mrap")}),
    ("SubmitMultiRegionAccessPointRoutes", {"Mrap": access_point_arn(ACCOUNT, "mfzwi23gnjvgw.mrap"), "RouteUpdates": []}),
]
CHANGES = [
    ("CreateMultiRegionAccessPoint", {"ClientToken": "t", "Details": {"Name": "demo", "Regions": [{"Bucket": "demo-us-east-1"}]}}),
    ("DeleteMultiRegionAccessPoint", {"ClientToken": "t", "Details": {"Name": "demo"}}),
    ("PutMultiRegionAccessPointPolicy", {"ClientToken": "t", "Details": {"Name": "demo", "Policy": "{}"}}),
    ("DescribeMultiRegionAccessPointOperation", {"RequestTokenARN": "arn"}),
    ("ListMultiRegionAccessPoints", {}),
]


@pytest.mark.parametrize(("operation", "members"), READS)
def test_a_point_that_is_not_there_is_404(world, operation, members):
    error = asyncio.run(world.refusal(operation, **members))
    assert (error.code, error.status) == ("NoSuchMultiRegionAccessPoint", 404)


@pytest.mark.parametrize(("operation", "members"), READS + CHANGES)
def test_another_account_is_refused(world, operation, members):
    error = asyncio.run(world.refusal(operation, **members, AccountId=OTHER))
    assert (error.code, error.status) == ("AccessDenied", 403)


@pytest.mark.parametrize(("operation", "members"), READS + CHANGES)
def test_the_wrong_region_is_a_redirect_without_an_endpoint_where_compat_is_strict(make, operation, members):
    error = asyncio.run(make(compat="strict").refusal(operation, "eu-central-1", **members))
    assert (error.code, error.status, error.details, error.headers) == ("PermanentRedirect", 301, {}, {})


@pytest.mark.parametrize(("compat", "scope"), [("strict", "us-west-2"), ("lenient", "eu-central-1")])
def test_the_right_region_answers_and_every_region_where_compat_is_lenient(make, compat, scope):
    output = asyncio.run(make(compat=compat).ask("ListMultiRegionAccessPoints", scope))
    assert output.members == {"AccessPoints": []}


@pytest.mark.parametrize("operation", ["GetMultiRegionAccessPointRoutes", "SubmitMultiRegionAccessPointRoutes"])
@pytest.mark.parametrize("what", ["demo", "alias", "", "random text", "arn:aws:s3:::bucket"])
def test_routes_are_asked_for_by_arn_alone(world, operation, what):
    async def conversation():
        mrap = await world.made()
        members = {"RouteUpdates": [{"Region": "us-east-1", "TrafficDialPercentage": 0}]} if operation.startswith("Submit") else {}
        return await world.refusal(operation, Mrap=mrap.alias if what == "alias" else what, **members)

    error = asyncio.run(conversation())
    assert (error.code, error.status) == ("InvalidRequest", 400)


def test_the_alias_of_a_point_under_another_account_is_not_found(world):
    async def conversation():
        mrap = await world.made()
        return await world.refusal("GetMultiRegionAccessPointRoutes", Mrap=access_point_arn(OTHER, mrap.alias))

    assert asyncio.run(conversation()).code == "NoSuchMultiRegionAccessPoint"


@pytest.mark.parametrize(("account", "code"), [(OTHER, "InvalidRequest"), (ACCOUNT, None)])
def test_a_host_that_names_an_account_names_the_one_that_is_meant(world, account, code):
    call = world.call("ListMultiRegionAccessPoints")
    call.request.headers["host"] = f"{account}.s3-control.us-west-2.amazonaws.com:443"

    async def ask():
        try:
            await OPERATIONS["ListMultiRegionAccessPoints"](world.deps, call, AccountId=ACCOUNT)
        except ApiError as refused:
            return refused.code

    assert asyncio.run(ask()) == code
