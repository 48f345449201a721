"""Serializes HTTP/1.1 messages so that no broken body ever looks whole."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from email.utils import formatdate
from http import HTTPStatus

from atoll.domain.errors import Incomplete
from atoll.domain.http_message import Body, Response
from atoll.domain.quotas import KiB

SERVER = "AtollS3"
WRITE_HIGH_BYTES = 512 * KiB  # above this a sender waits for the transport
WRITE_LOW_BYTES = 128 * KiB
LAST_CHUNK = b"0\r\n\r\n"
ONE_WRITE_BYTES = 64 * KiB  # head and body up to this size go out joined; beyond, copying costs more than a second buffer

_STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n" for status in HTTPStatus}

# RFC 9110 §7.6.1 and the framing, which is ours to decide.
_HOP_BY_HOP = "connection keep-alive proxy-connection proxy-authenticate proxy-authorization te trailer transfer-encoding upgrade"
NOT_FORWARDED = frozenset((*_HOP_BY_HOP.split(), "content-length"))
_NO_BODY = frozenset((204, 304))
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class DateAndServer:
    """The Date and Server lines, formatted once a second."""

    __slots__ = ("_date", "_now", "_second", "_server")

    def __init__(self, now: Callable[[], float], server: str = SERVER) -> None:
        self._now = now
        self._second = -1
        self._date = ""
        self._server = f"Server: {server}\r\n"

    def lines(self, *, dated: bool = False, named: bool = False) -> str:
        """What a head lacks: a forwarded answer keeps the date and the name of its origin (RFC 9110 §6.6.1, §10.2.4)."""
        second = int(self._now())
        if second != self._second:
            self._second = second
            self._date = f"Date: {formatdate(second, usegmt=True)}\r\n"
        return ("" if dated else self._date) + ("" if named else self._server)


def sends_body(status: int, method: str) -> bool:
    return method != "HEAD" and status not in _NO_BODY and status >= 200  # RFC 9112 §6.3


def response_head(response: Response, date_and_server: DateAndServer, *, method: str, keep: bool, chunkable: bool = True) -> bytes:
    """Status line and headers with the framing of `response.body`. Raises ValueError for what would split the head."""
    status, headers = response.status, response.headers
    own = sends_body(status, method)
    lines = [_STATUS_LINES.get(status) or f"HTTP/1.1 {status} \r\n", *[f"{name}: {value}\r\n" for name, value in headers.items()]]
    lowered = {name.lower() for name in headers}
    if not NOT_FORWARDED.isdisjoint(lowered):
        lines[1:] = _forwarded(headers, keeps_length=not own and status != 204)
    if own:
        if (size := response.body.size) is not None:
            lines.append(f"Content-Length: {size}\r\n")
        elif chunkable:
            lines.append("Transfer-Encoding: chunked\r\n")
    if not keep:
        lines.append("Connection: close\r\n")
    return _joined(lines, date_and_server.lines(dated="date" in lowered, named="server" in lowered))


def _forwarded(headers: Mapping[str, str], *, keeps_length: bool) -> list[str]:
    """Without what is ours to say. `keeps_length`: Content-Length is of the answer that GET would have had."""
    kept = NOT_FORWARDED - {"content-length"} if keeps_length else NOT_FORWARDED
    return [f"{name}: {value}\r\n" for name, value in headers.items() if name.lower() not in kept]


def request_head(method: str, target: str, headers: Mapping[str, str], framing: str) -> bytes:
    """Request line and headers; hop-by-hop ones and those that Connection names stay here (RFC 9110 §7.6.1)."""
    named = {each.strip().lower() for each in headers.get("connection", "").split(",")}
    lines = [f"{method} {target} HTTP/1.1\r\n"]
    for name, value in headers.items():
        if (lower := name.lower()) not in NOT_FORWARDED and lower not in named and lower != "expect":
            lines.append(f"{name}: {value}\r\n")
    return _joined(lines, framing)


def _joined(lines: list[str], last: str) -> bytes:
    head = "".join(lines)
    if head.count("\n") != len(lines) or head.count("\r") != len(lines) or "\0" in head:
        raise ValueError("a line break or NUL inside a header")
    return f"{head}{last}\r\n".encode("latin-1")


class TransportWriter:
    """The writing side of one transport: waits when it is full (up to `patience_s`), says when it is gone."""

    __slots__ = ("_patience_s", "_waiter", "full", "lost", "transport")

    def __init__(self, transport: asyncio.Transport, patience_s: float | None = None) -> None:
        self.transport = transport
        self._patience_s = patience_s
        self.lost = False
        self.full = False
        self._waiter: asyncio.Future[None] | None = None
        transport.set_write_buffer_limits(WRITE_HIGH_BYTES, WRITE_LOW_BYTES)

    def pause(self) -> None:
        self.full = True

    def resume(self) -> None:
        self.full = False
        self._wake()

    def lose(self) -> None:
        self.lost = True
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def write(self, piece: bytes) -> None:
        if self.lost or self.transport.is_closing():
            raise Incomplete("The connection is gone.")
        self.transport.write(piece)

    async def drain(self) -> None:
        """Wait until the transport takes more. Raises Incomplete when it never will."""
        try:
            async with asyncio.timeout(self._patience_s):
                while self.full and not self.lost:
                    self._waiter = asyncio.get_running_loop().create_future()
                    await self._waiter
        except TimeoutError as error:
            raise Incomplete(f"The peer took nothing for {self._patience_s} s.") from error
        if self.lost:
            raise Incomplete("The connection broke while something was sent.")

    async def flush(self) -> None:
        """Wait until the transport has nothing left of ours: closing TLS earlier would lose it."""
        if not self.lost and not self.transport.is_closing():
            self.transport.set_write_buffer_limits(0, 0)
            await self.drain()

    def end(self) -> None:
        """Say that nothing more will come, and go on listening (TLS cannot: there it does nothing)."""
        if not self.lost and not self.transport.is_closing() and self.transport.can_write_eof():
            with suppress(OSError):  # the peer went first
                self.transport.write_eof()

    def break_off(self) -> None:
        """End so that the peer cannot mistake it for an end: RST, no close_notify."""
        if not self.lost:
            sock = self.transport.get_extra_info("socket")
            if isinstance(sock, socket.socket) or hasattr(sock, "setsockopt"):
                _reset_on_close(sock)
            self.transport.abort()


def _reset_on_close(sock: socket.socket) -> None:
    with suppress(OSError):  # already gone: nothing to reset
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)


async def send_stream(writer: TransportWriter, body: Body, *, chunked: bool) -> None:
    """Send all of `body`. When it raises, its end has not been sent: neither its last byte nor the last chunk.

    So the receiver sees a cut body, also when the check that failed stands behind the last byte (a checksum, a signature).
    Raises Incomplete for a body that is shorter or longer than it said, and whatever the body raises.
    """
    left = body.size
    last = b""
    async for piece in body:
        if not piece:
            continue
        if left is not None:
            left -= len(piece)
            if left <= 0:
                if last or left < 0:
                    raise Incomplete("A body is longer than it said.")
                last = piece
                continue
        writer.write(_chunk(piece) if chunked else piece)
        if writer.full:
            await writer.drain()
    if left:
        raise Incomplete(f"A body ended {left} bytes before its length.")
    if last:
        writer.write(_chunk(last) if chunked else last)
    if chunked:
        writer.write(LAST_CHUNK)
    if writer.full:
        await writer.drain()


def chunked_whole(body: bytes) -> bytes:
    """All of a body in chunks (RFC 9112 §7.1)."""
    return (_chunk(body) if body else b"") + LAST_CHUNK


def _chunk(piece: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(piece), piece)
