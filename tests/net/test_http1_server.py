import asyncio

import pytest

from atoll.domain.errors import ApiError, Incomplete, Upstream
from atoll.domain.http_message import Body, Response
from atoll.net.http1_server_connection import Limits
from net.servers import PATIENCE_S, Dial, echo, serving, settle, wire_to

MiB = 1024 * 1024
GET = b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n"


async def pieces(*parts):
    for part in parts:
        yield part


def put(length, *extra):
    return b"\r\n".join([b"PUT /k HTTP/1.1", b"Host: h", b"Content-Length: %d" % length, *extra, b"", b""])


async def refuses(request):
    return Response(403, {}, Body.of(b"no"))


def test_a_small_request_is_answered_and_the_connection_kept(run):
    async def main():
        async with serving(echo) as (_, port), wire_to(port) as wire:
            wire.send(put(3) + b"abc")
            assert (await wire.response())[2] == b"abc"
            wire.send(b"GET /b//c?x=%2F HTTP/1.1\r\nHost: h\r\n\r\n")
            status, headers, _ = await wire.response()
            assert (status, headers["x-target"]) == (200, "/b//c?x=%2F")

    run(main())


def test_requests_sent_ahead_are_answered_in_order(run):
    async def main():
        gates = {"/1": asyncio.Event(), "/2": asyncio.Event()}

        async def handler(request):
            await gates[request.target].wait()
            return Response(200, {}, Body.of(request.target.encode()))

        async with serving(handler) as (_, port), wire_to(port) as wire:
            wire.send(GET.replace(b"/a", b"/1") + GET.replace(b"/a", b"/2"))
            gates["/2"].set()
            gates["/1"].set()
            assert (await wire.response())[2] == b"/1"
            assert (await wire.response())[2] == b"/2"

    run(main())


def test_more_requests_sent_ahead_than_the_limit_are_all_answered(run):
    async def main():
        async with serving(echo, limits=Limits(ahead=4)) as (_, port), wire_to(port) as wire:
            wire.send(GET * 50)
            assert [(await wire.response())[0] for _ in range(50)] == [200] * 50

    run(main())


def test_the_date_is_of_the_clock_and_the_server_has_a_name(run):
    async def main():
        async with serving(echo) as (_, port), wire_to(port) as wire:
            wire.send(GET)
            _, headers, _ = await wire.response()
            assert headers["date"] == "Mon, 12 Jan 1970 13:46:40 GMT"
            assert headers["server"] == "AtollS3"

    run(main())


def test_the_absolute_form_becomes_a_path_and_its_host_wins(run):
    async def main():
        async with serving(echo) as (_, port), wire_to(port) as wire:
            wire.send(b"GET http://1.2.3.4:80?a=b HTTP/1.1\r\nHost: other\r\n\r\n")
            _, headers, _ = await wire.response()
            assert (headers["x-target"], headers["x-host"]) == ("/?a=b", "1.2.3.4:80")

    run(main())


@pytest.mark.parametrize("chunks", [b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n", b"3\r\nabc\r\n2\r\nde\r\n0\r\nx-trailer: 1\r\n\r\n"])
def test_a_chunked_body_is_decoded(run, chunks):
    async def main():
        async with serving(echo) as (_, port), wire_to(port) as wire:
            wire.send(b"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + GET)
            assert (await wire.response())[2] == b"abcde"
            assert (await wire.response())[0] == 200

    run(main())


def test_a_large_body_is_streamed_whole(run):
    body = bytes(range(256)) * 12_000

    async def main():
        async with serving(echo) as (_, port), wire_to(port) as wire:
            wire.send(put(len(body)) + body)
            assert (await wire.response())[2] == body

    run(main())


def test_a_handler_that_does_not_read_makes_the_sender_wait(run):
    async def main():
        gate, seen = asyncio.Event(), []

        async def handler(request):
            await gate.wait()
            async for piece in request.body:
                seen.append(len(piece))
            return Response(200)

        async with serving(handler) as (_, port), wire_to(port) as wire:
            wire.send(put(64 * MiB) + bytes(64 * MiB))
            await settle(lambda: wire.writer.transport.get_write_buffer_size() < 64 * MiB - MiB)
            assert wire.writer.transport.get_write_buffer_size() > 32 * MiB
            gate.set()
            assert (await wire.response())[0] == 200
            assert sum(seen) == 64 * MiB

    run(main())


def test_a_body_that_breaks_off_is_incomplete(run):
    async def main():
        seen = asyncio.get_running_loop().create_future()

        async def handler(request):
            try:
                async for _ in request.body:
                    pass
            except Incomplete as error:
                seen.set_result(error)
            return Response(200)

        async with serving(handler) as (_, port), wire_to(port) as wire:
            wire.send(put(MiB) + b"x" * 1000)
            wire.reset()
            assert isinstance(await seen, Incomplete)

    run(main())


def test_a_client_that_half_closes_after_its_request_is_answered(run):
    async def main():
        async with serving(echo) as (_, port), wire_to(port) as wire:
            wire.send(put(3) + b"abc")
            wire.half_close()
            assert (await wire.rest()).endswith(b"abc")

    run(main())


# ---- Expect: 100-continue


def test_100_continue_is_sent_when_the_handler_reads_and_not_before(run):
    async def main():
        gate = asyncio.Event()

        async def handler(request):
            await gate.wait()
            return await echo(request)

        async with serving(handler) as (server, port), wire_to(port) as wire:
            wire.send(put(3, b"Expect: 100-continue"))
            await settle(lambda: len(server) == 1)
            gate.set()
            assert (await wire.head())[0] == 100
            wire.send(b"abc")
            assert (await wire.response())[2] == b"abc"

    run(main())


def test_an_early_answer_comes_without_100_and_the_connection_is_used_again_without_the_body(run):
    """botocore does not send the body after a final answer: its next bytes are a request line."""

    async def main():
        async with serving(refuses) as (_, port), wire_to(port) as wire:
            wire.send(put(5 * MiB, b"Expect: 100-continue"))
            status, headers, body = await wire.response()
            assert (status, "connection" in headers, body) == (403, False, b"no")
            wire.send(GET)
            assert (await wire.response())[0] == 403

    run(main())


def test_a_client_that_expects_but_does_not_wait_gets_past_its_body(run):
    async def main():
        async with serving(refuses) as (_, port), wire_to(port) as wire:
            wire.send(put(100_000, b"Expect: 100-continue") + b"x")
            assert (await wire.response())[0] == 403
            wire.send(b"x" * 99_999 + GET)
            assert (await wire.response())[0] == 403

    run(main())


def test_another_expectation_is_refused(run):
    async def main():
        async with serving(echo) as (_, port), wire_to(port) as wire:
            wire.send(put(3, b"Expect: miracles") + b"abc")
            assert (await wire.rest()).startswith(b"HTTP/1.1 417 ")

    run(main())


# ---- early answers


def test_an_unread_body_is_skipped_and_the_connection_kept(run):
    async def main():
        async with serving(refuses) as (_, port), wire_to(port) as wire:
            wire.send(put(500_000) + b"x" * 500_000 + GET)
            assert (await wire.response())[0] == 403
            assert (await wire.response())[0] == 403

    run(main())


def test_a_large_unread_body_ends_the_connection_after_the_answer_was_read(run):
    async def main():
        async with serving(refuses) as (_, port), wire_to(port) as wire:
            wire.send(put(8 * MiB) + b"x" * (2 * MiB))
            status, headers, body = await wire.response()
            assert (status, headers["connection"], body) == (403, "close", b"no")
            wire.send(b"x" * (6 * MiB))
            assert await wire.rest() == b""

    run(main())


def test_an_endless_unread_chunked_body_ends_the_connection(run):
    async def main():
        async with serving(refuses) as (_, port), wire_to(port) as wire:
            wire.send(b"PUT /k HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + b"100000\r\n" + b"x" * MiB + b"\r\n")
            assert (await wire.response())[0] == 403
            wire.send(b"100000\r\n" + b"x" * MiB + b"\r\n")
            wire.half_close()
            assert await wire.rest() == b""

    run(main())


# ---- answers


def test_a_body_of_unknown_length_is_chunked(run):
    async def main():
        async def handler(request):
            return Response(200, {}, Body(pieces(b"ab", b"", b"c"), None))

        async with serving(handler) as (_, port), wire_to(port) as wire:
            wire.send(GET)
            status, headers, body = await wire.response()
            assert (status, headers["transfer-encoding"], body) == (200, "chunked", b"abc")

    run(main())


def test_http_1_0_is_answered_by_closing(run):
    async def main():
        async def handler(request):
            return Response(200, {}, Body(pieces(b"ab", b"c"), None))

        async with serving(handler) as (_, port), wire_to(port) as wire:
            wire.send(b"GET / HTTP/1.0\r\n\r\n")
            response = await wire.rest()
            assert b"chunked" not in response
            assert response.endswith(b"\r\n\r\nabc")

    run(main())


@pytest.mark.parametrize(("version", "status"), [("0.9", 505), ("1.1", 200), ("1.2", 400), ("2.0", 505)])
@pytest.mark.parametrize("connection", ["", "Connection: keep-alive\r\n", "Proxy-Connection: keep-alive\r\n"])
def test_only_versions_that_we_speak_are_answered(run, version, connection, status):
    async def main():
        async def handler(request):
            return Response()

        async with serving(handler) as (_, port), wire_to(port) as wire:
            wire.send(f"GET / HTTP/{version}\r\nHost: h\r\n{connection}\r\n".encode())
            assert (await wire.response())[0] == status

    run(main())


@pytest.mark.parametrize("name", ["Connection", "Proxy-Connection"])
def test_an_old_client_that_asks_to_stay_is_answered_by_closing_too(run, name):
    async def main():
        async def handler(request):
            return Response(200, {}, Body.of(b"abc"))

        async with serving(handler) as (_, port), wire_to(port) as wire:
            wire.send(f"GET / HTTP/1.0\r\n{name}: keep-alive\r\n\r\n".encode())
            assert (await wire.rest()).endswith(b"\r\n\r\nabc")

    run(main())


@pytest.mark.parametrize("name", ["Connection", "Proxy-Connection", "X-Other"])
def test_an_old_client_has_no_chunks(run, name):
    """RFC 9112 §6.1: whoever forwarded it may have read another length."""

    async def main():
        async def handler(request):
            return Response()

        async with serving(handler) as (_, port), wire_to(port) as wire:
            wire.send(f"PUT / HTTP/1.0\r\n{name}: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".encode())
            assert b" 400 " in (await wire.rest()).partition(b"\r\n")[0]

    run(main())


def test_beyond_the_limit_a_client_is_told_to_slow_down_and_then_cut(run):
    async def main():
        async def handler(request):
            return Response()

        limits = Limits(connections=1, turned_away=1)
        async with serving(handler, limits=limits) as (server, port), wire_to(port) as first:
            first.send(GET)
            assert (await first.response())[0] == 200
            async with wire_to(port) as second:
                second.send(GET)
                status, _, body = await second.response()
                assert (status, b"SlowDown" in body) == (503, True)
                async with wire_to(port) as third:
                    third.send(GET)
                    assert await third.cut() == b""
                first.reset()
                async with asyncio.timeout(PATIENCE_S):
                    while len(server) > 1:
                        await asyncio.sleep(0.01)
                async with wire_to(port) as fourth:  # the second still lingers over its refusal
                    fourth.send(GET)
                    assert (await fourth.response())[0] == 200

    run(main())


def test_head_carries_the_length_of_get_and_no_body(run):
    async def main():
        async def handler(request):
            return Response(200, {"Content-Length": "1234"})

        async with serving(handler) as (_, port), wire_to(port) as wire:
            wire.send(GET.replace(b"GET", b"HEAD") * 2)
            assert (await wire.response("HEAD"))[1]["content-length"] == "1234"
            assert (await wire.response("HEAD"))[0] == 200

    run(main())


@pytest.mark.parametrize("status", [204, 304])
def test_answers_without_body_have_none(run, status):
    async def main():
        async def handler(request):
            return Response(status, {}, Body.of(b"not sent"))

        async with serving(handler) as (_, port), wire_to(port) as wire:
            wire.send(GET * 2)
            _, headers, _ = await wire.response()
            assert "transfer-encoding" not in headers
            assert (await wire.response())[0] == status

    run(main())


@pytest.mark.parametrize("length", [10, None])
@pytest.mark.parametrize("error", [Incomplete("cut"), ApiError("BadDigest"), RuntimeError("bug")])
def test_an_answer_that_breaks_is_never_ended_cleanly(run, length, error):
    async def main():
        async def broken():
            yield b"12345"
            raise error

        async def handler(request):
            return Response(200, {}, Body(broken(), length))

        async with serving(handler) as (_, port), wire_to(port) as wire:
            wire.send(GET)
            assert not (await wire.cut()).endswith(b"0\r\n\r\n")

    run(main())


@pytest.mark.parametrize("length", [2, 4])
def test_an_answer_whose_length_is_wrong_is_never_ended_cleanly(run, length):
    async def main():
        async def handler(request):
            return Response(200, {}, Body(pieces(b"abc"), length))

        async with serving(handler) as (_, port), wire_to(port) as wire:
            wire.send(GET)
            await wire.cut()

    run(main())


def test_a_check_behind_the_last_byte_withholds_that_byte(run):
    async def main():
        async def checked():
            yield b"whole"
            raise Incomplete("the checksum does not fit")

        async def handler(request):
            return Response(200, {}, Body(checked(), 5))

        async with serving(handler) as (_, port), wire_to(port) as wire:
            wire.send(GET)
            assert b"whole" not in await wire.cut()

    run(main())


def test_a_slow_reader_slows_the_body_down(run):
    async def main():
        made = []

        async def endless():
            for _ in range(1024):
                made.append(1)
                yield bytes(256 * 1024)

        async def handler(request):
            return Response(200, {}, Body(endless(), 256 * MiB))

        async with serving(handler) as (_, port), wire_to(port) as wire:
            wire.writer.transport.pause_reading()
            wire.send(GET)
            await settle(lambda: len(made) > 2)
            await settle(lambda: True)
            assert len(made) < 200

    run(main())


def test_a_bug_is_reported_and_answered_with_500(run):
    async def main():
        bugs = []

        async def handler(request):
            raise ZeroDivisionError

        async with serving(handler, on_bug=lambda request, bug: bugs.append((request.target, bug))) as (_, port), wire_to(port) as wire:
            wire.send(GET)
            assert (await wire.response())[0] == 500
            assert [(target, type(bug)) for target, bug in bugs] == [("/a", ZeroDivisionError)]

    run(main())


def test_a_fault_of_a_peer_is_503(run):
    async def main():
        async def handler(request):
            raise Upstream("gone")

        async with serving(handler) as (_, port), wire_to(port) as wire:
            wire.send(GET * 2)
            assert (await wire.response())[0] == 503
            assert (await wire.response())[0] == 503

    run(main())


def test_a_line_break_in_a_header_never_reaches_the_client(run):
    async def main():
        bugs = []

        async def handler(request):
            return Response(200, {"x-amz-meta-a": "b\r\nSet-Cookie: c"})

        async with serving(handler, on_bug=lambda request, bug: bugs.append(bug)) as (_, port), wire_to(port) as wire:
            wire.send(GET)
            assert await wire.cut() == b""
            assert len(bugs) == 1

    run(main())


# ---- limits and patience


def test_a_header_section_that_is_too_large_is_refused(run):
    async def main():
        async with serving(echo) as (_, port), wire_to(port) as wire:
            wire.send(b"GET / HTTP/1.1\r\nHost: h\r\nx: " + b"y" * 70_000 + b"\r\n\r\n")
            response = await wire.rest()
            assert response.startswith(b"HTTP/1.1 400 ")
            assert b"<Code>RequestHeaderSectionTooLarge</Code>" in response

    run(main())


def test_a_header_without_end_is_refused(run):
    async def main():
        async with serving(echo) as (_, port), wire_to(port) as wire:
            wire.send(b"GET / HTTP/1.1\r\nHost: h\r\nx: " + b"y" * 400_000)
            assert (await wire.rest()).startswith(b"HTTP/1.1 400 ")

    run(main())


@pytest.mark.parametrize("fields", [199, 200])
def test_the_number_of_headers_is_limited(run, fields):
    async def main():
        async with serving(echo) as (_, port), wire_to(port) as wire:
            wire.send(b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n" + b"a: b\r\n" * (fields - 1) + b"\r\n")
            assert (await wire.response())[0] == {199: 200, 200: 400}[fields]

    run(main())


@pytest.mark.parametrize(
    "head",
    [
        b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
        b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 18446744073709551616\r\n\r\n",
        b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n",
        b"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + b"f" * 5000 + b"\r\n",
        b"CONNECT h:" + b"9" * 5000 + b" HTTP/1.1\r\nHost: h\r\n\r\n",
        b"CONNECT h:65536 HTTP/1.1\r\nHost: h\r\n\r\n",
    ],
    ids=["content-length", "content-length beyond 64 bits", "negative content-length", "chunk", "port", "port beyond 16 bits"],
)
def test_a_number_of_absurd_size_is_a_bad_request_and_no_bug(run, head):
    async def main():
        bugs = []

        async def connect(tunnel):
            raise AssertionError("led on")

        async with serving(echo, connect=connect, on_bug=lambda request, bug: bugs.append(bug)) as (_, port), wire_to(port) as wire:
            wire.send(head)
            assert (await wire.rest()).startswith(b"HTTP/1.1 400 ")
        assert bugs == []

    run(main())


def test_a_refusal_waits_for_the_answers_before_it(run):
    async def main():
        async with serving(echo) as (_, port), wire_to(port) as wire:
            wire.send(GET + b"nonsense\r\n\r\n")
            assert (await wire.response())[0] == 200
            assert (await wire.response())[0] == 400
            assert await wire.rest() == b""

    run(main())


@pytest.mark.parametrize(
    ("sent", "after_s", "response"),
    [
        (b"", 75, b""),
        (b"GET / HT", 30, b"HTTP/1.1 400 "),
        (b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nab", 30, b"HTTP/1.1 400 "),
    ],
)
def test_patience_ends(run, sent, after_s, response):
    async def main():
        clock = Dial()
        async with serving(echo, clock=clock) as (server, port), wire_to(port) as wire:
            wire.send(sent)
            await settle(lambda: [each.deadline for each in server._connections] == [clock.time + after_s])
            clock.advance(after_s)
            assert (await wire.rest()).startswith(response)

    run(main())


def test_a_small_body_that_trickles_buys_no_time(run):
    """It is gathered before anybody is known, so it may hold a connection no longer than a head may."""

    async def main():
        clock = Dial()
        async with serving(echo, clock=clock) as (server, port), wire_to(port) as wire:
            end = clock.time + 30
            wire.send(b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\na")
            await settle(lambda: [each.deadline for each in server._connections] == [end])
            clock.advance(20)
            wire.send(b"b")
            await asyncio.sleep(0.05)
            assert [each.deadline for each in server._connections] == [end]
            clock.advance(11)
            assert (await wire.rest()).startswith(b"HTTP/1.1 400 ")

    run(main())


def test_a_body_that_stops_coming_is_a_request_timeout(run):
    async def main():
        clock, seen = Dial(), []

        async def handler(request):
            try:
                return await echo(request)
            except ApiError as error:
                seen.append(error.code)
                return Response(error.status)

        async with serving(handler, clock=clock) as (server, port), wire_to(port) as wire:
            wire.send(put(MiB) + b"x")
            await settle(lambda: [each.deadline for each in server._connections] == [clock.time + 60])
            clock.advance(61)
            status, headers, _ = await wire.response()
            assert (status, headers["connection"], seen) == (400, "close", ["RequestTimeout"])

    run(main())


# ---- going


def test_close_finishes_what_runs_and_cuts_what_idles(run):
    async def main():
        gate, begun = asyncio.Event(), asyncio.Event()

        async def handler(request):
            begun.set()
            await gate.wait()
            return Response(200, {}, Body.of(b"done"))

        async with serving(handler) as (server, port), wire_to(port) as idle, wire_to(port) as busy:
            busy.send(GET)
            await begun.wait()
            await settle(lambda: len(server) == 2)
            async with asyncio.TaskGroup() as group:
                group.create_task(server.close(5))
                assert await idle.rest() == b""
                gate.set()
                status, headers, body = await busy.response()
            assert (status, headers["connection"], body) == (200, "close", b"done")
            assert len(server) == 0

    run(main())


def test_close_cuts_what_is_not_done_within_its_grace(run):
    async def main():
        begun = asyncio.Event()

        async def handler(request):
            begun.set()
            await asyncio.Event().wait()

        async with serving(handler) as (server, port), wire_to(port) as wire:
            wire.send(GET)
            await begun.wait()
            await server.close(0.01)
            assert await wire.cut() == b""

    run(main())


def test_what_is_announced_of_a_body_is_known_whether_it_came_at_once_or_later(run):
    async def main():
        seen = []

        async def handler(request):
            seen.append((request.body.length, await request.body.read_small(100)))
            return Response(200)

        head, body = b"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", b"5\r\nhello\r\n0\r\n\r\n"
        async with serving(handler) as (_, port), wire_to(port) as wire:
            wire.send(head + body)
            await wire.response()
            wire.send(head)
            await asyncio.sleep(0.02)
            wire.send(body)
            await wire.response()
        assert seen == [(None, b"hello"), (None, b"hello")]

    run(main())


@pytest.mark.parametrize("closing", [b"", b"Connection: close\r\n"])
@pytest.mark.parametrize("split", [False, True])
def test_a_body_of_broken_chunks_is_broken_for_its_reader_however_it_came(run, split, closing):
    async def main():
        received = []

        async def handler(request):
            with pytest.raises(ApiError) as caught:
                await request.body.read_small(100)
            received.append(caught.value.code)
            return Response(400)

        head, body = b"PUT / HTTP/1.1\r\nHost: h\r\n" + closing + b"Transfer-Encoding: chunked\r\n\r\n", b"3\r\nhel\r\nxyz\r\n"
        async with serving(handler) as (_, port), wire_to(port) as wire:
            wire.send(head if split else head + body)
            if split:
                await asyncio.sleep(0.02)
                wire.send(body)
            assert (await wire.response())[0] == 400
            wire.half_close()
            assert await wire.rest() == b""
        assert received == ["IncompleteBody"]

    run(main())


def test_an_early_refusal_is_a_document_with_a_request_id(run):
    async def main():
        async with serving(echo) as (_, port), wire_to(port) as wire:
            wire.send(b"nonsense\r\n\r\n")
            status, headers, body = await wire.response()
            assert (status, headers["content-type"]) == (400, "application/xml")
            assert b"<RequestId>" + headers["x-amz-request-id"].encode() + b"</RequestId></Error>" in body

    run(main())


@pytest.mark.parametrize("split", [False, True])
def test_a_broken_body_that_a_handler_does_not_look_after_is_the_clients_fault(run, split):
    async def main():
        bugs = []
        head, body = b"PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", b"3\r\nhel\r\nxyz\r\n"
        async with serving(echo, on_bug=lambda request, bug: bugs.append(bug)) as (_, port), wire_to(port) as wire:
            wire.send(head if split else head + body)
            if split:
                await asyncio.sleep(0.02)
                wire.send(body)
            status, _, document = await wire.response()
            assert (status, b"<Code>IncompleteBody</Code>" in document, bugs) == (400, True, [])

    run(main())
