"""Listening sockets and outgoing TCP connections."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable

from atoll.domain.errors import Unreachable
from atoll.domain.os_error_messages import in_words

BACKLOG = 1024  # connections that the kernel keeps for us until we accept

# Connects a protocol to its peer and returns once it may write. Raises Upstream.
Dial = Callable[[asyncio.BaseProtocol], Awaitable[None]]


def bound(host: str, port: int = 0, *, backlog: int = BACKLOG, shared: bool = False) -> socket.socket:
    """A listening socket, not yet served: it can be handed to a forked process. Port 0 takes a free one.

    `shared`: other processes of this user that say so too listen on the same port, and the kernel deals connections out among
    them (socket(7), SO_REUSEPORT). Raises OSError, naming the port.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        # no SO_REUSEPORT by default: a stale twin would take part of the connections (performance.md, lesson 18)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # accepted sockets inherit it on Linux
        sock.setblocking(False)
        sock.bind((host, port))
        sock.listen(backlog)
    except OSError as error:
        sock.close()
        raise OSError(error.errno, error.strerror, f"port {port}") from error
    return sock


def port_of(sock: socket.socket) -> int:
    return int(sock.getsockname()[1])


async def accept(sockets: Iterable[socket.socket], factory: Callable[[], asyncio.BaseProtocol]) -> list[asyncio.Server]:
    """Serve `factory` on sockets that are bound already."""
    loop = asyncio.get_running_loop()
    return [await loop.create_server(factory, sock=sock, backlog=BACKLOG) for sock in sockets]


def no_delay(transport: asyncio.BaseTransport) -> None:
    """Nagle cost 88 ms per call in one server (performance.md, lesson 17)."""
    sock = transport.get_extra_info("socket")
    if sock is not None and sock.family in (socket.AF_INET, socket.AF_INET6):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def dial(host: str, port: int) -> Dial:
    """Call one address."""

    async def call(protocol: asyncio.BaseProtocol) -> None:
        loop = asyncio.get_running_loop()
        try:
            transport, _ = await loop.create_connection(lambda: protocol, host, port)
        except OSError as error:
            raise Unreachable(f"{host}:{port} cannot be reached: {in_words(error)}") from error
        no_delay(transport)

    return call
