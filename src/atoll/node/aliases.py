"""The alias of an access point stands where a bucket should, in a tunnel that ends in a region: who answers? (compat lenient)

Clients that know nothing of access points write the alias in path style to a regional name (clients.md, section 4). Their
TLS ends in that region, so the region does here what a place's entry does: it verifies, chooses, and carries.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from atoll.domain.message import Request, Response
from atoll.domain.shapes import Handler
from atoll.gateway.authenticate import Authenticate
from atoll.gateway.front import GLOBAL_REGION, Front, Point
from atoll.gateway.record import RequestIds
from atoll.node.region import Shared, refreshed
from atoll.node.routing import MeasuredRouting
from atoll.rules.naming import named, scope_of
from atoll.rules.routing import Chooser
from atoll.rules.signature import KeyCache
from atoll.services.s3.records import BUCKETS
from atoll.wire.codec import codec

ALIAS_END = ".mrap"  # no bucket's name ends so (S3 user guide, "General purpose bucket naming rules")


@dataclass(frozen=True, slots=True)
class Aliases:
    """A Handler around a region's gateway. What another process of ours carries here has been chosen already."""

    region: Handler
    front: Handler

    def __call__(self, request: Request) -> Coroutine[Any, Any, Response]:
        return self.front(request) if request.onward is None and names_alias(request) else self.region(request)


def names_alias(request: Request) -> bool:
    """Does the request address an access point as if it were a bucket?"""
    host = request.headers.get("host", "")
    if ALIAS_END not in request.path and ALIAS_END not in host:
        return False
    scope = scope_of(request.headers.get("authorization", ""), request.query)
    return named(host, request.path, scope).bucket.endswith(ALIAS_END)


def routing(shared: Shared, pools: Mapping[str, Handler]) -> MeasuredRouting:
    """The region's own view of the others; somebody runs its `watch`."""
    name, world = shared.name, shared.world
    return MeasuredRouting(name, pools, lambda other: world.distance(name, other).rtt_ms, shared.clock, Chooser())


def front(shared: Shared, paths: MeasuredRouting, peers: Mapping[str, Handler], ids: RequestIds) -> Front:
    """The region as a place that is entered."""
    state, points, world = shared.state, shared.points, shared.world

    def point(alias: str) -> Point | None:
        return points.by_alias(alias)

    def bucket_region(bucket: str) -> str | None:
        record = state.get(BUCKETS, bucket)
        return None if record is None else record.region

    return Front(
        place=shared.name,
        nearest=world.nearest_regions(shared.name),
        home=GLOBAL_REGION,
        peers=peers,
        points=point,
        bucket_region=bucket_region,
        routing=paths,
        authenticate=Authenticate(shared.identities, KeyCache(), world.compat),
        codec=codec("s3"),
        clock=shared.clock,
        ids=ids,
        record=shared.record,
        metrics=shared.metrics,
        compat=world.compat,
        refresh=partial(refreshed, state),
    )
