"""Tunnel: a CONNECT that waits for a decision."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from atoll.domain.errors import Incomplete
from atoll.net.connect_request import ESTABLISHED, Tunnel, deliver
from net.endpoints import connected, say, until_end


class Shouting(asyncio.Protocol):
    """Answers in capitals."""

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.transport.write(data.upper())

    def eof_received(self):
        self.transport.close()


class Narrow(asyncio.BufferedProtocol):
    """Takes three bytes at a time."""

    def __init__(self):
        self.buffer, self.received = bytearray(3), []

    def get_buffer(self, sizehint):
        return self.buffer

    def buffer_updated(self, nbytes):
        self.received.append(bytes(self.buffer[:nbytes]))


@asynccontextmanager
async def waiting(rest=b""):
    async with connected(asyncio.Protocol()) as (transport, peer):
        transport.pause_reading()
        yield Tunnel(transport, "s3.test", 443, headers={}, peer="127.0.0.1", rest=rest), peer


def test_an_accepted_client_hears_that_it_may_begin():
    async def run():
        async with waiting() as (tunnel, peer):
            tunnel.accept()
            tunnel.transport.close()
            assert await until_end(peer) == ESTABLISHED

    asyncio.run(run())


def test_a_refused_client_hears_why_and_nothing_after_it():
    async def run():
        async with waiting() as (tunnel, peer):
            tunnel.refuse(403, "no way \u2192 there")
            head, _, text = (await until_end(peer)).partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 403 ")
            assert b"Content-Length: 14" in head
            assert text == b"no way ? there"

    asyncio.run(run())


def test_what_takes_a_tunnel_hears_the_first_bytes_before_the_later_ones():
    async def run():
        async with waiting(rest=b"first, ") as (tunnel, peer):
            await say(peer, b"second")
            peer.shutdown(1)
            tunnel.take(Shouting())
            assert await until_end(peer) == b"FIRST, SECOND"

    asyncio.run(run())


def test_a_client_that_has_gone_cannot_be_let_in():
    async def run():
        async with waiting() as (tunnel, _peer):
            tunnel.transport.abort()
            assert tunnel.lost
            with pytest.raises(Incomplete):
                tunnel.accept()
            with pytest.raises(Incomplete):
                tunnel.take(Shouting())

    asyncio.run(run())


def test_refusing_a_client_that_has_gone_is_no_fault():
    async def run():
        async with waiting() as (tunnel, peer):
            tunnel.transport.close()
            tunnel.refuse(502, "too late")
            assert await until_end(peer) == b""

    asyncio.run(run())


def test_a_protocol_with_a_small_buffer_gets_every_byte_in_order():
    narrow = Narrow()
    deliver(narrow, b"abcdefgh")
    assert narrow.received == [b"abc", b"def", b"gh"]
