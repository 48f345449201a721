"""Routes requests that name an access point's alias where a bucket should stand, in a tunnel that ends in a region (compat lenient).

Clients that know nothing of access points write the alias in path style to a regional name (clients.md, section 4). Their
TLS ends in that region, so the region does here what a place's entry does: it verifies, chooses, and carries.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from atoll.aws_protocols.codec import codec
from atoll.domain.http_message import Request, Response
from atoll.domain.interfaces import Handler
from atoll.gateway.authenticate import Authenticate
from atoll.gateway.entry_router import GLOBAL_REGION, EntryRouter, Mrap
from atoll.gateway.request_log import RequestIds
from atoll.processes.build_region import Shared, refresh_if_changed
from atoll.processes.region_probes import MeasuredRouting
from atoll.rules.endpoint_hostnames import named, scope_of
from atoll.rules.region_selection import RegionSelector
from atoll.rules.signature_verification import KeyCache
from atoll.services.s3.records import BUCKETS

ALIAS_END = ".mrap"  # no bucket's name ends so (S3 user guide, "General purpose bucket naming rules")


@dataclass(frozen=True, slots=True)
class MrapAliasRouter:
    """A Handler around a region's gateway. What another process of ours carries here has been chosen already."""

    region: Handler
    entry_router: Handler

    def __call__(self, request: Request) -> Coroutine[Any, Any, Response]:
        return self.entry_router(request) if request.forwarded is None and is_alias_request(request) else self.region(request)


def is_alias_request(request: Request) -> bool:
    """Does the request address an access point as if it were a bucket?"""
    host = request.headers.get("host", "")
    if ALIAS_END not in request.path and ALIAS_END not in host:
        return False
    scope = scope_of(request.headers.get("authorization", ""), request.query)
    return named(host, request.path, scope).bucket.endswith(ALIAS_END)


def routing(shared: Shared, pools: Mapping[str, Handler]) -> MeasuredRouting:
    """The region's own view of the others; somebody runs its `watch`."""
    name, world = shared.name, shared.world
    return MeasuredRouting(name, pools, lambda other: world.distance(name, other).rtt_ms, shared.clock, RegionSelector())


def entry_router(shared: Shared, paths: MeasuredRouting, peers: Mapping[str, Handler], ids: RequestIds) -> EntryRouter:
    """The region as a place that is entered."""
    state, mraps, world = shared.state, shared.mraps, shared.world

    def mrap(alias: str) -> Mrap | None:
        return mraps.by_alias(alias)

    def bucket_region(bucket: str) -> str | None:
        record = state.get(BUCKETS, bucket)
        return None if record is None else record.region

    return EntryRouter(
        place=shared.name,
        nearest=world.nearest_regions(shared.name),
        home=GLOBAL_REGION,
        peers=peers,
        mraps=mrap,
        bucket_region=bucket_region,
        routing=paths,
        authenticate=Authenticate(shared.identities, KeyCache(), world.compat),
        codec=codec("s3"),
        clock=shared.clock,
        ids=ids,
        request_log=shared.request_log,
        metrics=shared.metrics,
        compat=world.compat,
        refresh=partial(refresh_if_changed, state),
    )
