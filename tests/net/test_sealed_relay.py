"""The relay of a sealed command, between bare sockets: what it asks of the entry, and that no byte is lost."""

import asyncio
import socket
import ssl
from contextlib import asynccontextmanager

import pytest

from atoll.net import sealed_relay
from atoll.net.sealed_relay import Inside, Relay
from net.servers import PATIENCE_S

NAME = "mabc.mrap.accesspoint.s3-global.amazonaws.com"


def hello(name):
    sent = ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), sent, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return sent.read()


def datagrams():
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 0))
    return sock


class ScanEntry:
    """Says `word` to each CONNECT, then echoes until the end."""

    def __init__(self, word=b"HTTP/1.1 200 Connection Established\r\n\r\n"):
        self.word, self.heads, self.open = word, [], 0

    async def serve(self, reader, writer):
        self.open += 1
        head = await reader.readuntil(b"\r\n\r\n")
        self.heads.append(head)
        if head.startswith(b"CONNECT"):
            writer.write(self.word)
        else:
            writer.write(head)
        while piece := await reader.read(65536):
            writer.write(piece)
            await writer.drain()
        writer.close()
        self.open -= 1


@asynccontextmanager
async def relaying(entry):
    inside = Inside(socket.create_server(("127.0.0.1", 0)), socket.create_server(("127.0.0.1", 0)), datagrams())
    ports = [sock.getsockname() for sock in (inside.tls, inside.plain, inside.names)]
    over = asyncio.Event()
    server = await asyncio.start_server(entry.serve, "127.0.0.1", 0)
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        group.create_task(Relay(inside, *server.sockets[0].getsockname()).serve(over.wait))
        yield ports
        over.set()
    server.close()


async def talk(port, *pieces):
    """What comes back, to the end, for pieces sent one by one."""
    reader, writer = await asyncio.open_connection(*port)
    for piece in pieces:
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(0)
    writer.write_eof()
    result = await reader.read()
    writer.close()
    return result


async def served_again(tls):
    """The relay has not yet heard that its client has gone when the client has."""
    while True:
        try:
            if result := await talk(tls, hello(NAME)):
                return result
        except OSError:
            await asyncio.sleep(0.01)


def test_a_client_of_tls_is_led_through_a_connect_to_the_name_it_asks_for():
    async def main():
        entry, first = ScanEntry(), hello(NAME)
        async with relaying(entry) as (tls, _, _):
            assert await talk(tls, first, b"and more") == first + b"and more"
        assert entry.heads == [f"CONNECT {NAME}:443 HTTP/1.1\r\nHost: {NAME}:443\r\n\r\n".encode()]

    asyncio.run(main())


def test_a_hello_may_arrive_byte_by_byte():
    async def main():
        entry, first = ScanEntry(), hello(NAME)
        async with relaying(entry) as (tls, _, _):
            assert await talk(tls, *(first[at : at + 1] for at in range(len(first)))) == first
        assert NAME.encode() in entry.heads[0]

    asyncio.run(main())


def test_megabytes_in_both_directions_are_whole_and_the_end_is_passed_on():
    async def main():
        first, body = hello(NAME), bytes(range(250)) * 40_000
        async with relaying(ScanEntry()) as (tls, _, _):
            assert await talk(tls, first, body) == first + body

    asyncio.run(main())


def test_plain_http_goes_to_the_entry_as_it_is():
    async def main():
        entry, request = ScanEntry(), b"GET / HTTP/1.1\r\nHost: s3.us-east-1.amazonaws.com\r\n\r\n"
        async with relaying(entry) as (_, plain, _):
            assert await talk(plain, request) == request
        assert entry.heads == [request]

    asyncio.run(main())


@pytest.mark.parametrize("text", [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01", b""])
def test_what_is_no_tls_is_let_go_and_never_reaches_the_entry(text):
    async def main():
        entry = ScanEntry()
        async with relaying(entry) as (tls, _, _):
            assert await talk(tls, text) == b""
        assert entry.heads == []

    asyncio.run(main())


def test_an_entry_that_opens_no_tunnel_ends_the_connection():
    async def main():
        async with relaying(ScanEntry(b"HTTP/1.1 403 Refused\r\nContent-Length: 0\r\n\r\n")) as (tls, _, _):
            assert await talk(tls, hello("example.com")) == b""

    asyncio.run(main())


def test_a_client_that_says_nothing_is_let_go(monkeypatch):
    monkeypatch.setattr(sealed_relay, "FIRST_BYTES_S", 0.05)

    async def main():
        async with relaying(ScanEntry()) as (tls, _, _):
            reader, writer = await asyncio.open_connection(*tls)
            assert await reader.read() == b""
            writer.close()

    asyncio.run(main())


def test_beyond_its_limit_a_connection_is_closed_at_once_and_a_later_one_is_served(monkeypatch):
    monkeypatch.setattr(sealed_relay, "CONNECTIONS_MAX", 1)

    async def main():
        async with relaying(ScanEntry()) as (tls, _, _):
            first, held = await asyncio.open_connection(*tls)
            held.write(hello(NAME))
            assert await first.readexactly(1) == b"\x16"
            reader, writer = await asyncio.open_connection(*tls)
            assert await reader.read() == b""
            for one in (held, writer):
                one.close()
            await first.read()
            assert await served_again(tls)

    asyncio.run(main())


def test_when_it_ends_every_connection_is_cut():
    async def main():
        entry = ScanEntry()
        async with relaying(entry) as (tls, _, _):
            reader, writer = await asyncio.open_connection(*tls)
            writer.write(hello(NAME))
            assert await reader.readexactly(1) == b"\x16"
        await reader.read()
        assert reader.at_eof()
        writer.close()
        while entry.open:
            await asyncio.sleep(0.01)

    asyncio.run(main())


def test_names_are_answered_from_its_own_address():
    async def main():
        loop = asyncio.get_running_loop()
        async with relaying(ScanEntry()) as (_, _, names):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
                sock.setblocking(False)
                await loop.sock_sendto(sock, b"\0\7\1\0\0\1\0\0\0\0\0\0\2s3\tamazonaws\3com\0\0\1\0\1", names)
                result = await loop.sock_recv(sock, 512)
        assert result[:2] == b"\0\7"
        assert result.endswith(socket.inet_aton("127.0.0.1"))

    asyncio.run(main())
