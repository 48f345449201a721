"""Measures the error of an emulated round trip by a 1-byte echo."""

from __future__ import annotations

import asyncio
import time
from typing import cast

from atoll.net import tcp_sockets
from atoll.net.precise_timers import Timers
from atoll.net.wan_emulation import Link, dial_over


class _Echo(asyncio.Protocol):
    def __init__(self) -> None:
        self.gone = asyncio.Event()

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._transport.write(data)


class _Asker(asyncio.Protocol):
    def __init__(self) -> None:
        self.received = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.received.set()

    async def ask(self) -> float:
        """One byte there and back, in seconds."""
        self.received.clear()
        begun = time.monotonic()
        self.transport.write(b"?")
        await self.received.wait()
        return time.monotonic() - begun


async def echo_errors_ms(link: Link, timers: Timers, rounds: int) -> list[float]:
    """For each of `rounds` echoes: how much longer than `link.rtt_ms` it took (never less, unless there is jitter)."""
    sock = tcp_sockets.bound("127.0.0.1")
    echo, asker = _Echo(), _Asker()
    servers = await tcp_sockets.accept([sock], lambda: echo)
    try:
        await dial_over(tcp_sockets.dial("127.0.0.1", tcp_sockets.port_of(sock)), link, timers)(asker)
        errors = [await asker.ask() * 1000 - link.rtt_ms for _ in range(rounds)]
        asker.transport.close()
        await echo.gone.wait()
    finally:
        servers[0].close()
    return errors
