"""How do clients enter a place that has a machine of its own? As at the entry of one machine, with two differences.

Distances are real, so nothing is delayed. And TLS always ends here, for names of other regions too: the request goes on over
a warm, mutually authenticated connection, with the client's address in its envelope (docs/decisions/0003).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

from atoll.domain.clock import Clock
from atoll.domain.message import Request, Response
from atoll.domain.shapes import Handler
from atoll.gateway.authenticate import Authenticate
from atoll.gateway.front import GLOBAL_REGION, Front, Point, refuse_names
from atoll.gateway.metrics import Gauge, Metrics
from atoll.gateway.record import Recorder, RequestIds
from atoll.net.certificates import Leaves
from atoll.net.http1 import Http1Server
from atoll.net.tls import over_tls, tls_or_plain
from atoll.net.tunnel import Tunnel
from atoll.node.config import Place, World
from atoll.node.region import refreshed
from atoll.node.routing import MeasuredRouting
from atoll.rules.naming import AWS_NAME, owned
from atoll.rules.onward import replace_onward
from atoll.rules.routing import Chooser
from atoll.rules.signature import KeyCache
from atoll.services.iam.plane import Identities
from atoll.services.s3.records import BUCKETS
from atoll.services.s3control.plane import AccessPoints
from atoll.state import State
from atoll.wire.codec import codec

LOOPBACK_NAMES = frozenset(("localhost", "127.0.0.1", "::1"))


@dataclass(frozen=True, slots=True)
class Near:
    """A Handler in front of this process's own region: what a Peer does over a connection, without one."""

    region: Handler

    async def __call__(self, request: Request) -> Response:
        if request.onward is None:
            return await self.region(request)
        return await self.region(replace_onward(request, {**request.headers, **_framing(request)}, request.onward))


def _framing(request: Request) -> dict[str, str]:
    """What a connection would say of the body: a region refuses a body whose end nobody told it."""
    length = request.body.length
    return {"transfer-encoding": "chunked"} if length is None else {"content-length": str(length)}


@dataclass(slots=True)
class Gate:
    """One place's way in. `carriers` lead to the regions, `peers` are the same with envelopes."""

    world: World
    place: Place
    state: State
    identities: Identities
    points: AccessPoints
    carriers: Mapping[str, Handler]
    peers: Mapping[str, Handler]
    clock: Clock
    ids: RequestIds
    record: Recorder
    metrics: Metrics
    routing: MeasuredRouting = field(init=False)
    front: Front = field(init=False)

    def __post_init__(self) -> None:
        name, world = self.place.name, self.world
        self.routing = MeasuredRouting(
            name, self.carriers, lambda region: world.distance(name, region).rtt_ms, self.clock, Chooser()
        )
        self.front = Front(
            place=name,
            nearest=world.nearest_regions(name),
            home=GLOBAL_REGION,
            peers=self.peers,
            points=self._point,
            bucket_region=self._bucket_region,
            routing=self.routing,
            authenticate=Authenticate(self.identities, KeyCache(), world.compat),
            codec=codec("s3"),
            clock=self.clock,
            ids=self.ids,
            record=self.record,
            metrics=self.metrics,
            compat=world.compat,
            refresh=partial(refreshed, self.state),
        )

    def _point(self, alias: str) -> Point | None:
        return self.points.by_alias(alias)

    def _bucket_region(self, bucket: str) -> str | None:
        record = self.state.get(BUCKETS, bucket)
        return None if record is None else record.region

    def refusal(self) -> Handler:
        """Answers inside tunnels to AWS's names that are not of this world."""
        return refuse_names(codec("s3"), self.ids, self.world.regions)

    def connector(self, leaves: Leaves, here: Http1Server, refusing: Http1Server) -> Callable[[Tunnel], Awaitable[None]]:
        """What to do with a CONNECT: end it here, or refuse it. A name outside AWS cannot be refused inside the tunnel, because
        no client would believe the certificate: a node vouches for AWS's names and its own address alone."""
        own = LOOPBACK_NAMES | {listener.host for listener in (self.place.address, self.place.node) if listener is not None}

        async def connect(tunnel: Tunnel) -> None:
            name = tunnel.host.lower().strip("[]")
            ours = owned(name) is not None or name in own
            if not ours and AWS_NAME.fullmatch(name) is None:
                tunnel.refuse(403, f"{name} is not a name of this world; nothing is passed on to the outside.")
                return
            server = here if ours else refusing
            context = leaves.context_for(name)
            tunnel.accept()
            secured = over_tls(lambda: server.protocol(secure=True, peer=tunnel.peer), context)
            tunnel.take(tls_or_plain(secured, lambda: server.protocol(secure=False, peer=tunnel.peer))())

        return connect

    def gauges(self) -> Iterable[Gauge]:
        for region in self.world.regions:
            labels = {"place": self.place.name, "region": region}
            rtt = self.routing.chooser.rtt_ms(region)
            if rtt is not None:
                yield "atoll_link_rtt_ms", "Measured round trip from a place to a region.", labels, rtt
            yield "atoll_region_healthy", "Does the region answer?", labels, float(self.routing.healthy(region))
