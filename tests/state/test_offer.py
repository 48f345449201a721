"""Who is told the state, and what is taken as a proposal?"""

import asyncio

import msgspec
import pytest

from atoll.domain.caller import Caller, Onward
from atoll.domain.message import Body, Request
from atoll.state import State
from atoll.state.offer import Offer
from atoll.state.proposal import CHANGE_PATH, NODE, STATE_PATH, Proposal, Read, Reply, Span, Write, mark, mark_all


@pytest.fixture
def ask(tmp_path):
    """Puts one question to a fresh holder of the state."""
    state = State.open(tmp_path / "state.db")
    offer = Offer(state, tmp_path / "state.db")

    def question(method, target, body=b"", onward=Onward("", secure=True, caller=NODE)):
        async def main():
            answer = await offer(Request(method, target, {}, Body.of(body), onward=onward))
            return answer.status, await answer.body.read_small(10_000)

        return asyncio.run(main())

    yield question
    offer.close()
    state.close()


def proposed(**parts):
    whole = {"id": "1", "seen": 0, "reads": [], "spans": [], "writes": []} | parts
    return msgspec.msgpack.encode(Proposal(**whole))


def reply(answer):
    status, document = answer
    assert status == 200
    return msgspec.msgpack.decode(document, type=Reply)


@pytest.mark.parametrize(
    "onward",
    [
        None,
        Onward("10.0.0.1", secure=True),
        Onward("10.0.0.1", secure=True, caller=Caller("root", account="1")),
        Onward("10.0.0.1", secure=True, caller=Caller("service", service="s3.amazonaws.com")),
    ],
)
def test_only_nodes_are_told(ask, onward):
    assert ask("GET", f"{STATE_PATH}?since=0", onward=onward)[0] == 403
    assert ask("POST", CHANGE_PATH, proposed(), onward=onward)[0] == 403


@pytest.mark.parametrize("query", ["", "since=", "since=-1", "since=x", "since=9999999999999999999", "until=3"])
def test_a_question_without_a_version_is_refused(ask, query):
    assert ask("GET", f"{STATE_PATH}?{query}")[0] == 400


def test_a_version_that_is_not_there_yet_is_told_apart(ask):
    assert ask("GET", f"{STATE_PATH}?since=7")[0] == 409


@pytest.mark.parametrize("document", [b"", b"\xc1", msgspec.msgpack.encode({"id": "1"})])
def test_what_is_no_proposal_is_refused(ask, document):
    assert ask("POST", CHANGE_PATH, document)[0] == 400


def test_writes_are_made_and_told(ask):
    taken = reply(ask("POST", CHANGE_PATH, proposed(writes=[Write("thing", "a", b"{}")])))
    assert taken.taken
    assert [(row.kind, row.key, row.body) for row in taken.news.rows] == [("thing", "a", b"{}")]


def test_a_read_that_is_no_longer_so_stops_all_writes(ask):
    stale = proposed(reads=[Read("thing", "a", mark(b"old"))], writes=[Write("thing", "b", b"{}")])
    refused = reply(ask("POST", CHANGE_PATH, stale))
    assert (refused.taken, refused.news.rows) == (False, [])


def test_a_range_that_grew_stops_all_writes(ask):
    ask("POST", CHANGE_PATH, proposed(writes=[Write("thing", "a/1", b"{}")]))
    stale = proposed(id="2", spans=[Span("thing", "a/", mark_all([]))], writes=[Write("thing", "b", b"{}")])
    assert not reply(ask("POST", CHANGE_PATH, stale)).taken


def test_reads_that_still_hold_let_the_writes_through(ask):
    ask("POST", CHANGE_PATH, proposed(writes=[Write("thing", "a/1", b"{}")]))
    fresh = proposed(
        id="2",
        reads=[Read("thing", "a/1", mark(b"{}")), Read("thing", "none", mark(None))],
        spans=[Span("thing", "a/", mark_all([("a/1", b"{}")]))],
        writes=[Write("thing", "a/1", None)],
    )
    assert reply(ask("POST", CHANGE_PATH, fresh)).taken


def test_a_proposal_is_made_once_however_often_it_comes(ask):
    once = proposed(reads=[Read("thing", "a", mark(None))], writes=[Write("thing", "a", b"{}")])
    assert reply(ask("POST", CHANGE_PATH, once)).taken
    again = reply(ask("POST", CHANGE_PATH, once))
    assert (again.taken, again.news.upto) == (True, 1)


def test_marks_tell_where_one_record_ends_and_the_next_begins():
    assert mark_all([("a", b"bc")]) != mark_all([("ab", b"c")])
    assert mark_all([("a", b""), ("b", b"")]) != mark_all([("a", b"0 1 b")])
    assert mark(None) != mark(b"")
