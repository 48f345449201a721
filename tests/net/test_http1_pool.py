import asyncio
from contextlib import asynccontextmanager

import pytest

from atoll.domain.errors import ApiError, Incomplete, Upstream
from atoll.domain.http_message import Body, Request, Response
from atoll.net import tcp_sockets
from atoll.net.http1_pool import Pool, PoolLimits
from net.servers import PATIENCE_S, Dial, echo, serving, settle

MiB = 1024 * 1024


def get(target="/a", method="GET", **headers):
    return Request(method, target, {"host": "h", **headers})


async def pieces(*parts):
    for part in parts:
        yield part


@asynccontextmanager
async def pooled(handler, *, limits=PoolLimits(), clock=None, **options):
    clock = clock or Dial()
    async with serving(handler, clock=clock, **options) as (server, port):
        async with Pool(tcp_sockets.dial("127.0.0.1", port), "origin:1", clock=clock, limits=limits) as pool:
            yield pool, server


@asynccontextmanager
async def origin(talk, **limits):
    """An origin that says what `talk(reader, writer)` says."""
    async with asyncio.TaskGroup() as group:
        talks = []

        async def accepted(reader, writer):
            talks.append(asyncio.current_task())
            try:
                await talk(reader, writer)
            finally:
                writer.close()

        server = await asyncio.start_server(accepted, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with Pool(tcp_sockets.dial("127.0.0.1", port), "o", clock=Dial(), limits=PoolLimits(**limits)) as pool:
            yield pool
        server.close()
        del group


def test_a_small_exchange(run):
    async def main():
        async with pooled(echo) as (pool, _):
            response = await pool(Request("PUT", "/k?x=%2F", {"host": "bucket"}, Body.of(b"abc")))
            assert (response.status, response.body.small) == (200, b"abc")
            assert response.headers["x-target"] == "/k?x=%2F"
            assert response.headers["x-host"] == "bucket"

    run(main())


def test_a_request_without_host_is_given_the_origins(run):
    async def main():
        async with pooled(echo) as (pool, _):
            assert (await pool(Request("GET", "/", {}))).headers["x-host"] == "origin:1"

    run(main())


def test_one_warm_connection_serves_one_after_the_other(run):
    async def main():
        async with pooled(echo) as (pool, server):
            for _ in range(5):
                await pool(get())
            assert (pool.open, pool.idle, len(server)) == (1, 1, 1)

    run(main())


def test_connections_can_be_warmed_beforehand(run):
    async def main():
        async with pooled(echo) as (pool, server):
            await pool.warm(3)
            assert (pool.open, pool.idle) == (3, 3)
            await pool(get())
            assert pool.open == 3

    run(main())


@pytest.mark.parametrize("length", [3 * MiB, None])
def test_large_bodies_are_streamed_both_ways(run, length):
    async def main():
        async def handler(request):
            body = b"".join([piece async for piece in request.body])
            return Response(200, {}, Body(pieces(body[:MiB], body[MiB:]), length))

        async with pooled(handler) as (pool, _):
            sent = bytes(range(256)) * (3 * MiB // 256)
            response = await pool(Request("PUT", "/", {"host": "h"}, Body(pieces(sent[:100], sent[100:]), length)))
            assert b"".join([piece async for piece in response.body]) == sent
            assert pool.idle == 1

    run(main())


def test_an_answer_nobody_reads_makes_the_origin_wait(run):
    async def main():
        made = []

        async def much():
            for _ in range(1024):
                made.append(1)
                yield bytes(256 * 1024)

        async def handler(request):
            return Response(200, {}, Body(much(), 256 * MiB))

        async with pooled(handler) as (pool, _):
            response = await pool(get())
            await settle(lambda: len(made) > 4)
            assert len(made) < 200
            assert sum([len(piece) async for piece in response.body]) == 256 * MiB

    run(main())


def test_an_answer_dropped_half_read_ends_its_connection(run):
    async def main():
        async def handler(request):
            return Response(200, {}, Body(pieces(*[bytes(MiB)] * 64), 64 * MiB))

        async with pooled(handler) as (pool, _):
            response = await pool(get())
            await anext(aiter(response.body))
            del response
            await settle(lambda: pool.open == 0)

    run(main())


def test_head_has_headers_and_no_body_and_keeps_the_connection(run):
    async def main():
        async def handler(request):
            return Response(200, {"content-length": "123"}, Body.of(b"x" * 123) if request.method == "GET" else Body.of(b""))

        async with pooled(handler) as (pool, _):
            response = await pool(get(method="HEAD"))
            assert (response.headers["content-length"], response.body.small) == ("123", b"")
            assert (await pool(get())).body.small == b"x" * 123
            assert pool.open == 1

    run(main())


def test_hop_by_hop_headers_and_expect_stay_here(run):
    async def main():
        seen = {}

        async def handler(request):
            seen.update(request.headers)
            return Response(200)

        async with pooled(handler) as (pool, _):
            await pool(get(**{"connection": "x-mine", "x-mine": "1", "te": "x", "expect": "100-continue", "x-amz-date": "d"}))
            assert seen == {"host": "h", "x-amz-date": "d"}

    run(main())


def test_a_body_that_raises_is_cut_for_the_receiver_and_raises_here(run):
    async def main():
        ends = []

        async def handler(request):
            try:
                async for _ in request.body:
                    pass
            except Incomplete as error:
                ends.append(error)
            return Response(200)

        async def bad(announced):
            yield b"x" * announced
            raise ApiError("XAmzContentSHA256Mismatch")

        async with pooled(handler) as (pool, _):
            for length in (100_000, None):
                with pytest.raises(ApiError, match="XAmzContentSHA256Mismatch"):
                    await pool(Request("PUT", "/", {"host": "h"}, Body(bad(100_000), length)))
            await settle(lambda: len(ends) == 2)

    run(main())


def test_an_early_refusal_is_returned_although_the_body_is_still_coming(run):
    async def main():
        async def refuses(request):
            return Response(403, {}, Body.of(b"no"))

        never = asyncio.Event()

        async def endless():
            yield b"x"
            await never.wait()

        async with pooled(refuses) as (pool, _):
            async with asyncio.timeout(PATIENCE_S):
                response = await pool(Request("PUT", "/", {"host": "h"}, Body(endless(), 10 * MiB)))
            assert (response.status, response.body.small) == (403, b"no")
            await settle(lambda: pool.open == 0)
            assert (await pool(get())).status == 403

    run(main())


def test_a_warm_connection_that_was_closed_is_replaced_without_anybody_noticing(run):
    async def main():
        asked = []

        async def talk(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            asked.append(1)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            await reader.readuntil(b"\r\n\r\n")  # the second request of a connection is never answered

        async with origin(talk) as pool:
            assert (await pool(get())).status == 200
            assert (await pool(get())).status == 200
            assert len(asked) == 2

    run(main())


def test_a_fresh_connection_that_is_closed_is_upstreams_fault_and_not_tried_again(run):
    async def main():
        asked = []

        async def talk(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            asked.append(1)

        async with origin(talk) as pool:
            with pytest.raises(Upstream):
                await pool(get())
            assert asked == [1]

    run(main())


def test_a_streamed_body_is_never_sent_twice(run):
    async def main():
        async def talk(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            await reader.readuntil(b"\r\n\r\n")

        async with origin(talk) as pool:
            await pool(get())
            with pytest.raises(Upstream):
                await pool(Request("PUT", "/", {"host": "h"}, Body(pieces(b"x" * 100), 100)))

    run(main())


@pytest.mark.parametrize(
    "outcome",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nContent-Len",
        b"HTTP/1.1 200 OK\r\n\r\nuntil I close",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/1.1 200 OK\r\nx: " + b"y" * 70_000 + b"\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    ],
)
def test_an_answer_that_is_cut_or_makes_no_sense_is_upstreams_fault(run, outcome):
    async def main():
        async def talk(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(outcome)

        async with origin(talk) as pool:
            with pytest.raises(Upstream):
                response = await pool(get())
                async for _ in response.body:
                    pass
            await settle(lambda: pool.open == 0)

    run(main())


def test_informational_answers_are_passed_over(run):
    async def main():
        async def talk(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 No Content\r\na: b\r\n\r\n")
            await reader.read()

        async with origin(talk) as pool:
            response = await pool(get())
            assert (response.status, response.headers) == (204, {"a": "b"})

    run(main())


def test_bytes_nobody_asked_for_end_the_connection(run):
    async def main():
        async def talk(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison")
            await reader.read()

        async with origin(talk) as pool:
            assert (await pool(get())).status == 200
            await settle(lambda: pool.open == 0)

    run(main())


@pytest.mark.parametrize(("method", "asked"), [("GET", 2), ("PUT", 1), ("DELETE", 1), ("POST", 1)])
def test_only_what_is_safe_is_sent_again_when_a_warm_connection_was_closed(run, method, asked):
    async def main():
        heads, answered = [], []

        async def talk(reader, writer):
            """Answers the first request; takes the second and dies, as a process does that is killed after its commit."""
            while line := await reader.readline():
                if line.startswith((b"GET", b"PUT", b"DELETE", b"POST")):
                    heads.append(line)
                if line == b"\r\n" and len(heads) == 2:
                    return
                if line == b"\r\n":
                    answered.append(heads[-1])
                    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")

        async with origin(talk) as pool:
            await pool(get())
            second = pool(Request(method, "/second", {"host": "h"}))
            if method == "GET":
                assert (await second).status == 200
            else:
                with pytest.raises(Upstream):
                    await second
        assert len([head for head in heads if b"/second" in head]) == asked

    run(main())


def test_an_origin_that_closes_is_not_asked_again(run):
    async def main():
        async def talk(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
            await reader.read()

        async with origin(talk) as pool:
            await pool(get())
            await settle(lambda: pool.open == 0)

    run(main())


@pytest.mark.parametrize("outcome", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nabc"])
def test_silence_is_upstreams_fault(run, outcome):
    async def main():
        async def talk(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            writer.write(outcome)
            await reader.read()

        async with origin(talk, response_s=0.05, body_idle_s=0.05) as pool:
            with pytest.raises(Upstream, match=r"0\.05 s"):
                response = await pool(get())
                async for _ in response.body:
                    pass
            await settle(lambda: pool.open == 0)

    run(main())


def test_nobody_there_is_upstreams_fault(run):
    async def main():
        sock = tcp_sockets.bound("127.0.0.1")
        port = tcp_sockets.port_of(sock)
        sock.close()
        async with Pool(tcp_sockets.dial("127.0.0.1", port), "o", clock=Dial()) as pool:
            with pytest.raises(Upstream):
                await pool(get())
            assert pool.open == 0

    run(main())


def test_requests_beyond_the_limit_wait_for_their_turn(run):
    async def main():
        async with pooled(echo, limits=PoolLimits(connections=2)) as (pool, server):
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(pool(get(f"/{number}"))) for number in range(20)]
            assert [task.result().headers["x-target"] for task in tasks] == [f"/{number}" for number in range(20)]
            assert pool.open == 2

    run(main())


def test_who_waits_too_long_or_in_too_long_a_queue_is_told(run):
    async def main():
        gate = asyncio.Event()

        async def handler(request):
            await gate.wait()
            return Response(200)

        async with pooled(handler, limits=PoolLimits(connections=1, waiting=1, wait_s=0.05)) as (pool, _):
            async with asyncio.TaskGroup() as group:
                group.create_task(pool(get()))
                await settle(lambda: pool.open == 1)
                late = group.create_task(raised(pool(get())))
                await settle(lambda: len(pool._queue) == 1)
                assert "wait for" in str(await raised(pool(get())))
                assert "became free" in str(await late)
                gate.set()

    run(main())


async def raised(awaitable):
    with pytest.raises(Upstream) as caught:
        await awaitable
    return caught.value


def test_a_cancelled_request_takes_its_connection_with_it(run):
    async def main():
        begun = asyncio.Event()

        async def handler(request):
            begun.set()
            await asyncio.Event().wait()

        async with pooled(handler) as (pool, _):
            async with asyncio.TaskGroup() as group:
                task = group.create_task(pool(get()))
                await begun.wait()
                task.cancel()
            await settle(lambda: pool.open == 0)

    run(main())


def test_a_connection_idle_for_too_long_is_not_used(run):
    async def main():
        clock = Dial()
        async with pooled(echo, clock=clock) as (pool, server):
            await pool(get())
            clock.time += 61
            await pool(get())
            await settle(lambda: pool.open == 1)

    run(main())


def test_a_closed_pool_asks_nobody(run):
    async def main():
        async with pooled(echo) as (pool, _):
            await pool.close()
            with pytest.raises(Upstream):
                await pool(get())

    run(main())


@pytest.mark.parametrize("length", [5, None])
def test_a_body_that_waits_to_be_asked_for_waits_for_the_origin(run, length):
    async def main():
        taken = []

        async def handler(request):
            if request.target == "/refused":
                return Response(403)
            taken.append(request.headers["expect"])
            return Response(200, {}, Body.of(b"".join([piece async for piece in request.body])))

        async with pooled(handler) as (pool, _):
            for _ in range(3):
                body = Body(pieces(b"he", b"llo"), length)
                assert (await pool(Request("PUT", "/refused", {"host": "h", "expect": "100-continue"}, body))).status == 403
                assert body.unread
            assert pool.open == pool.idle == 1  # nothing of it was sent, so the connection is as good as before
            outcome = await pool(Request("PUT", "/", {"host": "h", "expect": "100-Continue"}, Body(pieces(b"he", b"llo"), length)))
            assert (outcome.status, outcome.body.small, taken) == (200, b"hello", ["100-Continue"])
            assert pool.open == 1

    run(main())


def test_a_body_that_nobody_asked_for_yet_is_sent_again_over_a_fresh_connection(run):
    async def main():
        calls = []

        async def talk(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            if not calls:
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                await reader.readuntil(b"\r\n\r\n")
                calls.append("closed")
                return
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            calls.append(await reader.readexactly(5))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

        async with origin(talk) as pool:
            await pool(get())
            outcome = await pool(Request("PUT", "/", {"host": "h", "expect": "100-continue"}, Body(pieces(b"hello"), 5)))
            assert (outcome.status, calls) == (200, ["closed", b"hello"])

    run(main())


def test_an_origin_that_never_asks_for_the_body_is_given_up(run):
    async def main():
        async def talk(reader, writer):
            await reader.read()

        async with origin(talk, response_s=0.05) as pool:
            with pytest.raises(Upstream, match="did not answer"):
                await pool(Request("PUT", "/", {"host": "h", "expect": "100-continue"}, Body(pieces(b"hello"), 5)))

    run(main())


@pytest.mark.parametrize("whole", [b"hello", b""])
def test_a_small_body_whose_length_nobody_announced_is_sent_in_chunks(run, whole):
    async def main():
        seen = []

        async def handler(request):
            seen.append((request.headers.get("transfer-encoding"), request.headers.get("content-length"), request.body.length))
            return Response(200, {}, Body.of(b"".join([piece async for piece in request.body])))

        async with pooled(handler) as (pool, _):
            assert (await pool(Request("PUT", "/", {"host": "h"}, Body(None, None, whole)))).body.small == whole
        assert seen == [("chunked", None, None)]

    run(main())
