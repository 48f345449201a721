import asyncio
import random
import time
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.errors import Incomplete, Upstream
from atoll.domain.http_message import Body, Request, Response
from atoll.net import tcp_sockets
from atoll.net.echo_delay_error import echo_errors_ms
from atoll.net.http1_pool import Pool
from atoll.net.precise_timers import Timers
from atoll.net.wan_emulation import DelayLine, Link, Schedule, dial_over, pipe
from net.servers import PATIENCE_S, Dial, echo, serving, settle, wire_to

MiB = 1024 * 1024


@contextmanager
def timing():
    timers = Timers()
    try:
        yield timers
    finally:
        timers.close()


@given(
    st.lists(st.tuples(st.floats(0, 0.01), st.integers(1, 100_000)), max_size=50),
    st.floats(0, 300),
    st.floats(0, 50),
    st.one_of(st.none(), st.floats(1000, 1e9)),
)
def test_a_stream_is_never_before_the_shortest_trip_and_never_reordered(arrivals, rtt_ms, jitter_ms, rate):
    schedule, now, last = Schedule(Link(rtt_ms, jitter_ms, rate), random.Random(1)), 100.0, 0.0
    for gap, size in arrivals:
        now += gap
        released = schedule.release(now, size)
        assert released >= max(now + rtt_ms / 2000 - 0.7438 * jitter_ms / 1000, now, last)
        last = released


def test_half_of_all_round_trips_take_longer_than_the_links():
    schedule = Schedule(Link(100, jitter_ms=0.2), random.Random(1))
    one_way = [schedule.release(float(at), 1) - at for at in range(40_002)]
    assert min(one_way) == pytest.approx(0.05 - 0.7438 * 0.0002, abs=1e-6)
    both = sorted(there + back for there, back in zip(one_way[::2], one_way[1::2], strict=True))
    assert both[len(both) // 2] == pytest.approx(0.1, abs=5e-6)


def test_a_link_without_jitter_takes_its_round_trip_exactly():
    assert Schedule(Link(100), random.Random(1)).release(7.0, 1) == pytest.approx(7.05)


def test_a_capped_link_takes_its_time_for_bytes():
    schedule = Schedule(Link(100, rate_bytes_per_s=1000), random.Random(1))
    assert schedule.release(10.0, 500) == pytest.approx(10.55)
    assert schedule.release(10.0, 500) == pytest.approx(11.05)


def test_the_same_dice_give_the_same_jitter():
    link = Link(10, jitter_ms=5, seed=7)
    first, second = (Schedule(link, random.Random(link.seed)) for _ in range(2))
    assert [first.release(float(at), 1) for at in range(9)] == [second.release(float(at), 1) for at in range(9)]


def test_a_full_lane_stops_its_source_until_half_of_it_is_through(run):
    async def main():
        with timing() as timers:
            calls, out = [], []
            delay_line = DelayLine(Link(1), timers, random.Random(1), calls.append)
            for _ in range(5):
                delay_line.put(bytes(MiB))
            assert calls == [False]
            delay_line.connect_to(out.append, lambda: None)
            await settle(lambda: len(out) == 5)
            assert calls == [False, True]

    run(main())


def test_a_held_lane_delivers_nothing_and_then_everything(run):
    async def main():
        with timing() as timers:
            out = []
            delay_line = DelayLine(Link(0.1), timers, random.Random(1), lambda go: None)
            delay_line.connect_to(out.append, lambda: None)
            delay_line.hold()
            delay_line.put(b"a")
            delay_line.put(b"b")
            await timers.sleep_until(time.monotonic() + 0.005)
            assert out == []
            delay_line.go()
            await settle(lambda: out == [b"a", b"b"])

    run(main())


def test_a_pool_over_a_link_pays_one_round_trip_to_connect_and_one_per_request(run):
    async def main():
        with timing() as timers:
            async with serving(echo) as (_, port):
                dial = dial_over(tcp_sockets.dial("127.0.0.1", port), Link(40), timers)
                async with Pool(dial, "o", clock=Dial()) as pool:
                    assert 0.080 <= await seconds(pool(Request("GET", "/", {}))) < 0.110
                    assert 0.040 <= await seconds(pool(Request("GET", "/", {}))) < 0.060

    run(main())


async def seconds(awaitable):
    begun = time.monotonic()
    await awaitable
    return time.monotonic() - begun


def test_large_bodies_cross_a_link_whole_both_ways(run):
    async def main():
        sent = bytes(range(256)) * (3 * MiB // 256)

        async def handler(request):
            return Response(200, {}, Body.of(b"".join([piece async for piece in request.body])))

        async def body():
            yield sent[:MiB]
            yield sent[MiB:]

        with timing() as timers:
            async with serving(handler) as (_, port):
                dial = dial_over(tcp_sockets.dial("127.0.0.1", port), Link(4, 0.5), timers)
                async with Pool(dial, "o", clock=Dial()) as pool:
                    response = await pool(Request("PUT", "/", {}, Body(body(), len(sent))))
                    assert b"".join([piece async for piece in response.body]) == sent

    run(main())


def test_a_body_that_breaks_is_incomplete_at_the_far_end_too(run):
    async def main():
        seen = asyncio.get_running_loop().create_future()

        async def handler(request):
            try:
                async for _ in request.body:
                    pass
            except Incomplete as error:
                seen.set_result(error)
            return Response(200)

        async def bad():
            yield b"x" * 100_000
            raise ValueError("bad")

        with timing() as timers:
            async with serving(handler) as (_, port):
                async with Pool(dial_over(tcp_sockets.dial("127.0.0.1", port), Link(2), timers), "o", clock=Dial()) as pool:
                    with pytest.raises(ValueError, match="bad"):
                        await pool(Request("PUT", "/", {}, Body(bad(), 200_000)))
                    async with asyncio.timeout(PATIENCE_S):
                        assert isinstance(await seen, Incomplete)

    run(main())


def test_a_far_side_that_goes_away_is_noticed(run):
    async def main():
        with timing() as timers:
            async with serving(echo) as (server, port):
                async with Pool(dial_over(tcp_sockets.dial("127.0.0.1", port), Link(2), timers), "o", clock=Dial()) as pool:
                    await pool(Request("GET", "/", {}))
                    await server.close(0)
                    await settle(lambda: pool.open == 0)
                    with pytest.raises(Upstream):
                        await pool(Request("GET", "/", {}))

    run(main())


def test_a_connect_is_led_across_the_link(run):
    """200 after one round trip, each exchange one more; and the end of one side reaches the other."""

    async def main():
        with timing() as timers:
            led = []
            async with serving(echo) as (_, far_port):

                async def connect(tunnel):
                    led.append((tunnel.host, tunnel.port))
                    assert await pipe(tunnel, tcp_sockets.dial("127.0.0.1", far_port), Link(40), timers)
                    led.append("over")

                async with serving(echo, connect=connect) as (_, port), wire_to(port) as wire:
                    wire.send(b"CONNECT s3.eu-central-1.amazonaws.com:443 HTTP/1.1\r\nHost: h\r\n\r\n")
                    assert 0.040 <= await seconds(wire.head()) < 0.070
                    wire.send(b"GET /far HTTP/1.1\r\nHost: h\r\n\r\n")
                    assert 0.040 <= await seconds(wire.response()) < 0.060
                    wire.send(b"GET /far HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
                    assert (await wire.response())[0] == 200
                    assert await wire.rest() == b""
                    wire.half_close()
                    async with asyncio.timeout(PATIENCE_S):
                        while led[-1] != "over":
                            await asyncio.sleep(0.001)
            assert led == [("s3.eu-central-1.amazonaws.com", 443), "over"]

    run(main())


def test_a_client_that_resets_its_tunnel_resets_the_far_side(run):
    async def main():
        with timing() as timers:
            async with serving(echo) as (far, far_port):

                async def connect(tunnel):
                    await pipe(tunnel, tcp_sockets.dial("127.0.0.1", far_port), Link(2), timers)

                async with serving(echo, connect=connect) as (_, port), wire_to(port) as wire:
                    wire.send(b"CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n")
                    await wire.head()
                    await settle(lambda: len(far) == 1)
                    wire.reset()
                    await settle(lambda: len(far) == 0)

    run(main())


def test_a_tunnel_to_nowhere_is_refused(run):
    async def main():
        sock = tcp_sockets.bound("127.0.0.1")
        nowhere = tcp_sockets.port_of(sock)
        sock.close()
        with timing() as timers:
            result = []

            async def connect(tunnel):
                result.append(await pipe(tunnel, tcp_sockets.dial("127.0.0.1", nowhere), Link(1), timers))

            async with serving(echo, connect=connect) as (_, port), wire_to(port) as wire:
                wire.send(b"CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n")
                assert (await wire.response())[0] == 502
                assert result == [False]

    run(main())


def test_a_server_that_is_no_proxy_refuses_connect(run):
    async def main():
        async with serving(echo) as (_, port), wire_to(port) as wire:
            wire.send(b"CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n")
            assert (await wire.rest()).startswith(b"HTTP/1.1 405 ")

    run(main())


@pytest.mark.parametrize("rtt_ms", [0.3, 1.0, 20])
def test_an_echo_is_never_early(run, rtt_ms):
    async def main():
        with timing() as timers:
            errors = await echo_errors_ms(Link(rtt_ms), timers, 5)
            assert len(errors) == 5
            assert min(errors) >= 0

    run(main())
