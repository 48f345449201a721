"""TLS on a connection, without losing the end of a stream.

uvloop's own TLS drops what it has decrypted when the peer closes while reading is paused (performance.md, lesson 16: 78 of
80 bodies of 2 MB came short). So TLS here is always asyncio's SSLProtocol on top of the loop's plain TCP: for listeners, for
a CONNECT tunnel in place, and for calls.
"""

from __future__ import annotations

import asyncio
import ssl
from asyncio import sslproto
from collections.abc import Callable
from typing import cast

from atoll.domain.errors import Upstream
from atoll.domain.os_error_messages import in_words
from atoll.net.connect_request import deliver
from atoll.net.tcp_sockets import Dial

HANDSHAKE = 22  # the first byte of every TLS connection (RFC 8446 section 5.1); no HTTP method begins so
HANDSHAKE_S = 30  # until a handshake is given up
SHUTDOWN_S = 5  # that a peer may take to answer close_notify

Factory = Callable[[], asyncio.BaseProtocol]


def over_tls(factory: Factory, context: ssl.SSLContext) -> Factory:
    """What `factory` makes, behind a TLS server: for listeners, and for `Tunnel.take`."""

    def secured() -> asyncio.BaseProtocol:
        loop = asyncio.get_running_loop()
        return sslproto.SSLProtocol(
            loop,
            factory(),
            context,
            cast("asyncio.Future[None]", None),  # nobody waits for the handshake of a caller
            server_side=True,
            ssl_handshake_timeout=HANDSHAKE_S,
            ssl_shutdown_timeout=SHUTDOWN_S,
        )

    return secured


def tls_or_plain(secured: Factory, plain: Factory) -> Factory:
    """What the first byte asks for. Clients send CONNECT for plain http too (Node's fetch, curl --proxytunnel)."""
    return lambda: _FirstByte(secured, plain)


class _FirstByte(asyncio.Protocol):
    """Gives its connection away as soon as anything is heard."""

    def __init__(self, secured: Factory, plain: Factory) -> None:
        self._secured, self._plain = secured, plain

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._patience = asyncio.get_running_loop().call_later(HANDSHAKE_S, self._transport.abort)

    def data_received(self, data: bytes) -> None:
        self._patience.cancel()
        protocol = self._secured() if data[0] == HANDSHAKE else self._plain()
        self._transport.set_protocol(protocol)
        protocol.connection_made(self._transport)
        deliver(protocol, data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._patience.cancel()


def dial_tls(dial: Dial, context: ssl.SSLContext, name: str) -> Dial:
    """A call whose peer must prove that it is `name`, over any other kind of call. Raises Upstream."""

    async def call(protocol: asyncio.BaseProtocol) -> None:
        loop = asyncio.get_running_loop()
        shaken: asyncio.Future[None] = loop.create_future()
        secured = sslproto.SSLProtocol(
            loop,
            protocol,
            context,
            shaken,
            server_hostname=name,
            ssl_handshake_timeout=HANDSHAKE_S,
            ssl_shutdown_timeout=SHUTDOWN_S,
        )
        await dial(secured)
        try:
            await shaken
        except OSError as error:  # ssl.SSLError among them
            raise Upstream(f"TLS with {name} failed: {in_words(error)}") from error

    return call
