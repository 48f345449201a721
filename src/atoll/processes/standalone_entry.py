"""The entry of a place on a machine of its own: as the entry of one machine, with two differences.

Distances are real, so nothing is delayed. And TLS always ends here, for names of other regions too: the request goes on over
a warm, mutually authenticated connection, with the client's address in its envelope (docs/decisions/0003).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

from atoll.aws_protocols.codec import codec
from atoll.control_store import ControlStore
from atoll.domain.clock import Clock
from atoll.domain.http_message import Request, Response
from atoll.domain.interfaces import Handler
from atoll.gateway.authenticate import Authenticate
from atoll.gateway.entry_router import GLOBAL_REGION, EntryRouter, Mrap, refuse_foreign_hosts
from atoll.gateway.metrics import Gauge, Metrics
from atoll.gateway.request_log import RequestIds, RequestLog
from atoll.net.certificates import LeafCertificates
from atoll.net.connect_request import Tunnel
from atoll.net.http1_server import Http1Server
from atoll.net.tls_transport import over_tls, tls_or_plain
from atoll.processes.build_region import refresh_if_changed
from atoll.processes.region_probes import MeasuredRouting
from atoll.processes.world_config import Place, World
from atoll.rules.endpoint_hostnames import AWS_NAME, parse_hostname
from atoll.rules.peer_envelope import replace_forwarded
from atoll.rules.region_selection import RegionSelector
from atoll.rules.signature_verification import KeyCache
from atoll.services.iam.caller_lookup import Identities
from atoll.services.s3.records import BUCKETS
from atoll.services.s3control.access_points import MrapLookup

LOOPBACK_NAMES = frozenset(("localhost", "127.0.0.1", "::1"))


@dataclass(frozen=True, slots=True)
class LocalRegion:
    """A Handler in front of this process's own region: what a Peer does over a connection, without one."""

    region: Handler

    async def __call__(self, request: Request) -> Response:
        if request.forwarded is None:
            return await self.region(request)
        return await self.region(replace_forwarded(request, {**request.headers, **_framing_headers(request)}, request.forwarded))


def _framing_headers(request: Request) -> dict[str, str]:
    """What a connection would say of the body: a region refuses a body whose end nobody told it."""
    length = request.body.length
    return {"transfer-encoding": "chunked"} if length is None else {"content-length": str(length)}


@dataclass(slots=True)
class SinglePlaceEntry:
    """One place's way in. `transports` lead to the regions, `peers` are the same with envelopes."""

    world: World
    place: Place
    state: ControlStore
    identities: Identities
    mraps: MrapLookup
    transports: Mapping[str, Handler]
    peers: Mapping[str, Handler]
    clock: Clock
    ids: RequestIds
    request_log: RequestLog
    metrics: Metrics
    routing: MeasuredRouting = field(init=False)
    entry_router: EntryRouter = field(init=False)

    def __post_init__(self) -> None:
        name, world = self.place.name, self.world
        self.routing = MeasuredRouting(
            name, self.transports, lambda region: world.distance(name, region).rtt_ms, self.clock, RegionSelector()
        )
        self.entry_router = EntryRouter(
            place=name,
            nearest=world.nearest_regions(name),
            home=GLOBAL_REGION,
            peers=self.peers,
            mraps=self._mrap,
            bucket_region=self._bucket_region,
            routing=self.routing,
            authenticate=Authenticate(self.identities, KeyCache(), world.compat),
            codec=codec("s3"),
            clock=self.clock,
            ids=self.ids,
            request_log=self.request_log,
            metrics=self.metrics,
            compat=world.compat,
            refresh=partial(refresh_if_changed, self.state),
        )

    def _mrap(self, alias: str) -> Mrap | None:
        return self.mraps.by_alias(alias)

    def _bucket_region(self, bucket: str) -> str | None:
        request_log = self.state.get(BUCKETS, bucket)
        return None if request_log is None else request_log.region

    def refusal(self) -> Handler:
        """Answers inside tunnels to AWS's names that are not of this world."""
        return refuse_foreign_hosts(codec("s3"), self.ids, self.world.regions)

    def connector(self, leaf_certificates: LeafCertificates, local_server: Http1Server, refusing: Http1Server) -> Callable[[Tunnel], Awaitable[None]]:
        """What to do with a CONNECT: end it here, or refuse it. A name outside AWS cannot be refused inside the tunnel, because
        no client would believe the certificate: a node vouches for AWS's names and its own address alone."""
        own = LOOPBACK_NAMES | {listener.host for listener in (self.place.address, self.place.node) if listener is not None}

        async def connect(tunnel: Tunnel) -> None:
            name = tunnel.host.lower().strip("[]")
            ours = parse_hostname(name) is not None or name in own
            if not ours and AWS_NAME.fullmatch(name) is None:
                tunnel.refuse(403, f"{name} is not a name of this world; nothing is passed on to the outside.")
                return
            server = local_server if ours else refusing
            context = leaf_certificates.context_for(name)
            tunnel.accept()
            secured = over_tls(lambda: server.protocol(secure=True, peer=tunnel.peer), context)
            tunnel.take(tls_or_plain(secured, lambda: server.protocol(secure=False, peer=tunnel.peer))())

        return connect

    def gauges(self) -> Iterable[Gauge]:
        for region in self.world.regions:
            labels = {"place": self.place.name, "region": region}
            rtt = self.routing.region_selector.rtt_ms(region)
            if rtt is not None:
                yield "atoll_link_rtt_ms", "Measured round trip from a place to a region.", labels, rtt
            yield "atoll_region_healthy", "Does the region answer?", labels, float(self.routing.healthy(region))
