"""One HTTP/1.1 connection of the server: reads requests, answers them in order, keeps or closes.

The protocol object hears from the transport and fills a queue; one task takes from the queue and answers. So requests that
were sent ahead are answered in order, and a handler runs inside a task, where waiting, timeouts and cancellation work.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from math import inf
from typing import Protocol, cast
from xml.sax.saxutils import escape

from atoll.domain.clock import Clock
from atoll.domain.errors import ApiError, Incomplete, Upstream
from atoll.domain.http_message import Body, Request, Response
from atoll.domain.interfaces import Handler
from atoll.domain.quotas import MiB
from atoll.net.body_stream import IncomingBody
from atoll.net.connect_request import Connect, Tunnel
from atoll.net.http1_parser import ConnectRequest, Exchange, Refusal, RequestReader
from atoll.net.http1_serializer import ONE_WRITE_BYTES, DateAndServer, TransportWriter, response_head, send_stream, sends_body

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
LINGER_MAX_BYTES = 16 * MiB  # thrown away from a client that goes on sending to a connection that we end


@dataclass(frozen=True, slots=True)
class Limits:
    """What one connection may ask of us, and how many there may be. All of them are ours."""

    keep_alive_s: float = 75  # idle between two requests
    head_s: float = 30  # from the first byte of a request to the end of its headers, or of a small body
    body_idle_s: float = 60  # without one byte of a body that we want to read
    write_idle_s: float = 120  # without the client taking a byte of an answer
    linger_s: float = 2  # a client may still read our last answer before the connection goes
    discard_bytes: int = 1 * MiB  # of a body that the handler did not want; beyond, closing is cheaper
    ahead: int = 64  # requests sent ahead before we stop reading
    connections: int = 4096  # of one server at a time; more are turned away
    turned_away: int = 256  # connections that are hearing so; more are cut


class ServerContext(Protocol):
    """What a connection needs of its server."""

    handler: Handler
    connect: Connect | None
    clock: Clock
    limits: Limits
    date_and_server: DateAndServer
    shutting_down: bool
    on_bug: Callable[[Request | None, Exception], None]

    def opened(self, connection: Connection, serve: Callable[[], Awaitable[None]]) -> None: ...

    def closed(self, connection: Connection) -> None: ...


class Connection(asyncio.Protocol):
    """One client. `deadline` (monotonic) is when patience ends; the server looks at it once a second."""

    def __init__(self, home: ServerContext, *, secure: bool, peer: str = "") -> None:
        self._server = home
        self._now = home.clock.monotonic
        self._secure = secure
        self._peer = peer
        self._queue: deque[Exchange | ConnectRequest | Refusal] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._answering = False
        self._deaf = False
        self._no_more = False
        self._halts = 0
        self._lingered = 0
        self._in_head = False
        self._half_closed = False
        self._lingering = False
        self.deadline = inf

    # ---- the transport speaks

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's do not say that they are
        self._loop = asyncio.get_running_loop()
        self._writer = TransportWriter(self._transport)
        if not self._peer:
            name = transport.get_extra_info("peername")
            self._peer = name[0] if isinstance(name, tuple) else "127.0.0.1"
        self._reader = RequestReader(self, self._on_message, peer=self._peer, secure=self._secure)
        self.deadline = self._now() + self._server.limits.keep_alive_s
        self._server.opened(self, self._serve)

    def data_received(self, data: bytes) -> None:
        if self._deaf:
            self._is_after_close(data)
            return
        now = self._now()
        try:
            self._reader.feed(data, now)
        except Refusal as refusal:
            self._refuse(refusal)
        if self._reader.ended:
            self._no_more = self._deaf = not self._reader.in_body
        self._set_deadline(now)

    def eof_received(self) -> bool:
        """Half-closed: who asked may still be listening. TLS knows no such state: its end is the end of both directions."""
        self._half_closed = self._deaf = self._no_more = True
        self._break_body(Incomplete("The client stopped sending inside a body."))
        self._wake()
        return self._transport.get_extra_info("sslcontext") is None

    def connection_lost(self, exc: Exception | None) -> None:
        self._writer.lose()
        self._deaf = self._no_more = True
        self._break_body(Incomplete("The client's connection broke inside a body."))
        self._wake()

    def pause_writing(self) -> None:
        self._writer.pause()
        self.deadline = self._now() + self._server.limits.write_idle_s

    def resume_writing(self) -> None:
        self._writer.resume()
        self._set_deadline(self._now())

    # ---- reading

    def _on_message(self, item: Exchange | ConnectRequest) -> None:
        if isinstance(item, ConnectRequest):
            if self._server.connect is None:
                raise Refusal(405, "MethodNotAllowed", "This server is no proxy.")
            self._transport.pause_reading()
        elif item.incoming_body is not None and item.expect and not item.incoming_body.received:
            item.incoming_body.at_first_read(self._continue)
        self._queue.append(item)
        if len(self._queue) == self._server.limits.ahead:
            self.pause_reading()
        self._wake()

    def _is_after_close(self, data: bytes) -> None:
        self._lingered += len(data)
        if self._queue and isinstance(self._queue[-1], ConnectRequest):
            self._queue[-1].rest += data
        elif self._lingered > LINGER_MAX_BYTES:
            self._transport.abort()

    def _refuse(self, refusal: Refusal) -> None:
        self._deaf = self._no_more = True
        self._break_body(ApiError("IncompleteBody", refusal.message))
        self._queue.append(refusal)
        self._wake()

    def _break_body(self, error: Exception) -> None:
        incoming_body = self._reader.incoming_body
        if incoming_body is not None:
            incoming_body.fail(error)

    def _continue(self) -> None:
        """The handler wants the body: now, and only now, is the client asked for it (RFC 9110 §10.1.1)."""
        if not self._writer.lost and not self._transport.is_closing():
            self._transport.write(CONTINUE)
        self.deadline = self._now() + self._server.limits.body_idle_s

    def pause_reading(self) -> None:
        self._halts += 1
        if self._halts == 1:
            self._transport.pause_reading()
            self.deadline = inf

    def resume_reading(self) -> None:
        self._halts -= 1
        if self._halts == 0 and not self._writer.lost:
            self._transport.resume_reading()
            self._in_head = False
            self._set_deadline(self._now())

    # ---- patience

    def _set_deadline(self, now: float) -> None:
        limits, reader = self._server.limits, self._reader
        if self._writer.full or self._halts:
            return
        if reader.in_head or reader.in_small_body:
            if not self._in_head:  # bytes that trickle do not buy time: all of this is read before anybody is known
                self._in_head = True
                self.deadline = now + limits.head_s
            return
        self._in_head = False
        if reader.in_body and not (reader.incoming_body is not None and reader.incoming_body.not_started):
            self.deadline = now + limits.body_idle_s
        else:
            self.deadline = inf if self._answering or self._queue else now + limits.keep_alive_s

    def expire(self) -> None:
        """The deadline is over: say so to who has begun to speak, leave the others quietly."""
        self.deadline = inf
        late = Refusal(400, "RequestTimeout", "Your socket connection to the server was not read from or written to in time.")
        if self._lingering:
            self._lingering = False
            self._wake()
        elif self._writer.full or self._deaf:
            self._writer.break_off()
        elif self._reader.incoming_body is not None:
            self._break_body(ApiError("RequestTimeout", late.message))
            self._deaf = self._no_more = True
            self._wake()
        elif self._reader.in_head or self._reader.in_body:
            self._refuse(late)
        else:
            self._deaf = self._no_more = True
            self._wake()

    def leave(self) -> None:
        """The server goes: finish what was begun, take nothing new."""
        if not self._answering and not self._queue and not self._reader.in_body:
            self._deaf = self._no_more = True
            self._wake()

    def turn_away(self) -> None:
        """There are too many of us: say so in S3's words, which SDKs wait upon, and close."""
        self._refuse(Refusal(503, "SlowDown", "Please reduce your request rate."))

    def abort(self) -> None:
        self._writer.break_off()

    # ---- answering

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def _next(self) -> Exchange | ConnectRequest | Refusal | None:
        while not self._queue:
            if self._no_more or self._writer.lost:
                return None
            self._waiter = self._loop.create_future()
            await self._waiter
        item = self._queue.popleft()
        if len(self._queue) == self._server.limits.ahead - 1:
            self.resume_reading()
        return item

    async def _serve(self) -> None:
        try:
            while (item := await self._next()) is not None:
                self._answering = True
                if isinstance(item, ConnectRequest):
                    await self._hand_over(item)
                    return
                if not await self._serve_one(item):
                    await self._linger(item)
                    break
                self._answering = False
                self._set_deadline(self._now())
            self._transport.close()
        except Incomplete:
            self._writer.break_off()
        finally:
            self._server.closed(self)
            self._reader.close()

    async def _hand_over(self, item: ConnectRequest) -> None:
        assert self._server.connect is not None
        self.deadline = inf
        tunnel = Tunnel(self._transport, item.host, item.port, headers=item.headers, peer=self._peer, rest=item.rest)
        try:
            await self._server.connect(tunnel)
        except Upstream:
            self._writer.break_off()
        except Exception as bug:  # noqa: BLE001 - the last place that can report it
            self._server.on_bug(None, bug)
            self._writer.break_off()

    async def _serve_one(self, item: Exchange | Refusal) -> bool:
        """Answer one; True when another may follow."""
        if isinstance(item, Refusal):
            self._write(error_response(item.status, item.code, item.message), "GET", keep=False, chunkable=False)
            return False
        response = await self._ask(item.request)
        keep = item.keep and not self._server.shutting_down and not (self._no_more and not self._queue) and self._reusable(item)
        rest = self._write(response, item.request.method, keep=keep, chunkable=not item.old)
        if rest is not None:
            await self._stream(rest, chunked=not item.old and rest.size is None)
        if self._writer.full:
            await self._writer.drain()
        return keep and (item.incoming_body is None or await self._skip(item.incoming_body))

    async def _ask(self, request: Request) -> Response:
        try:
            return await self._server.handler(request)
        except Upstream as fault:
            if self._writer.lost:
                raise Incomplete("The client went before it had its answer.") from fault
            return error_response(503, "ServiceUnavailable", "Please reduce your request rate.")
        except ApiError as error:  # of the request's own body, when the handler has no form for it
            return error_response(error.status, error.code, error.message)
        except Exception as bug:  # noqa: BLE001 - the last place that can answer; it is reported
            self._server.on_bug(request, bug)
            return error_response(500, "InternalError", "We encountered an internal error. Please try again.")

    def _reusable(self, item: Exchange) -> bool:
        incoming_body = item.incoming_body
        if incoming_body is None or incoming_body.complete or incoming_body.not_started:
            return True
        return not incoming_body.at_end and (incoming_body.remaining or 0) <= self._server.limits.discard_bytes

    async def _skip(self, incoming_body: IncomingBody) -> bool:
        """Get past a body that the handler did not want."""
        if incoming_body.complete:
            return True
        if incoming_body.not_started:  # the client knows the outcome before it sent: the next bytes are a request line (botocore)
            self._reader.reset()
            return True
        return await incoming_body.discard(self._server.limits.discard_bytes)

    def _write(self, response: Response, method: str, *, keep: bool, chunkable: bool) -> Body | None:
        """The head, and the body where it is here and small. Gives back the body that is still to be sent."""
        body, writer = response.body, self._writer
        try:
            head = response_head(response, self._server.date_and_server, method=method, keep=keep, chunkable=chunkable)
        except ValueError as bug:
            self._server.on_bug(None, bug)
            raise Incomplete("The answer cannot be written.") from bug
        if not sends_body(response.status, method):
            writer.write(head)
        elif body.small is not None and len(body.small) <= ONE_WRITE_BYTES:
            writer.write(head + body.small)
        else:
            writer.write(head)
            return body
        return None

    async def _stream(self, body: Body, *, chunked: bool) -> None:
        try:
            await send_stream(self._writer, body, chunked=chunked)
        except Incomplete:
            raise
        except Exception as error:
            if not isinstance(error, (Upstream, ApiError)):
                self._server.on_bug(None, error)
            raise Incomplete("The body of an answer broke.") from error

    async def _linger(self, item: Exchange | Refusal) -> None:
        """Our last word must arrive: a socket closed with unread bytes sends RST, which destroys what the client has not read."""
        await self._writer.flush()
        incoming_body = None if isinstance(item, Refusal) else item.incoming_body
        if isinstance(item, Exchange) and (incoming_body is None or incoming_body.complete):
            return
        self._deaf = self._lingering = True
        self.deadline = self._now() + self._server.limits.linger_s
        self._writer.end()
        if incoming_body is not None and not incoming_body.at_end:
            self._reader.reset()
        while self._lingering and not self._half_closed and not self._writer.lost:
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter


def error_response(status: int, code: str, message: str) -> Response:
    """An answer for what never became a request, or broke us: in the form in which S3 clients read errors."""
    request_id = os.urandom(8).hex().upper()
    known = f"<Code>{code}</Code><Message>{escape(message)}</Message><RequestId>{request_id}</RequestId>"
    document = f'<?xml version="1.0" encoding="UTF-8"?>\n<Error>{known}</Error>'
    return Response(status, {"Content-Type": "application/xml", "x-amz-request-id": request_id}, Body.of(document.encode()))
