"""Requests among the processes of one region."""

import asyncio

import pytest

from atoll.domain.caller import Caller, ForwardedContext
from atoll.domain.errors import ApiError, Unreachable, Upstream
from atoll.domain.http_message import Body, Request, Response
from atoll.gateway.request_log import RequestIds
from atoll.gateway.write_forwarding import RETRY_S, WRITER_WAIT_S, UpToDate, Workers, WritesElsewhere
from s3world import Ticks


class Worker:
    """One process: what it was asked, and the errors with which it begins."""

    def __init__(self, name, *errors):
        self.name, self.errors, self.asked = name, list(errors), []

    async def __call__(self, request):
        self.asked.append(request)
        if self.errors:
            raise self.errors.pop(0)
        return Response(200, {"x-worker": self.name, "connection": "close"}, Body.of(b"done"))


def ask(handler, method, **more):
    return asyncio.run(handler(Request(method, "/b/k", {"host": "h"}, **more)))


def reading(inner, writer, clock=None):
    return WritesElsewhere(inner, writer, clock=clock or Ticks(0.0), ids=RequestIds(b"\0\0\0\1"))


def test_what_is_safe_goes_round_and_the_rest_to_the_writer():
    region = Workers([Worker("0"), Worker("1"), Worker("2")])
    assert [ask(region, "GET").headers["x-worker"] for _ in range(4)] == ["0", "1", "2", "0"]
    assert {ask(region, method).headers["x-worker"] for method in ("PUT", "POST", "DELETE", "PUT")} == {"0"}


def test_a_process_that_is_away_is_passed_over_by_what_is_safe():
    region = Workers([Worker("0", *[Unreachable("no")] * 9), Worker("1")])
    assert [ask(region, "GET").headers["x-worker"] for _ in range(3)] == ["1", "1", "1"]
    with pytest.raises(Unreachable):
        ask(region, "PUT")


def test_when_all_are_away_the_last_one_says_so():
    with pytest.raises(Unreachable, match="second"):
        ask(Workers([Worker("0", Unreachable("first")), Worker("1", Unreachable("second"))]), "GET")


def test_an_answer_that_broke_is_not_asked_of_another():
    other = Worker("1")
    with pytest.raises(Upstream):
        ask(Workers([Worker("0", Upstream("gone")), other]), "GET")
    assert other.asked == []


def test_a_reading_process_reads_itself_and_hands_on_what_changes_something():
    inner, writer = Worker("inner"), Worker("writer")
    handler = reading(inner, writer)
    assert ask(handler, "HEAD").headers["x-worker"] == "inner"
    output = ask(handler, "PUT", body=Body.of(b"abc"), peer="192.0.2.9", secure=True)
    assert output.headers == {"x-worker": "writer"}
    (asked,) = writer.asked
    assert asked.forwarded == ForwardedContext("192.0.2.9", secure=True)  # the writer verifies the client's signature itself
    assert asked.body.small == b"abc"


def test_what_another_process_vouched_for_is_vouched_for_again():
    vouched = ForwardedContext("192.0.2.7", secure=True, place="london", caller=Caller("root", "111122223333"), replica=True)
    writer = Worker("writer")
    ask(reading(Worker("inner"), writer), "PUT", forwarded=vouched)
    assert writer.asked[0].forwarded == vouched


def test_a_writer_that_is_being_started_again_is_waited_for():
    writer, clock = Worker("writer", *[Unreachable("no")] * 3), Ticks(0.0)
    assert ask(reading(Worker("inner"), writer, clock), "PUT").status == 200
    assert clock.now() == pytest.approx(3 * RETRY_S)


def test_a_writer_that_stays_away_is_service_unavailable():
    writer, clock = Worker("writer", *[Unreachable("no")] * 10_000), Ticks(0.0)
    output = ask(reading(Worker("inner"), writer, clock), "PUT")
    assert output.status == 503
    assert b"<Code>ServiceUnavailable</Code>" in output.body.small
    assert clock.now() == pytest.approx(WRITER_WAIT_S, abs=2 * RETRY_S)


def test_what_may_have_been_done_is_not_done_again():
    writer = Worker("writer", Upstream("the connection was lost"))
    assert ask(reading(Worker("inner"), writer), "PUT").status == 503
    assert len(writer.asked) == 1


def test_a_body_that_its_client_cut_is_the_clients_fault():
    writer = Worker("writer", ApiError("IncompleteBody", "cut"))
    assert ask(reading(Worker("inner"), writer), "PUT").status == 400


def test_control_state_is_brought_in_before_a_request_is_judged():
    order = []

    async def inner(request):
        order.append("judged")
        return Response(200)

    ask(UpToDate(inner, lambda: order.append("caught up")), "GET")
    assert order == ["caught up", "judged"]
