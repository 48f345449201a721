"""The places of the entry process: a listener each, proxy and plain endpoint at once, and the links.

It keeps no objects and survives the loss of any region. A client that enters in Tokyo is in Tokyo: what it asks of Virginia
travels over the Tokyo-Virginia link.
"""

from __future__ import annotations

import zlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

from atoll.aws_protocols.codec import codec
from atoll.control_store import ControlStore
from atoll.domain.clock import Clock
from atoll.domain.interfaces import Handler
from atoll.gateway.authenticate import Authenticate
from atoll.gateway.entry_router import GLOBAL_REGION, EntryRouter, Mrap, refuse_foreign_hosts
from atoll.gateway.metrics import Gauge, Metrics
from atoll.gateway.request_log import RequestIds, RequestLog
from atoll.net.certificates import LeafCertificates
from atoll.net.connect_request import Tunnel
from atoll.net.http1_server import Http1Server
from atoll.net.precise_timers import Timers
from atoll.net.tcp_sockets import Dial, dial
from atoll.net.tls_transport import over_tls, tls_or_plain
from atoll.net.wan_emulation import Link, dial_over, pipe
from atoll.processes.build_region import refresh_if_changed
from atoll.processes.region_client import RegionClient
from atoll.processes.region_probes import MeasuredRouting
from atoll.processes.world_config import World
from atoll.rules.endpoint_hostnames import Host, RequestTarget, is_literal, parse_hostname
from atoll.rules.region_selection import RegionSelector
from atoll.rules.signature_verification import KeyCache
from atoll.services.iam.caller_lookup import Identities
from atoll.services.s3.records import BUCKETS
from atoll.services.s3control.access_points import MrapLookup

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
    state: ControlStore
    identities: Identities
    mraps: MrapLookup
    leaf_certificates: LeafCertificates
    key: bytes
    clock: Clock
    timers: Timers
    request_log: RequestLog
    metrics: Metrics
    ids: RequestIds
    addresses: Mapping[str, Address]
    cache: KeyCache = field(default_factory=KeyCache)

    def mrap(self, alias: str) -> Mrap | None:
        return self.mraps.by_alias(alias)

    def bucket_region(self, bucket: str) -> str | None:
        request_log = self.state.get(BUCKETS, bucket)
        return None if request_log is None else request_log.region


class EntryPlace:
    """One place of the entry: its links, its front, and what it does with a CONNECT."""

    def __init__(self, shared: Shared, place: str) -> None:
        self.place = place
        self._shared = shared
        world = shared.world
        self.links = {region: link(world, place, region) for region in world.regions}
        self.regions = {region: self._client(region) for region in world.regions}
        transports = {region: client.carry for region, client in self.regions.items()}
        self.routing = MeasuredRouting(
            place, transports, lambda region: world.distance(place, region).rtt_ms, shared.clock, RegionSelector()
        )
        self.entry_router = self._entry_router()

    def _client(self, region: str) -> RegionClient:
        shared = self._shared
        traffic_dials = [self._dial(region, port) for port in shared.addresses[region].each]
        return RegionClient(region, traffic_dials, key=shared.key, clock=shared.clock, version=lambda: shared.state.version)

    def _dial(self, region: str, port: int) -> Dial:
        return dial_over(dial("127.0.0.1", port), self.links[region], self._shared.timers)

    def _entry_router(self) -> EntryRouter:
        shared = self._shared
        return EntryRouter(
            place=self.place,
            nearest=shared.world.nearest_regions(self.place),
            home=GLOBAL_REGION,
            peers={region: client.peer for region, client in self.regions.items()},
            mraps=shared.mrap,
            bucket_region=shared.bucket_region,
            routing=self.routing,
            authenticate=Authenticate(shared.identities, shared.cache, shared.world.compat),
            codec=codec("s3"),
            clock=shared.clock,
            ids=shared.ids,
            request_log=shared.request_log,
            metrics=shared.metrics,
            compat=shared.world.compat,
            refresh=partial(refresh_if_changed, shared.state),
        )

    def connector(self, local_server: Http1Server, refusing: Http1Server) -> Callable[[Tunnel], Awaitable[None]]:
        """What to do with a CONNECT: lead it over the link to its region, which ends TLS; or end it here, for global names,
        our own addresses, and names that are not ours, whose refusal is said inside."""

        async def connect(tunnel: Tunnel) -> None:
            name = tunnel.host.lower()
            host = parse_hostname(name)
            region = self._region(name, host)
            if region is not None:
                address = self._shared.addresses[region]
                port = address.port if tunnel.port == HTTP_PORT else address.tls
                await pipe(tunnel, dial("127.0.0.1", port), self.links[region], self._shared.timers)
                return
            server = local_server if host is not None or is_literal(name) else refusing
            context = self._shared.leaf_certificates.context_for(name.strip("[]"))
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
        return self.entry_router.region_for(RequestTarget(service, "/", host.bucket, virtual=bool(host.bucket), host=host), None)

    def refusal(self) -> Handler:
        """Answers inside tunnels to names that are not of this world."""
        return refuse_foreign_hosts(codec("s3"), self._shared.ids, self._shared.world.regions)

    def gauges(self) -> Iterable[Gauge]:
        for region in self._shared.world.regions:
            labels = {"place": self.place, "region": region}
            rtt = self.routing.region_selector.rtt_ms(region)
            if rtt is not None:
                yield "atoll_link_rtt_ms", "Measured round trip from a place to a region.", labels, rtt
            yield "atoll_region_healthy", "Does the region answer?", labels, float(self.routing.healthy(region))

    async def close(self) -> None:
        for client in self.regions.values():
            await client.close()


