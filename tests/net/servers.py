"""What the tests of this room stand on: a clock one can turn, a served handler, and a client that sees every byte."""

import asyncio
import heapq
from contextlib import asynccontextmanager

from atoll.domain.http_message import Body, Response
from atoll.net import tcp_sockets
from atoll.net.http1_server import Http1Server

PATIENCE_S = 10


class Dial:
    """A clock that stands still until it is turned."""

    def __init__(self):
        self.time = 1_000_000.0
        self._sleepers = []

    def now(self):
        return self.time

    def monotonic(self):
        return self.time

    async def sleep(self, seconds):
        future = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.time + seconds, id(future), future))
        await future

    def advance(self, seconds):
        self.time += seconds
        while self._sleepers and self._sleepers[0][0] <= self.time:
            future = heapq.heappop(self._sleepers)[2]
            if not future.done():
                future.set_result(None)


class Wire:
    """A client's side of one connection."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    def send(self, data):
        self.writer.write(data)

    def half_close(self):
        self.writer.write_eof()

    def reset(self):
        self.writer.transport.abort()

    async def head(self):
        async with asyncio.timeout(PATIENCE_S):
            raw = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = raw[:-4].split("\r\n")
        return int(first.split(" ")[1]), {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}

    async def response(self, method="GET"):
        """Status, headers and body of the next answer."""
        status, headers = await self.head()
        async with asyncio.timeout(PATIENCE_S):
            if method == "HEAD" or status in (100, 204, 304):
                return status, headers, b""
            if headers.get("transfer-encoding") == "chunked":
                return status, headers, await self._chunks()
            return status, headers, await self.reader.readexactly(int(headers["content-length"]))

    async def _chunks(self):
        body = b""
        while size := int(await self.reader.readline(), 16):
            body += await self.reader.readexactly(size)
            await self.reader.readexactly(2)
        await self.reader.readexactly(2)
        return body

    async def rest(self):
        """Everything until the server closes."""
        async with asyncio.timeout(PATIENCE_S):
            return await self.reader.read()

    async def cut(self):
        """What arrived before the connection was reset; fails when it was ended cleanly."""
        pieces = []
        async with asyncio.timeout(PATIENCE_S):
            while True:
                try:
                    piece = await self.reader.read(65536)
                except ConnectionResetError:
                    return b"".join(pieces)
                assert piece, "a clean end"
                pieces.append(piece)


@asynccontextmanager
async def wire_to(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=16 * 1024 * 1024)
    try:
        yield Wire(reader, writer)
    finally:
        writer.transport.abort()


@asynccontextmanager
async def serving(handler, *, clock=None, **options):
    """A server on a free port; yields it and the port."""
    async with Http1Server(handler, clock=clock or Dial(), **options) as server:
        sock = tcp_sockets.bound("127.0.0.1")
        await server.listen([sock])
        yield server, tcp_sockets.port_of(sock)


async def echo(request):
    """Answers with what it was sent."""
    pieces = [piece async for piece in request.body]
    headers = {"x-method": request.method, "x-target": request.target, "x-host": request.headers["host"]}
    return Response(200, headers, Body.of(b"".join(pieces)))


async def settle(condition):
    """Let the loop turn until `condition()` holds."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0)
