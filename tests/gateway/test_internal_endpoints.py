import asyncio
import json

import pytest

from atoll.domain.caller import Caller, ForwardedContext
from atoll.domain.http_message import Body, Request, Response
from atoll.gateway.internal_endpoints import HEALTH, METRICS, InternalEndpoints
from atoll.gateway.metrics import Metrics

ACTION = "/_atoll/do"


async def inner(request):
    return Response(299)


def ask(path, host="127.0.0.1:4566", method="GET", body=b"", forwarded=None):
    received = []

    async def act(body):
        received.append(body)
        return b'{"done":1}'

    observed = InternalEndpoints(inner, Metrics("p"), lambda: {"process": "p", "ready": True}, {ACTION: act})
    response = asyncio.run(observed(Request(method, path, {"host": host}, Body.of(body), forwarded=forwarded)))
    return response, received


@pytest.mark.parametrize("host", ["127.0.0.1:4566", "localhost", "[::1]:4566"])
def test_health_is_answered_on_plain_addresses(host):
    response, _ = ask(HEALTH, host)
    assert response.status == 200
    assert json.loads(response.body.small) == {"process": "p", "ready": True}


def test_metrics_are_the_page_that_prometheus_reads():
    response, _ = ask(METRICS)
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert b"# TYPE atoll_requests_total counter" in response.body.small


def test_an_aws_name_with_such_a_path_is_an_ordinary_request():
    assert ask(HEALTH, "bucket.s3.us-east-1.amazonaws.com")[0].status == 299
    assert ask(HEALTH, "example.test")[0].status == 299


def test_other_paths_are_passed_on():
    assert ask("/bucket/_atoll/health")[0].status == 299


def test_an_unknown_page_says_which_there_are():
    response, _ = ask("/_atoll/other")
    assert response.status == 404
    assert HEALTH.encode() in response.body.small
    assert b"<Code>NoSuchKey</Code>" in response.body.small


def test_an_action_is_for_processes_of_this_world():
    response, received = ask(ACTION, method="POST", body=b"x", forwarded=ForwardedContext("127.0.0.1", False))
    assert (response.status, response.body.small, received) == (200, b'{"done":1}', [b"x"])


@pytest.mark.parametrize(("method", "forwarded"), [("POST", None), ("GET", ForwardedContext("127.0.0.1", False))])
def test_an_action_without_an_envelope_or_a_post_is_none(method, forwarded):
    response, received = ask(ACTION, method=method, forwarded=forwarded)
    assert (response.status, received) == (404, [])


@pytest.mark.parametrize("path", [ACTION, HEALTH])
def test_what_a_place_carries_for_a_client_is_never_an_action_nor_a_page(path):
    """Path style through an access point leaves the key alone in the path: /ALIAS/_atoll/do."""
    carried = ForwardedContext("192.0.2.4", True, place="tokyo", caller=Caller("user", "111122223333"), access_point="arn", bucket="demo")
    response, received = ask(path, method="POST", body=b"x", forwarded=carried)
    assert (response.status, received) == (299, [])
