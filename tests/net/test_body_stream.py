"""Inbound: the bytes of a body that still arrives, at its reader's pace."""

import asyncio

import pytest

from atoll.domain.errors import Incomplete
from atoll.net.body_stream import BUFFER_HIGH_BYTES, BUFFER_LOW_BYTES, MERGE_BYTES, IncomingBody
from net.servers import PATIENCE_S


class Tap:
    """The reading side of a transport: which way it was turned last, and how often."""

    def __init__(self):
        self.turns = []

    def pause_reading(self):
        self.turns.append("halt")

    def resume_reading(self):
        self.turns.append("flow")


def incoming_body(length=None):
    return IncomingBody(Tap(), length)


async def rest(body):
    async with asyncio.timeout(PATIENCE_S):
        return [piece async for piece in body]


def test_small_pieces_are_handed_over_as_one():
    body = incoming_body()
    for piece in (b"a", b"b", b"c"):
        body.push(piece)
    body.finish()
    assert asyncio.run(rest(body)) == [b"abc"]


def test_large_pieces_are_not_copied_together():
    body, large = incoming_body(), b"x" * MERGE_BYTES
    body.push(large)
    body.push(b"y")
    body.finish()
    assert asyncio.run(rest(body)) == [large, b"y"]


def test_a_reader_that_is_early_waits_for_what_comes():
    async def run():
        body = incoming_body(2)
        async with asyncio.TaskGroup() as group:
            reading = group.create_task(rest(body))
            asyncio.get_running_loop().call_soon(body.push, b"hi")
            asyncio.get_running_loop().call_soon(body.finish)
        assert b"".join(reading.result()) == b"hi"

    asyncio.run(run())


def test_what_is_not_read_halts_the_transport_once_until_most_of_it_was_read():
    async def run():
        body, piece = incoming_body(), bytes(BUFFER_LOW_BYTES)
        for _ in range(BUFFER_HIGH_BYTES // BUFFER_LOW_BYTES):
            body.push(piece)
        assert body._flow_control.turns == []
        body.push(piece)
        body.push(piece)
        assert body._flow_control.turns == ["halt"]
        for _ in range(4):
            await anext(body)
        assert body._flow_control.turns == ["halt"]
        await anext(body)
        assert body._flow_control.turns == ["halt", "flow"]

    asyncio.run(run())


@pytest.mark.parametrize("end", [lambda body: body.finish(), lambda body: body.fail(Incomplete("cut"))])
def test_a_body_that_is_over_holds_the_transport_no_longer(end):
    body = incoming_body()
    body.push(bytes(BUFFER_HIGH_BYTES + 1))
    end(body)
    assert body._flow_control.turns == ["halt", "flow"]


def test_what_arrived_before_a_cut_is_delivered_and_then_the_cut_is_raised():
    async def run():
        body = incoming_body(10)
        body.push(b"hello")
        body.fail(Incomplete("cut"))
        assert await anext(body) == b"hello"
        for _ in range(2):
            with pytest.raises(Incomplete, match="cut"):
                await anext(body)

    asyncio.run(run())


def test_a_whole_body_cannot_break_afterwards():
    body = incoming_body(2)
    body.push(b"ok")
    body.finish()
    body.fail(Incomplete("the client went"))
    assert asyncio.run(rest(body)) == [b"ok"]


def test_the_first_fault_is_the_one_that_is_told():
    body = incoming_body()
    body.fail(Incomplete("first"))
    body.fail(Incomplete("second"))
    with pytest.raises(Incomplete, match="first"):
        asyncio.run(rest(body))


def test_a_sender_is_asked_to_go_on_once_and_at_the_first_read():
    async def run():
        body, asked = incoming_body(2), []
        body.at_first_read(lambda: (asked.append("100"), body.push(b"a")))
        assert body.not_started
        assert asked == []
        assert await anext(body) == b"a"
        body.push(b"b")
        body.finish()
        assert await rest(body) == [b"b"]
        assert asked == ["100"]

    asyncio.run(run())


def test_a_sender_that_does_not_wait_to_be_asked_is_not_asked():
    async def run():
        body, asked = incoming_body(2), []
        body.at_first_read(lambda: asked.append("100"))
        body.push(b"ok")
        assert not body.not_started
        await anext(body)
        assert asked == []

    asyncio.run(run())


def test_a_small_body_is_given_whole_only_when_all_of_it_came():
    body = incoming_body(5)
    body.push(b"he")
    assert body.small(5) is None
    assert body.remaining == 3
    body.push(b"llo")
    body.finish()
    assert (body.small(5), body.small(4), body.remaining) == (b"hello", None, 0)


def test_nobody_knows_what_remains_of_a_chunked_body():
    assert incoming_body().remaining is None


def test_discarding_lets_go_of_the_transport_and_sees_the_end():
    async def run():
        body = incoming_body()
        body.push(bytes(BUFFER_HIGH_BYTES + 1))
        async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
            skipping = group.create_task(body.discard(10))
            asyncio.get_running_loop().call_soon(body.push, bytes(10))
            asyncio.get_running_loop().call_soon(body.finish)
        assert skipping.result() is True
        assert body._flow_control.turns == ["halt", "flow"]

    asyncio.run(run())


def test_discarding_gives_up_at_its_limit():
    async def run():
        body = incoming_body()
        async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
            skipping = group.create_task(body.discard(10))
            asyncio.get_running_loop().call_soon(body.push, bytes(11))
        assert skipping.result() is False
        assert not body.complete

    asyncio.run(run())
