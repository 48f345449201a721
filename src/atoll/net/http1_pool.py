"""A pool of warm HTTP/1.1 connections to one origin."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from atoll.domain.clock import Clock
from atoll.domain.errors import Unreachable, Upstream
from atoll.domain.http_message import Request, Response
from atoll.domain.os_error_messages import in_words
from atoll.net.http1_client_connection import ConnectionGone, OriginConnection
from atoll.net.tcp_sockets import Dial


@dataclass(frozen=True, slots=True)
class PoolLimits:
    """What one pool may use. All of them are ours."""

    connections: int = 128  # open at a time, busy and idle
    waiting: int = 1024  # requests that wait for a connection; more are refused
    wait_s: float = 10  # that long
    connect_s: float = 10  # connecting, TLS included
    response_s: float = 120  # from the end of the request to its answer (a small one with its body)
    body_idle_s: float = 60  # without one byte of an answer's body that somebody waits for
    write_idle_s: float = 60  # without the origin taking a byte
    idle_s: float = 60  # then an idle connection is not used again; less than the 75 s after which our server closes it


POOL_LIMITS = PoolLimits()
SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))


def _may_be_repeated(request: Request) -> bool:
    """A stream of which nothing was read has not been sent, so its request cannot have been carried out either."""
    return request.body.unread and (request.method in SAFE_METHODS or request.body.small is None)


class Pool:
    """A Handler that asks one origin. Raises Upstream (Incomplete when an answer's body is cut) and what the request's body raises.

    A safe request (RFC 9110 section 9.2.1) that found its warm connection closed, before any byte of an answer, is sent once
    more on a fresh one if its body can still be read. Any other whose body went out may have been done: a conditional write would be refused by its own
    first sending, a delete would leave two markers. A streamed body that raises breaks the connection before its end is sent.
    """

    def __init__(self, dial: Dial, authority: str, *, clock: Clock, limits: PoolLimits = POOL_LIMITS) -> None:
        self._dial = dial
        self._authority = authority
        self._clock = clock
        self._limits = limits
        self._idle: list[OriginConnection] = []
        self._all: set[OriginConnection] = set()
        self._opening = 0
        self._queue: deque[asyncio.Future[None]] = deque()
        self._closed = False

    def __repr__(self) -> str:
        return f"<Pool {self._authority}: {len(self._all)} open, {len(self._idle)} idle, {len(self._queue)} waiting>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    @property
    def open(self) -> int:
        return len(self._all)

    @property
    def idle(self) -> int:
        return len(self._idle)

    async def __call__(self, request: Request) -> Response:
        connection = await self._checkout()
        try:
            return await self._ask(connection, request)
        except ConnectionGone:
            if not connection.used_before or not _may_be_repeated(request):
                raise
        return await self._ask(await self._new_connection(), request)

    async def _ask(self, connection: OriginConnection, request: Request) -> Response:
        limits = self._limits
        return await connection.ask(request, self._authority, response_s=limits.response_s, idle_s=limits.body_idle_s)

    async def warm(self, count: int) -> None:
        """Have at least `count` connections open (as far as the limit allows)."""
        for _ in range(min(count, self._limits.connections) - len(self._all) - self._opening):
            self._on_free(await self._new_connection())

    async def close(self) -> None:
        """Cut everything; later requests raise Upstream."""
        self._closed = True
        for connection in tuple(self._all):
            connection.abort()
        self._idle.clear()
        while self._queue:
            self._wake_one()

    # ---- which connection

    async def _checkout(self) -> OriginConnection:
        while True:
            if self._closed:
                raise Upstream(f"The pool to {self._authority} is closed.")
            connection = self._warm_one()
            if connection is not None:
                return connection
            if len(self._all) + self._opening < self._limits.connections:
                return await self._new_connection()
            await self._wait()

    def _warm_one(self) -> OriginConnection | None:
        """The one used last: its congestion window is the widest, and the others may grow old."""
        oldest = self._clock.monotonic() - self._limits.idle_s
        while self._idle:
            connection = self._idle.pop()
            if connection.usable and connection.idle_since >= oldest:
                return connection
            connection.abort()
        return None

    async def _new_connection(self) -> OriginConnection:
        connection = OriginConnection(self._on_free, self._on_lost, self._limits.write_idle_s)
        self._opening += 1
        try:
            async with asyncio.timeout(self._limits.connect_s):
                await self._dial(connection)
        except TimeoutError as error:
            raise Unreachable(f"{self._authority} did not accept a connection within {self._limits.connect_s} s.") from error
        except OSError as error:
            raise Unreachable(f"{self._authority} cannot be reached: {in_words(error)}") from error
        finally:
            self._opening -= 1
            if not connection.usable:
                self._wake_one()
        if not connection.usable:
            raise Unreachable(f"{self._authority} closed a new connection.")
        self._all.add(connection)
        return connection

    async def _wait(self) -> None:
        if len(self._queue) >= self._limits.waiting:
            raise Upstream(f"{len(self._queue)} requests wait for {self._authority} already.")
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        try:
            async with asyncio.timeout(self._limits.wait_s):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():
                self._wake_one()  # it was this one's turn: let it not be lost
            elif turn in self._queue:
                self._queue.remove(turn)
            if isinstance(error, TimeoutError):
                raise Upstream(f"No connection to {self._authority} became free within {self._limits.wait_s} s.") from error
            raise

    def _on_free(self, connection: OriginConnection) -> None:
        connection.idle_since = self._clock.monotonic()
        self._idle.append(connection)
        self._wake_one()

    def _on_lost(self, connection: OriginConnection) -> None:
        self._all.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)
        self._wake_one()

    def _wake_one(self) -> None:
        while self._queue:
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_result(None)
                return
