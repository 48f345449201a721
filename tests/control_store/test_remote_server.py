"""Who is told the state, and what is taken as a proposal?"""

import asyncio

import msgspec
import pytest

from atoll.control_store import ControlStore
from atoll.control_store.remote_server import ControlStoreServer
from atoll.control_store.transaction_proposal import (
    NODE,
    STATE_PATH,
    TRANSACTION_PATH,
    KeyRead,
    PrefixRead,
    Proposal,
    Reply,
    Write,
    fingerprint,
    fingerprint_all,
)
from atoll.domain.caller import Caller, ForwardedContext
from atoll.domain.http_message import Body, Request


@pytest.fixture
def ask(tmp_path):
    """Puts one question to a fresh holder of the state."""
    state = ControlStore.open(tmp_path / "state.db")
    offer = ControlStoreServer(state, tmp_path / "state.db")

    def question(method, target, body=b"", forwarded=ForwardedContext("", secure=True, caller=NODE)):
        async def main():
            response = await offer(Request(method, target, {}, Body.of(body), forwarded=forwarded))
            return response.status, await response.body.read_small(10_000)

        return asyncio.run(main())

    yield question
    offer.close()
    state.close()


def proposed(**parts):
    whole = {"id": "1", "seen": 0, "reads": [], "prefix_reads": [], "writes": []} | parts
    return msgspec.msgpack.encode(Proposal(**whole))


def reply(response):
    status, document = response
    assert status == 200
    return msgspec.msgpack.decode(document, type=Reply)


@pytest.mark.parametrize(
    "forwarded",
    [
        None,
        ForwardedContext("10.0.0.1", secure=True),
        ForwardedContext("10.0.0.1", secure=True, caller=Caller("root", account="1")),
        ForwardedContext("10.0.0.1", secure=True, caller=Caller("service", service="s3.amazonaws.com")),
    ],
)
def test_only_nodes_are_told(ask, forwarded):
    assert ask("GET", f"{STATE_PATH}?since=0", forwarded=forwarded)[0] == 403
    assert ask("POST", TRANSACTION_PATH, proposed(), forwarded=forwarded)[0] == 403


@pytest.mark.parametrize("query", ["", "since=", "since=-1", "since=x", "since=9999999999999999999", "until=3"])
def test_a_question_without_a_version_is_refused(ask, query):
    assert ask("GET", f"{STATE_PATH}?{query}")[0] == 400


def test_a_version_that_is_not_there_yet_is_told_apart(ask):
    assert ask("GET", f"{STATE_PATH}?since=7")[0] == 409


@pytest.mark.parametrize("document", [b"", b"\xc1", msgspec.msgpack.encode({"id": "1"})])
def test_what_is_no_proposal_is_refused(ask, document):
    assert ask("POST", TRANSACTION_PATH, document)[0] == 400


def test_writes_are_made_and_told(ask):
    taken = reply(ask("POST", TRANSACTION_PATH, proposed(writes=[Write("thing", "a", b"{}")])))
    assert taken.taken
    assert [(row.kind, row.key, row.body) for row in taken.news.rows] == [("thing", "a", b"{}")]


def test_a_read_that_is_no_longer_so_stops_all_writes(ask):
    stale = proposed(reads=[KeyRead("thing", "a", fingerprint(b"old"))], writes=[Write("thing", "b", b"{}")])
    refused = reply(ask("POST", TRANSACTION_PATH, stale))
    assert (refused.taken, refused.news.rows) == (False, [])


def test_a_range_that_grew_stops_all_writes(ask):
    ask("POST", TRANSACTION_PATH, proposed(writes=[Write("thing", "a/1", b"{}")]))
    stale = proposed(id="2", prefix_reads=[PrefixRead("thing", "a/", fingerprint_all([]))], writes=[Write("thing", "b", b"{}")])
    assert not reply(ask("POST", TRANSACTION_PATH, stale)).taken


def test_reads_that_still_hold_let_the_writes_through(ask):
    ask("POST", TRANSACTION_PATH, proposed(writes=[Write("thing", "a/1", b"{}")]))
    fresh = proposed(
        id="2",
        reads=[KeyRead("thing", "a/1", fingerprint(b"{}")), KeyRead("thing", "none", fingerprint(None))],
        prefix_reads=[PrefixRead("thing", "a/", fingerprint_all([("a/1", b"{}")]))],
        writes=[Write("thing", "a/1", None)],
    )
    assert reply(ask("POST", TRANSACTION_PATH, fresh)).taken


def test_a_proposal_is_made_once_however_often_it_comes(ask):
    once = proposed(reads=[KeyRead("thing", "a", fingerprint(None))], writes=[Write("thing", "a", b"{}")])
    assert reply(ask("POST", TRANSACTION_PATH, once)).taken
    again = reply(ask("POST", TRANSACTION_PATH, once))
    assert (again.taken, again.news.upto) == (True, 1)


def test_marks_tell_where_one_record_ends_and_the_next_begins():
    assert fingerprint_all([("a", b"bc")]) != fingerprint_all([("ab", b"c")])
    assert fingerprint_all([("a", b""), ("b", b"")]) != fingerprint_all([("a", b"0 1 b")])
    assert fingerprint(None) != fingerprint(b"")
