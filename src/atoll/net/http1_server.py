"""The HTTP/1.1 server: serves a Handler on sockets, and stops without loss."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable
from types import TracebackType
from typing import Self

from atoll.domain.clock import Clock
from atoll.domain.http_message import Request
from atoll.domain.interfaces import Handler
from atoll.net import tcp_sockets
from atoll.net.connect_request import Connect
from atoll.net.http1_serializer import SERVER, DateAndServer
from atoll.net.http1_server_connection import Connection, Limits

SWEEP_S = 1.0  # how often deadlines are looked at, and so how late a timeout may come
LIMITS = Limits()


def _ignore(request: Request | None, bug: Exception) -> None:
    """Nobody asked to hear of bugs."""


class Http1Server:
    """All connections of one Handler: `async with Http1Server(...) as server: await server.listen(sockets)`.

    Owns one task per connection. `connect` is given the CONNECT requests; without it they are refused. `on_bug` hears what
    a handler raised. Leaving the context closes without patience; `close(grace_s)` before it finishes what runs.
    """

    def __init__(
        self,
        handler: Handler,
        *,
        clock: Clock,
        limits: Limits = LIMITS,
        connect: Connect | None = None,
        on_bug: Callable[[Request | None, Exception], None] = _ignore,
        server: str = SERVER,
    ) -> None:
        self.handler = handler
        self.clock = clock
        self.limits = limits
        self.connect = connect
        self.on_bug = on_bug
        self.date_and_server = DateAndServer(clock.now, server)
        self.shutting_down = False
        self._connections: dict[Connection, asyncio.Task[None]] = {}
        self._turned_away: set[Connection] = set()
        self._listeners: list[asyncio.Server] = []
        self._group = asyncio.TaskGroup()
        self._sweeper: asyncio.Task[None] | None = None
        self._empty = asyncio.Event()
        self._empty.set()

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        self._sweeper = self._group.create_task(self._sweep())
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._abort()
        await self._group.__aexit__(None, None, None)  # not with `error`: it shall not arrive wrapped into a group

    def __len__(self) -> int:
        """How many connections are open."""
        return len(self._connections)

    def protocol(self, *, secure: bool = False, peer: str = "") -> Connection:
        """One more connection. `peer` when the transport does not know the client's address."""
        return Connection(self, secure=secure, peer=peer)

    async def listen(
        self, sockets: Iterable[socket.socket], over: Callable[[Callable[[], asyncio.BaseProtocol]], Callable[[], asyncio.BaseProtocol]] | None = None
    ) -> None:
        """Accept on bound sockets; `at_end` puts TLS between (tls.over_tls)."""
        secure = over is not None
        plain: Callable[[], asyncio.BaseProtocol] = lambda: self.protocol(secure=secure)  # noqa: E731 - typed as what it is
        self._listeners += await tcp_sockets.accept(sockets, over(plain) if over is not None else plain)

    def opened(self, connection: Connection, serve: Callable[[], Awaitable[None]]) -> None:
        if self.shutting_down:
            connection.abort()
        elif len(self._connections) - len(self._turned_away) >= self.limits.connections:
            self._refuse_connection(connection)
        self._empty.clear()
        self._connections[connection] = self._group.create_task(self._run(connection, serve))

    def _refuse_connection(self, connection: Connection) -> None:
        """They do not count as served: who lingers over a refusal keeps nobody out."""
        if len(self._turned_away) >= self.limits.turned_away:
            connection.abort()
        else:
            connection.turn_away()
        self._turned_away.add(connection)

    async def _run(self, connection: Connection, serve: Callable[[], Awaitable[None]]) -> None:
        try:
            await serve()
        except Exception as bug:  # noqa: BLE001 - one broken connection must not end the others
            self.on_bug(None, bug)
            connection.abort()

    def closed(self, connection: Connection) -> None:
        self._connections.pop(connection, None)
        self._turned_away.discard(connection)
        if not self._connections:
            self._empty.set()

    async def close(self, grace_s: float) -> None:
        """Accept no more, let running requests finish for up to `grace_s`, then cut the rest."""
        self.shutting_down = True
        for listener in self._listeners:
            listener.close()
        for connection in tuple(self._connections):
            connection.leave()
        if grace_s > 0:
            try:
                async with asyncio.timeout(grace_s):
                    await self._empty.wait()
            except TimeoutError:
                pass
        self._abort()

    def _abort(self) -> None:
        self.shutting_down = True
        for listener in self._listeners:
            listener.close()
        for connection, task in tuple(self._connections.items()):
            connection.abort()
            task.cancel()
        if self._sweeper is not None:
            self._sweeper.cancel()

    async def _sweep(self) -> None:
        while True:
            await self.clock.sleep(SWEEP_S)
            now = self.clock.monotonic()
            for connection in [each for each in self._connections if each.deadline <= now]:
                connection.expire()

