"""The way from a gate into the region of its own process, and CONNECT at a node (tests/processes/test_serve_place.py has the rest)."""

import asyncio

import pytest

from atoll.domain.caller import ForwardedContext
from atoll.domain.http_message import Body, Request, Response
from atoll.processes.standalone_entry import LocalRegion


async def seen_by_region(request):
    """What the region is given."""
    given = []

    async def region(inner):
        given.append(inner)
        return Response(204)

    assert (await LocalRegion(region)(request)).status == 204
    return given[0]


async def pieces():
    yield b"piece"


@pytest.mark.parametrize(
    ("body", "framing"),
    [(Body.of(b"abc"), ("content-length", "3")), (Body(pieces(), None), ("transfer-encoding", "chunked")), (Body(pieces(), 5), ("content-length", "5"))],
)
def test_a_body_says_how_it_ends_as_it_would_on_a_connection(body, framing):
    given = asyncio.run(seen_by_region(Request("PUT", "/b/k", {"host": "h"}, body, forwarded=ForwardedContext("10.0.0.9", secure=True))))
    assert given.headers == {"host": "h", framing[0]: framing[1]}


def test_the_region_sees_the_client_and_not_the_gate():
    forwarded = ForwardedContext("10.0.0.9", secure=True, place="tokyo")
    given = asyncio.run(seen_by_region(Request("GET", "/b", {}, arrived=5.0, forwarded=forwarded)))
    assert (given.peer, given.secure, given.forwarded, given.arrived) == ("10.0.0.9", True, forwarded, 5.0)


def test_a_question_without_an_envelope_stays_as_it_is():
    request = Request("GET", "/_atoll/health", {"host": "127.0.0.1"})
    assert asyncio.run(seen_by_region(request)) is request
