"""Heads, and bodies that never look whole when they are not."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from atoll.domain.errors import ApiError, Incomplete
from atoll.domain.http_message import EMPTY, Body, Response
from atoll.net.http1_serializer import (
    WRITE_HIGH_BYTES,
    DateAndServer,
    TransportWriter,
    request_head,
    response_head,
    send_stream,
    sends_body,
)
from net.endpoints import connected, say, until_end
from net.servers import PATIENCE_S

EPOCH = "Date: Thu, 01 Jan 1970 00:00:00 GMT"
UNKNOWN = Body(aiter(EMPTY), None)


def lines(head):
    assert head.endswith(b"\r\n\r\n")
    return head.decode("latin-1")[:-4].split("\r\n")


def head(response, method="GET", *, keep=True, chunkable=True):
    return lines(response_head(response, DateAndServer(lambda: 0.9), method=method, keep=keep, chunkable=chunkable))


def test_a_head_says_what_it_is_when_and_from_whom():
    assert head(Response(404, {"x-a": "b"}, Body.of(b"no"))) == ["HTTP/1.1 404 Not Found", "x-a: b", "Content-Length: 2", EPOCH, "Server: AtollS3"]


def test_a_status_without_a_name_keeps_its_space():
    assert head(Response(499))[0] == "HTTP/1.1 499 "


def test_a_body_of_unknown_length_is_chunked_or_ends_with_the_connection():
    assert "Transfer-Encoding: chunked" in head(Response(200, {}, UNKNOWN))
    result = head(Response(200, {}, UNKNOWN), keep=False, chunkable=False)
    assert result[1:] == ["Connection: close", EPOCH, "Server: AtollS3"]


def test_framing_that_came_with_an_answer_is_replaced_by_ours():
    given = {"Content-Length": "99", "Transfer-Encoding": "gzip", "Connection": "keep-alive", "Keep-Alive": "timeout=5", "x-a": "b"}
    assert head(Response(200, given, Body.of(b"hello")))[1:3] == ["x-a: b", "Content-Length: 5"]


@pytest.mark.parametrize(("status", "method", "result"), [(200, "HEAD", True), (304, "GET", True), (204, "GET", False)])
def test_the_length_of_the_body_that_is_not_sent_stays_where_http_allows_it(status, method, result):
    assert ("content-length: 99" in head(Response(status, {"content-length": "99"}), method)) is result


def test_which_answers_have_a_body():
    assert [sends_body(*case) for case in ((200, "GET"), (200, "HEAD"), (204, "GET"), (304, "GET"), (100, "PUT"))] == [True, False, False, False, False]


def test_a_forwarded_answer_keeps_the_date_and_the_name_of_its_origin():
    result = head(Response(200, {"date": "yesterday", "server": "AmazonS3"}))
    assert result[1:] == ["date: yesterday", "server: AmazonS3", "Content-Length: 0"]


def test_the_date_goes_on_with_the_clock():
    seconds = iter([0.0, 0.9, 1.0])
    date_and_server = DateAndServer(lambda: next(seconds), "me")
    assert [date_and_server.lines()[23:31] for _ in range(3)] == ["00:00:00", "00:00:00", "00:00:01"]


@pytest.mark.parametrize("value", ["a\r\nx-forged: 1", "a\nb", "a\rb", "a\0b", "\u2603"])
def test_what_would_split_or_garble_a_head_is_refused(value):
    with pytest.raises(ValueError):
        head(Response(200, {"x-a": value}))
    with pytest.raises(ValueError):
        request_head("GET", "/", {"x-a": value}, "")


def test_a_line_break_in_the_target_is_refused():
    with pytest.raises(ValueError):
        request_head("GET", "/ HTTP/1.1\r\nx: y", {}, "")


def test_a_request_goes_on_without_what_was_meant_for_the_first_hop():
    given = {"host": "h", "connection": "close, X-Mine", "x-mine": "1", "te": "trailers", "expect": "100-continue", "content-length": "3", "range": "bytes=0-1"}
    assert lines(request_head("GET", "/k?a=b", given, "Content-Length: 7\r\n")) == ["GET /k?a=b HTTP/1.1", "host: h", "range: bytes=0-1", "Content-Length: 7"]


# -- the way out


class Near(asyncio.Protocol):
    def __init__(self, patience_s):
        self.patience_s, self.received = patience_s, asyncio.get_running_loop().create_future()

    def connection_made(self, transport):
        self.writer = TransportWriter(transport, self.patience_s)

    def data_received(self, data):
        self.received.set_result(data)

    def pause_writing(self):
        self.writer.pause()

    def resume_writing(self):
        self.writer.resume()

    def connection_lost(self, exc):
        self.writer.lose()


@asynccontextmanager
async def writer(patience_s=PATIENCE_S):
    near = Near(patience_s)
    async with connected(near) as (_, peer):
        yield near, near.writer, peer


MUCH = bytes(32 * WRITE_HIGH_BYTES)  # more than the kernel takes for a peer that does not read


def test_a_sender_waits_until_the_peer_takes_more():
    async def run():
        async with writer() as (_, out, peer), asyncio.TaskGroup() as group:
            out.write(MUCH)
            assert out.full
            hearing = group.create_task(until_end(peer))
            await out.drain()
            assert not out.full
            out.transport.close()
        assert len(hearing.result()) == len(MUCH)

    asyncio.run(run())


def test_a_peer_that_takes_nothing_is_given_up():
    async def run():
        async with writer(0.01) as (_, out, _peer):
            out.write(MUCH)
            with pytest.raises(Incomplete, match="took nothing"):
                await out.drain()

    asyncio.run(run())


def test_who_waits_for_a_peer_that_goes_is_told():
    async def run():
        async with writer() as (_, out, peer):
            out.write(MUCH)
            asyncio.get_running_loop().call_soon(peer.close)
            with pytest.raises(Incomplete, match="broke"):
                await out.drain()
            with pytest.raises(Incomplete, match="gone"):
                out.write(b"more")

    asyncio.run(run())


def test_an_end_is_heard_and_the_peer_may_still_speak():
    async def run():
        async with writer() as (near, out, peer):
            out.write(b"bye")
            out.end()
            assert await until_end(peer) == b"bye"
            await say(peer, b"one more thing")
            assert await near.received == b"one more thing"

    asyncio.run(run())


def test_breaking_off_cannot_be_mistaken_for_an_end():
    async def run():
        async with writer() as (_, out, peer):
            out.break_off()
            with pytest.raises(ConnectionResetError):
                await until_end(peer)

    asyncio.run(run())


def of(*pieces, length=None, then=None):
    async def arriving():
        for piece in pieces:
            yield piece
        if then is not None:
            raise then

    return Body(arriving(), length)


def sent(body, *, chunked=False, raises=None):
    """What the peer hears of a body before the connection is closed."""

    async def run():
        async with writer() as (_, out, peer):
            if raises is None:
                await send_stream(out, body, chunked=chunked)
            else:
                with pytest.raises(raises):
                    await send_stream(out, body, chunked=chunked)
            out.transport.close()
            return await until_end(peer)

    return asyncio.run(run())


def test_a_body_goes_out_as_it_is_or_in_chunks():
    assert sent(of(b"he", b"", b"llo", length=5)) == b"hello"
    assert sent(of(b"he", b"", b"llo world, hello"), chunked=True) == b"2\r\nhe\r\n10\r\nllo world, hello\r\n0\r\n\r\n"


def test_a_body_of_known_length_may_go_out_in_chunks_and_loses_nothing():
    assert sent(of(b"he", b"llo", length=5), chunked=True) == b"2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"


def test_a_check_that_fails_behind_the_last_byte_leaves_the_body_cut():
    assert sent(of(b"he", b"llo", length=5, then=ApiError("BadDigest")), raises=ApiError) == b"he"
    assert sent(of(b"he", then=ApiError("BadDigest")), chunked=True, raises=ApiError) == b"2\r\nhe\r\n"


@pytest.mark.parametrize("pieces", [(b"he", b"llo", b"!"), (b"he", b"llo!")])
def test_a_body_that_is_longer_than_it_said_is_cut(pieces):
    assert sent(of(*pieces, length=5), raises=Incomplete) == b"he"


def test_a_body_that_is_shorter_than_it_said_is_not_completed():
    assert sent(of(b"hell", length=5), raises=Incomplete) == b"hell"
