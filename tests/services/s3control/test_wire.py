"""The documents of real clients, through the codec and the operations."""

import asyncio

import pytest

from atoll.aws_protocols.codec import codec
from atoll.domain.http_message import Body, Request
from atoll.services.s3control.operations import OPERATIONS
from services.s3control.points_world import ACCOUNT

CODEC = codec("s3control")
NS = "http://awss3control.amazonaws.com/doc/2018-08-20/"
ASYNC, MRAPS = "/v20180820/async-requests/mrap", "/v20180820/mrap/instances"


async def ask(world, method, target, document=""):
    request = Request(method, target, {"x-amz-account-id": ACCOUNT}, Body.of(document.encode()))
    route = CODEC.route(method, request.path, request.query, request.headers)
    params = CODEC.read(route, request, document.encode(), request.body)
    output = await OPERATIONS[route.operation](world.deps, world.call(route.operation), **params)
    return (await CODEC.write(route.operation, output, "R").body.read_small(100_000)).decode()


def inside(text, name):
    return text.partition(f"<{name}>")[2].partition(f"</{name}>")[0]


CREATE = (
    f'<CreateMultiRegionAccessPointRequest xmlns="{NS}"><ClientToken>t1</ClientToken><Details><Name>demo</Name><Regions>'
    "<Region><Bucket>demo-us-east-1</Bucket></Region><Region><Bucket>demo-eu-central-1</Bucket></Region></Regions></Details>"
    "</CreateMultiRegionAccessPointRequest>"
)
CREATE_OF_JS = (
    f'<?xml version="1.0" encoding="UTF-8"?><CreateMultiRegionAccessPointRequest xmlns="{NS}"><Details><Name>demo</Name><Regions>'
    "<Region><Bucket>demo-us-east-1</Bucket></Region><Region><Bucket>demo-eu-central-1</Bucket></Region></Regions></Details>"
    "<ClientToken>t1</ClientToken></CreateMultiRegionAccessPointRequest>"
)


@pytest.mark.parametrize("document", [CREATE, CREATE_OF_JS])
def test_create_is_polled_to_its_end(world, document):
    async def conversation():
        arn = inside(await ask(world, "POST", f"{ASYNC}/create", document), "RequestTokenARN")
        world.clock.advance(1)
        await world.settle()
        return await ask(world, "GET", f"{ASYNC}/{arn.replace(':', '%3A')}"), await ask(world, "GET", f"{MRAPS}/demo")

    described, shown = asyncio.run(conversation())
    assert inside(described, "RequestStatus") == "SUCCEEDED"
    assert "<Region><Name>us-east-1</Name><RequestStatus>SUCCEEDED</RequestStatus></Region>" in described
    assert inside(shown, "Status") == "READY"
    assert f"<BucketAccountId>{ACCOUNT}</BucketAccountId>" in shown


def test_both_orders_of_elements_are_the_same_request(world):
    async def conversation():
        return [inside(await ask(world, "POST", f"{ASYNC}/create", document), "RequestTokenARN") for document in (CREATE, CREATE_OF_JS)]

    first, second = asyncio.run(conversation())
    assert first == second


def test_an_escaped_policy_comes_back_byte_for_byte(world):
    async def conversation():
        mrap = await world.made()
        policy = (
            '{"Statement":[{"Sid":"a","Effect":"Deny","Principal":"*","Action":"s3:GetObject",'
            f'"Resource":"{mrap.arn}/object/a&lt;b&amp;c"}}]}}'
        )
        document = (
            f'<PutMultiRegionAccessPointPolicyRequest xmlns="{NS}"><ClientToken>t2</ClientToken><Details><Name>demo</Name>'
            f"<Policy>{policy}</Policy></Details></PutMultiRegionAccessPointPolicyRequest>"
        )
        await ask(world, "POST", f"{ASYNC}/put-policy", document)
        world.clock.advance(1)
        await world.settle()
        return world.mrap().established.text, await ask(world, "GET", f"{MRAPS}/demo/policy"), policy

    kept, shown, policy = asyncio.run(conversation())
    assert kept == policy.replace("&lt;", "<").replace("&amp;", "&")
    assert inside(shown, "Established").replace("&quot;", '"') == f"<Policy>{policy}</Policy>"


def test_routes_are_patched_by_the_arn_in_the_path(world):
    async def conversation():
        mrap = await world.made()
        target = f"{MRAPS}/{mrap.arn.replace(':', '%3A')}/routes"
        document = (
            f'<SubmitMultiRegionAccessPointRoutesRequest xmlns="{NS}"><RouteUpdates><Route><Region>us-east-1</Region>'
            "<TrafficDialPercentage>0</TrafficDialPercentage></Route></RouteUpdates></SubmitMultiRegionAccessPointRoutesRequest>"
        )
        await ask(world, "PATCH", target, document)
        return await ask(world, "GET", target)

    shown = asyncio.run(conversation())
    assert "<Bucket>demo-us-east-1</Bucket><Region>us-east-1</Region><TrafficDialPercentage>0</TrafficDialPercentage>" in shown
