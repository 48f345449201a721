"""Both ends of one connection on this machine: ours as a transport, the peer's as a bare socket."""

import asyncio
import socket
from contextlib import asynccontextmanager, closing

from atoll.net import tcp_sockets
from net.servers import PATIENCE_S


@asynccontextmanager
async def connected(protocol):
    """The transport of `protocol`, and the peer's socket."""
    with tcp_sockets.bound("127.0.0.1") as door:
        ours = socket.create_connection(door.getsockname())
        with closing(door.accept()[0]) as peer:
            peer.setblocking(False)
            transport, _ = await asyncio.get_running_loop().create_connection(lambda: protocol, sock=ours)
            try:
                yield transport, peer
            finally:
                transport.abort()


async def until_end(peer):
    """All that the peer hears, up to a clean end."""
    received = b""
    async with asyncio.timeout(PATIENCE_S):
        while piece := await asyncio.get_running_loop().sock_recv(peer, 1 << 20):
            received += piece
    return received


async def say(peer, data):
    await asyncio.get_running_loop().sock_sendall(peer, data)
