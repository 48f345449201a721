"""One HTTP/1.1 connection to an origin: one request at a time, answers whole or an error."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import cast

import httptools

from atoll.domain.errors import Incomplete, Upstream
from atoll.domain.http_message import EMPTY, Body, Request, Response
from atoll.domain.quotas import KiB
from atoll.net.body_stream import IncomingBody
from atoll.net.http1_serializer import TransportWriter, chunked_whole, request_head, send_stream

SMALL_RESPONSE_BYTES = 64 * KiB  # answers up to here are handed over whole, and their connection is free at once
HEAD_MAX_BYTES = 64 * KiB
HEADERS_MAX = 200
QUIET_MAX_BYTES = HEAD_MAX_BYTES + 256 * KiB


class ConnectionGone(Incomplete):
    """The connection went before one byte of the answer came: the request may be sent again elsewhere."""


class ResponseBody:
    """The iterator over a streamed answer. Dropped before its end, it takes its connection with it."""

    __slots__ = ("_connection", "_idle_s", "_incoming_body")

    def __init__(self, connection: OriginConnection, incoming_body: IncomingBody, idle_s: float) -> None:
        self._connection = connection
        self._incoming_body = incoming_body
        self._idle_s = idle_s

    def __aiter__(self) -> ResponseBody:
        return self

    async def __anext__(self) -> bytes:
        if self._incoming_body.ready:
            return await self._incoming_body.__anext__()
        try:
            async with asyncio.timeout(self._idle_s):
                return await self._incoming_body.__anext__()
        except TimeoutError as error:
            self._connection.abort()
            raise Incomplete(f"The origin sent nothing for {self._idle_s} s.") from error

    def __del__(self) -> None:
        if not self._incoming_body.complete:
            self._connection.abandoned()


class OriginConnection(asyncio.Protocol):
    """A connection that asks. `on_free` is called when it may take the next request, `on_lost` when it is gone."""

    def __init__(
        self,
        on_free: Callable[[OriginConnection], None],
        on_lost: Callable[[OriginConnection], None],
        write_idle_s: float | None = None,
    ) -> None:
        self._write_idle_s = write_idle_s
        self._on_free = on_free
        self._on_lost = on_lost
        self._writer: TransportWriter | None = None
        self._halts = 0
        self._used = False
        self.used_before = False  # the request under way is not its first
        self.idle_since = 0.0
        self.lost = False
        self._answer: asyncio.Future[Response] | None = None
        self._sent = True
        self._begin()

    def _begin(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._status = 0
        self._headers: dict[str, str] = {}
        self._fields = 0
        self._head_bytes = 0
        self._quiet_bytes = 0
        self._response_started = False
        self._in_head = True
        self._reusable = True
        self._method = "GET"
        self._incoming_body: IncomingBody | None = None
        self._invited: asyncio.Event | None = None  # set by 100 Continue, for a body that waits for one
        self._idle_s = 0.0
        self._complete = False
        self._handed_over = False

    # ---- the transport speaks

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._loop = asyncio.get_running_loop()
        self._writer = TransportWriter(self._transport, self._write_idle_s)

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        if self._writer is not None:
            self._writer.lose()
        self._fail(f"The origin closed the connection{f': {exc}' if exc else ''}.")
        self._on_lost(self)

    def eof_received(self) -> bool:
        return False

    def pause_writing(self) -> None:
        if self._writer is not None:
            self._writer.pause()

    def resume_writing(self) -> None:
        if self._writer is not None:
            self._writer.resume()

    def data_received(self, data: bytes) -> None:
        if self._answer is None or self._complete:
            self.abort()  # nobody asked
            return
        self._response_started = True
        self._quiet_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._make_unusable(f"The origin's answer is not HTTP/1.1: {error}; {error.__context__}.")
            return
        if self._quiet_bytes > QUIET_MAX_BYTES:
            self._make_unusable("The origin's answer has no end of its headers.")
        elif not self._in_head and not self._handed_over and self._streamed():
            self._hand_over(self._stream())

    def _fail(self, why: str) -> None:
        kind = Incomplete if self._response_started else ConnectionGone
        if self._incoming_body is not None:
            self._incoming_body.fail(Incomplete(why))
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(kind(why))

    def _make_unusable(self, why: str) -> None:
        self._response_started = True
        self._fail(why)
        self.abort()

    # ---- reading

    def pause_reading(self) -> None:
        self._halts += 1
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        self._halts -= 1
        if not self._halts and not self.lost:
            self._transport.resume_reading()

    def on_message_begin(self) -> None:
        if self._complete:
            raise Upstream("a second answer to one request")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._fields += 1
        self._head_bytes += len(name) + len(value) + 4
        if self._fields > HEADERS_MAX or self._head_bytes > HEAD_MAX_BYTES:
            raise Upstream("The origin's header section is too large.")
        if not self._in_head:
            return
        key, text = name.decode("latin-1").lower(), value.decode("latin-1").rstrip(" \t")
        self._headers[key] = f"{self._headers[key]},{text}" if key in self._headers else text

    def on_headers_complete(self) -> None:
        self._status = self._parser.get_status_code()
        if self._status < 200:
            return
        headers = self._headers
        self._in_head = False
        self._quiet_bytes = 0
        closing = "close" in headers.get("connection", "").lower() or self._parser.get_http_version() != "1.1"
        self._reusable = not closing
        if self._method == "HEAD" or self._status in (204, 304):
            self._finish()
        elif "transfer-encoding" in headers:
            self._incoming_body = IncomingBody(self, None)
        elif "content-length" in headers:
            self._incoming_body = IncomingBody(self, int(headers["content-length"]))
        else:
            raise Upstream("The origin's answer has no length.")  # its end could not be told from a cut

    def on_chunk_header(self) -> None:
        self._quiet_bytes = 0

    def on_body(self, piece: bytes) -> None:
        self._quiet_bytes = 0
        if self._incoming_body is None:
            raise Upstream("a body where none may be")  # after HEAD, or with 204
        self._incoming_body.push(piece)

    def on_message_complete(self) -> None:
        if self._status < 200:
            if self._status == HTTPStatus.CONTINUE and self._invited is not None:
                self._invited.set()
            self._headers, self._fields, self._head_bytes = {}, 0, 0
        elif not self._complete:
            self._finish()

    def _finish(self) -> None:
        self._complete = True
        if self._incoming_body is not None:
            self._incoming_body.finish()
        if not self._handed_over:
            whole = EMPTY if self._incoming_body is None else self._small_body(self._incoming_body)
            self._hand_over(whole)
        self._free()

    def _small_body(self, incoming_body: IncomingBody) -> Body:
        whole = incoming_body.small(SMALL_RESPONSE_BYTES)
        return Body(incoming_body, incoming_body.length) if whole is None else Body.of(whole)

    def _streamed(self) -> bool:
        incoming_body = self._incoming_body
        return incoming_body is not None and (incoming_body.length is None or incoming_body.length > SMALL_RESPONSE_BYTES)

    def _stream(self) -> Body:
        assert self._incoming_body is not None
        return Body(ResponseBody(self, self._incoming_body, self._idle_s), self._incoming_body.length)

    def _hand_over(self, body: Body) -> None:
        self._handed_over = True
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(Response(self._status, self._headers, body))

    def _free(self) -> None:
        if not self._complete or not self._sent:
            return
        if self._reusable and self.usable:
            self._on_free(self)
        else:
            self.abort()

    @property
    def usable(self) -> bool:
        return self._writer is not None and not self.lost and not self._transport.is_closing()

    def abandoned(self) -> None:
        """Nobody will read the rest of the answer."""
        if not self._loop.is_closed():
            self.abort()

    def abort(self) -> None:
        if self._writer is not None and not self.lost:
            self._writer.break_off()

    # ---- asking

    async def ask(self, request: Request, authority: str, *, response_s: float, idle_s: float) -> Response:
        """Send one request and return its answer. Raises Upstream; Gone when it may be sent again; what the body raises."""
        self._begin()
        self.used_before, self._used = self._used, True
        self._method = request.method
        self._idle_s = idle_s
        self._sent = False
        self._answer = asyncio.get_running_loop().create_future()
        try:
            head = request_head(request.method, request.target, request.headers, _framing(request, authority))
            if request.body.small is not None:
                whole = chunked_whole(request.body.small) if request.body.length is None else request.body.small
                return await self._ask_small(head, whole, response_s)
            if "expect" in request.headers:
                self._invited = asyncio.Event()
            return await self._ask_streaming(head, request.body, response_s)
        except TimeoutError as error:
            self.abort()
            raise Upstream(f"The origin did not answer within {response_s} s.") from error
        except BaseException:
            self.abort()
            raise

    async def _ask_small(self, head: bytes, body: bytes, response_s: float) -> Response:
        writer, response = self._talk()
        if not self.usable:
            raise ConnectionGone("The connection was closed.")
        writer.write(head + body if body else head)
        self._sent = True
        async with asyncio.timeout(response_s):
            return await response

    async def _ask_streaming(self, head: bytes, body: Body, response_s: float) -> Response:
        """The answer may come before all is sent (a refusal): then the rest is not sent, and the connection not used again,
        unless the body was still waiting to be asked for."""
        _, response = self._talk()
        async with asyncio.timeout(None) as patience, asyncio.TaskGroup() as group:
            sending = group.create_task(self._send(head, body, patience, response_s))
            await asyncio.wait([response])  # not `await response`: what it raises shall not be wrapped into a group
            sending.cancel()
        if not self._sent:
            self._reusable = self._reusable and self._invited is not None and not self._invited.is_set()
            self._sent = True
            self._free()
        return response.result()

    async def _send(self, head: bytes, body: Body, patience: asyncio.Timeout, response_s: float) -> None:
        """A body that raises breaks the connection, so that the origin sees a cut one, and is what `ask` raises."""
        writer, response = self._talk()
        try:
            writer.write(head)
            if self._invited is not None:
                patience.reschedule(self._loop.time() + response_s)
                await self._invited.wait()
                patience.reschedule(None)
            await send_stream(writer, body, chunked=body.length is None)
        except Exception as error:  # noqa: BLE001 - it travels through the future
            if not response.done():
                response.set_exception(error)
            self.abort()
        else:
            self._sent = True
            patience.reschedule(self._loop.time() + response_s)
            self._free()

    def _talk(self) -> tuple[TransportWriter, asyncio.Future[Response]]:
        assert self._writer is not None
        assert self._answer is not None
        return self._writer, self._answer


def _framing(request: Request, authority: str) -> str:
    """Host, and how the body will be sent. A body that waits to be asked for waits for the origin's word, not for ours."""
    lines = "" if "host" in request.headers else f"Host: {authority}\r\n"
    if request.body.length != 0 and "expect" in request.headers:
        lines += f"Expect: {request.headers['expect']}\r\n"
    if request.body.length is None:
        return lines + "Transfer-Encoding: chunked\r\n"
    if request.body.length or request.method in ("PUT", "POST", "PATCH") or "content-length" in request.headers:
        return f"{lines}Content-Length: {request.body.length}\r\n"  # RFC 9110 §8.6
    return lines
