import asyncio

import pytest

from atoll.domain.caller import ForwardedContext
from atoll.domain.http_message import Request, Response
from atoll.processes.mrap_alias_routing import MrapAliasRouter, entry_router, is_alias_request, routing


async def region(request):
    return Response(201)


async def entered(request):
    return Response(202)


@pytest.mark.parametrize(
    ("host", "target", "expected"),
    [
        ("s3.us-east-1.amazonaws.com", "/mabc.mrap/k", True),
        ("mabc.mrap.s3.us-east-1.amazonaws.com", "/k", True),
        ("127.0.0.1:4566", "/mabc.mrap", True),
        ("s3.us-east-1.amazonaws.com", "/bucket/folder/x.mrap", False),
        ("bucket.s3.us-east-1.amazonaws.com", "/mabc.mrap/k", False),
        ("s3.us-east-1.amazonaws.com", "/bucket/k", False),
    ],
)
def test_an_alias_is_one_only_where_a_bucket_stands(host, target, expected):
    assert is_alias_request(Request("GET", target, {"host": host})) is expected


def ask(forwarded=None, target="/mabc.mrap/k"):
    return asyncio.run(MrapAliasRouter(region, entered)(Request("GET", target, {"host": "s3.us-east-1.amazonaws.com"}, forwarded=forwarded))).status


def test_it_is_taken_for_the_access_point():
    assert ask() == 202
    assert ask(target="/bucket/k") == 201


def test_what_another_process_carries_here_was_chosen_already():
    assert ask(ForwardedContext("127.0.0.1", False, bucket="member")) == 201


def test_a_region_sees_the_others_from_where_it_is(make):
    async def scenario():
        made = await make("eu-central-1")
        paths = routing(made.shared, {})
        found = entry_router(made.shared, paths, {}, None)
        made.shared.state.close()
        assert (found.place, found.nearest[:2]) == ("eu-central-1", ("eu-central-1", "us-east-1"))
        assert paths.expected_ms("us-east-1") == 90.6
        assert found.mraps("mabc.mrap") is None
        assert found.bucket_region("none") is None

    asyncio.run(scenario())
