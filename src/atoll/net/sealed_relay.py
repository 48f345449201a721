"""Leads the connections of a sealed command to the entry: sockets that listen inside its network are served from outside.

A socket stays in the network in which it was made. So the sealed process makes the listening ones and hands them over; this
process accepts from them and calls the entry in the machine's own network. TLS is not ended here: the name that the client asks
for is read from its first bytes, and the connection goes through the entry's CONNECT like that of a client with a proxy.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from atoll.rules.clienthello import HELLO_MAX_BYTES, NotTls, server_name
from atoll.rules.dns import response

PIECE_BYTES = 256 * 1024
BUFFER_BYTES = 1024 * 1024  # of one direction of one connection, before its sender is told to wait
FIRST_BYTES_S = 30.0  # a client that connected and says nothing is let go after so long
ESTABLISHED_MAX_BYTES = 16 * 1024  # the head of the entry's answer to a CONNECT
CONNECTIONS_MAX = 4096  # of one sealed command at a time; what comes beyond is closed at once


@dataclass(frozen=True, slots=True)
class Inside:
    """The sockets that a sealed command reaches, already bound in its network."""

    tls: socket.socket
    plain: socket.socket
    names: socket.socket

    def close(self) -> None:
        for sock in (self.tls, self.plain, self.names):
            sock.close()


@dataclass(frozen=True, slots=True)
class Pair:
    """Both directions of one connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


# What is done with one connection from inside.
Lead = Callable[[Pair], Awaitable[None]]


class Names(asyncio.DatagramProtocol):
    """The name server of a sealed command."""

    def __init__(self, address: bytes) -> None:
        self._address = address

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        said = response(data, self._address)
        if said is not None:
            self._transport.sendto(said, addr)  # type: ignore[attr-defined]


class Relay:
    """Leads what is asked inside to the entry's listener at `host`:`port`."""

    def __init__(self, inside: Inside, host: str, port: int) -> None:
        self._inside = inside
        self._entry = (host, port)
        self._running: set[asyncio.Task[None]] = set()

    async def serve(self, ended: Callable[[], Awaitable[None]]) -> None:
        """Until `ended` returns; then every connection is cut."""
        loop = asyncio.get_running_loop()
        address = socket.inet_aton(self._inside.tls.getsockname()[0])
        names, _ = await loop.create_datagram_endpoint(lambda: Names(address), sock=self._inside.names)
        async with asyncio.TaskGroup() as group:
            servers = [
                await asyncio.start_server(self._begin(group, lead), sock=sock, limit=BUFFER_BYTES)
                for sock, lead in ((self._inside.tls, self._tunnelled), (self._inside.plain, self._no_catch_up))
            ]
            await ended()
            names.close()
            for server in servers:
                server.close()
            for task in self._running:
                task.cancel()

    def _begin(self, group: asyncio.TaskGroup, lead: Lead) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]:
        def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if len(self._running) >= CONNECTIONS_MAX:
                writer.close()
                return
            task = group.create_task(_served(lead, Pair(reader, writer)))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

        return begin

    async def _tunnelled(self, client: Pair) -> None:
        async with asyncio.timeout(FIRST_BYTES_S):
            name, hello = await _first(client.reader)
        entry = Pair(*await asyncio.open_connection(*self._entry, limit=BUFFER_BYTES))
        try:
            await _connect(entry, f"{name or '127.0.0.1'}:443")
            entry.writer.write(hello)
            await _join(client, entry)
        finally:
            entry.writer.close()

    async def _no_catch_up(self, client: Pair) -> None:
        entry = Pair(*await asyncio.open_connection(*self._entry, limit=BUFFER_BYTES))
        try:
            await _join(client, entry)
        finally:
            entry.writer.close()


async def _served(lead: Lead, client: Pair) -> None:
    try:
        await lead(client)
    except* (OSError, NotTls, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        pass  # either side has gone, or it was no client of TLS: closing is all that can be said
    finally:
        client.writer.close()


async def _first(reader: asyncio.StreamReader) -> tuple[str, bytes]:
    """The name that a TLS client asks for, and the bytes that said so. Raises NotTls, IncompleteReadError."""
    hello = b""
    while (name := server_name(hello)) is None:
        piece = await reader.read(HELLO_MAX_BYTES)
        if not piece:
            raise asyncio.IncompleteReadError(hello, None)
        hello += piece
    return name, hello


async def _connect(entry: Pair, authority: str) -> None:
    """Raises ConnectionRefusedError when the entry opens no tunnel."""
    entry.writer.write(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
    head = await entry.reader.readuntil(b"\r\n\r\n")
    if len(head) > ESTABLISHED_MAX_BYTES or b" 200 " not in head.split(b"\r\n", 1)[0]:
        raise ConnectionRefusedError(head[:100].decode("latin-1"))


async def _join(a: Pair, b: Pair) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(_pour(a.reader, b.writer))
        group.create_task(_pour(b.reader, a.writer))


async def _pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until the reader's end, which is passed on: the other direction may go on."""
    while piece := await reader.read(PIECE_BYTES):
        writer.write(piece)
        await writer.drain()
    writer.write_eof()
