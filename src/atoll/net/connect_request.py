"""A CONNECT request, before it is decided where it leads."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import cast

from atoll.domain.errors import Incomplete

ESTABLISHED = b"HTTP/1.1 200 Connection Established\r\n\r\n"


class Tunnel:
    """A client's connection that waits, reading paused, for a decision: `accept` and `take`, or `refuse`."""

    def __init__(
        self, transport: asyncio.Transport, host: str, port: int, *, headers: Mapping[str, str], peer: str, rest: bytes = b""
    ) -> None:
        self.transport = transport
        self.host = host
        self.port = port
        self.headers = headers
        self.peer = peer
        self._rest = rest

    @property
    def lost(self) -> bool:
        return self.transport.is_closing()

    def accept(self) -> None:
        """Tell the client that it may begin. Raises Incomplete when it has gone."""
        if self.lost:
            raise Incomplete("The client went before its tunnel was open.")
        self.transport.write(ESTABLISHED)

    def refuse(self, status: int, reason: str) -> None:
        """Say no. Clients show at best the status of this (clients.md 2): an error inside the tunnel is kinder."""
        if not self.lost:
            text = reason.encode("latin-1", "replace")
            head = f"HTTP/1.1 {status} Refused\r\nContent-Type: text/plain\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n"
            self.transport.write(head.encode() + text)
        self.transport.close()

    def take(self, protocol: asyncio.BaseProtocol) -> None:
        """From here on `protocol` owns the connection, the client's first bytes included. Raises Incomplete if it is gone."""
        if self.lost:
            raise Incomplete("The client went before its tunnel was open.")
        self.transport.set_protocol(protocol)
        protocol.connection_made(self.transport)
        rest, self._rest = self._rest, b""
        if rest:
            deliver(protocol, rest)
        self.transport.resume_reading()


Connect = Callable[[Tunnel], Awaitable[None]]


def deliver(protocol: asyncio.BaseProtocol, data: bytes) -> None:
    """Give bytes to a protocol of either kind."""
    if isinstance(protocol, asyncio.BufferedProtocol):
        view = memoryview(data)
        while view:
            buffer = memoryview(protocol.get_buffer(len(view)))
            count = min(len(buffer), len(view))
            buffer[:count] = view[:count]
            protocol.buffer_updated(count)
            view = view[count:]
    else:
        cast("asyncio.Protocol", protocol).data_received(data)
