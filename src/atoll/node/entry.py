"""What is the entry's process made of? One listener per place, each a proxy and a plain endpoint, and the links.

It keeps no objects and survives the loss of any region. A client that enters in Tokyo is in Tokyo: what it asks of Virginia
travels over the Tokyo-Virginia link.
"""

from __future__ import annotations

import zlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

from atoll.domain.clock import Clock
from atoll.domain.shapes import Handler
from atoll.gateway.authenticate import Authenticate
from atoll.gateway.front import GLOBAL_REGION, Front, Point, refuse_names
from atoll.gateway.metrics import Gauge, Metrics
from atoll.gateway.record import Recorder, RequestIds
from atoll.net.certificates import Leaves
from atoll.net.http1 import Http1Server
from atoll.net.tcp import Dial, dial
from atoll.net.timers import Timers
from atoll.net.tls import over_tls, tls_or_plain
from atoll.net.tunnel import Tunnel
from atoll.net.wan import Link, dial_over, pipe
from atoll.node.config import World
from atoll.node.region import refreshed
from atoll.node.region_client import RegionClient
from atoll.node.routing import MeasuredRouting
from atoll.rules.naming import Host, Named, is_literal, owned
from atoll.rules.routing import Chooser
from atoll.rules.signature import KeyCache
from atoll.services.iam.plane import Identities
from atoll.services.s3.records import BUCKETS
from atoll.services.s3control.plane import AccessPoints
from atoll.state import State
from atoll.wire.codec import codec

HTTP_PORT = 80  # a CONNECT to it carries plain HTTP
JITTER_SIGMAS = 5.0  # the world's jitter is a bound, a link's a standard deviation: five of them are as good as never exceeded


@dataclass(frozen=True, slots=True)
class Address:
    """Where a region listens on this machine: plain HTTP, and TLS for tunnels.

    `workers` are ports of its processes, one each, the writer's first; () when there is but one process, at `port`.
    """

    port: int
    tls: int
    workers: tuple[int, ...] = ()

    @property
    def each(self) -> tuple[int, ...]:
        """A port for every process, the writer's first."""
        return self.workers or (self.port,)


def link(world: World, a: str, b: str) -> Link:
    """The emulated path between two places."""
    seed = zlib.crc32(f"{a}>{b}".encode())
    return Link(world.distance(a, b).rtt_ms, world.jitter_ms / JITTER_SIGMAS if a != b else 0.0, seed=seed)


@dataclass(slots=True)
class Shared:
    """What the places of one entry have in common."""

    world: World
    state: State
    identities: Identities
    points: AccessPoints
    leaves: Leaves
    key: bytes
    clock: Clock
    timers: Timers
    record: Recorder
    metrics: Metrics
    ids: RequestIds
    addresses: Mapping[str, Address]
    cache: KeyCache = field(default_factory=KeyCache)

    def point(self, alias: str) -> Point | None:
        return self.points.by_alias(alias)

    def bucket_region(self, bucket: str) -> str | None:
        record = self.state.get(BUCKETS, bucket)
        return None if record is None else record.region


class Entrance:
    """One place of the entry: its links, its front, and what it does with a CONNECT."""

    def __init__(self, shared: Shared, place: str) -> None:
        self.place = place
        self._shared = shared
        world = shared.world
        self.links = {region: link(world, place, region) for region in world.regions}
        self.regions = {region: self._client(region) for region in world.regions}
        carriers = {region: client.carry for region, client in self.regions.items()}
        self.routing = MeasuredRouting(
            place, carriers, lambda region: world.distance(place, region).rtt_ms, shared.clock, Chooser()
        )
        self.front = self._front()

    def _client(self, region: str) -> RegionClient:
        shared = self._shared
        dials = [self._dial(region, port) for port in shared.addresses[region].each]
        return RegionClient(region, dials, key=shared.key, clock=shared.clock, version=lambda: shared.state.version)

    def _dial(self, region: str, port: int) -> Dial:
        return dial_over(dial("127.0.0.1", port), self.links[region], self._shared.timers)

    def _front(self) -> Front:
        shared = self._shared
        return Front(
            place=self.place,
            nearest=shared.world.nearest_regions(self.place),
            home=GLOBAL_REGION,
            peers={region: client.peer for region, client in self.regions.items()},
            points=shared.point,
            bucket_region=shared.bucket_region,
            routing=self.routing,
            authenticate=Authenticate(shared.identities, shared.cache, shared.world.compat),
            codec=codec("s3"),
            clock=shared.clock,
            ids=shared.ids,
            record=shared.record,
            metrics=shared.metrics,
            compat=shared.world.compat,
            refresh=partial(refreshed, shared.state),
        )

    def connector(self, here: Http1Server, refusing: Http1Server) -> Callable[[Tunnel], Awaitable[None]]:
        """What to do with a CONNECT: lead it over the link to its region, which ends TLS; or end it here, for global names,
        our own addresses, and names that are not ours, whose refusal is said inside."""

        async def connect(tunnel: Tunnel) -> None:
            name = tunnel.host.lower()
            host = owned(name)
            region = self._region(name, host)
            if region is not None:
                address = self._shared.addresses[region]
                port = address.port if tunnel.port == HTTP_PORT else address.tls
                await pipe(tunnel, dial("127.0.0.1", port), self.links[region], self._shared.timers)
                return
            server = here if host is not None or is_literal(name) else refusing
            context = self._shared.leaves.context_for(name.strip("[]"))
            tunnel.accept()
            secured = over_tls(lambda: server.protocol(secure=True, peer=tunnel.peer), context)
            tunnel.take(tls_or_plain(secured, lambda: server.protocol(secure=False, peer=tunnel.peer))())

        return connect

    def _region(self, name: str, host: Host | None) -> str | None:
        """The region whose process ends this tunnel; None when it ends here."""
        if host is None or host.is_global or is_literal(name):
            return None
        if host.kind in ("s3", "absent") and host.region and host.region not in self._shared.world.regions:
            return None
        service = {"s3": "s3", "absent": "s3"}.get(host.kind, host.kind)
        return self.front.region_for(Named(service, "/", host.bucket, virtual=bool(host.bucket), host=host), None)

    def refusal(self) -> Handler:
        """Answers inside tunnels to names that are not of this world."""
        return refuse_names(codec("s3"), self._shared.ids, self._shared.world.regions)

    def gauges(self) -> Iterable[Gauge]:
        for region in self._shared.world.regions:
            labels = {"place": self.place, "region": region}
            rtt = self.routing.chooser.rtt_ms(region)
            if rtt is not None:
                yield "atoll_link_rtt_ms", "Measured round trip from a place to a region.", labels, rtt
            yield "atoll_region_healthy", "Does the region answer?", labels, float(self.routing.healthy(region))

    async def close(self) -> None:
        for client in self.regions.values():
            await client.close()


