"""How the processes of a world call a region: connections to each of its processes, over the link between the places."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from atoll.domain.clock import Clock
from atoll.domain.interfaces import Handler
from atoll.gateway.peer_requests import Peer
from atoll.gateway.write_forwarding import Workers
from atoll.net.http1_pool import Pool
from atoll.net.tcp_sockets import Dial


def audience(worker: int) -> str:
    """What stands under the MAC of an envelope for this process of a region, so that no other takes it a second time."""
    return str(worker) if worker else ""


class RegionClient:
    """`carry` takes requests as they are (health, say), `peer` the ones of which `request.forwarded` tells for whom they are.

    `traffic_dials` reach the region's processes, the writer first. `version()` is how much control state the caller has seen.
    """

    def __init__(self, name: str, traffic_dials: Sequence[Dial], *, key: bytes, clock: Clock, version: Callable[[], int]) -> None:
        self.pools = [Pool(dial, name, clock=clock) for dial in traffic_dials]
        self.peers = [
            Peer(pool, key=key, clock=clock, version=version, audience=audience(worker)) for worker, pool in enumerate(self.pools)
        ]
        self.carry: Handler = _one_or(self.pools)
        self.peer: Handler = _one_or(self.peers)

    async def close(self) -> None:
        for pool in self.pools:
            await pool.close()


def _one_or(handlers: Sequence[Handler]) -> Handler:
    return handlers[0] if len(handlers) == 1 else Workers(handlers)
