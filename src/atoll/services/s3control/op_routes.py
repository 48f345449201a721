"""Operations on an access point's routes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import structs

from atoll.control_store import Transaction
from atoll.domain.api_call import Call, OperationOutput
from atoll.domain.errors import ApiError
from atoll.rules.multi_region_access_point import RouteUpdate, update_traffic_dials
from atoll.services.s3control.dependencies import Dependencies
from atoll.services.s3control.lookup import begin, mrap_by_arn, no_such
from atoll.services.s3control.records import MRAPS


async def GetMultiRegionAccessPointRoutes(deps: Dependencies, call: Call, *, AccountId: str, Mrap: str) -> OperationOutput:
    """As last submitted."""
    begin(deps, call, AccountId)
    mrap = mrap_by_arn(deps, AccountId, Mrap)
    routes = [
        {"Bucket": bucket, "Region": region, "TrafficDialPercentage": mrap.routes[region]}
        for region, bucket in mrap.members.items()
    ]
    return OperationOutput({"Mrap": mrap.arn, "Routes": routes})


async def SubmitMultiRegionAccessPointRoutes(
    deps: Dependencies, call: Call, *, AccountId: str, Mrap: str, RouteUpdates: Sequence[Mapping[str, Any]]
) -> OperationOutput:
    """Of two updates that overlap the first one wins; the other is refused with 409 OperationAborted."""
    begin(deps, call, AccountId)
    seen = mrap_by_arn(deps, AccountId, Mrap)
    if not seen.serving:
        raise ApiError("InvalidRequest", f"{seen.name} is {seen.status}: its routes change once it is READY.")
    submitted = update_traffic_dials(seen.members, seen.routes, [_update(route) for route in RouteUpdates])

    def submit(transaction: Transaction) -> None:
        mrap = transaction.get(MRAPS, seen.key)
        if mrap is None or mrap.alias != seen.alias:
            raise no_such(Mrap)
        if mrap.routes_version != seen.routes_version or not mrap.serving:
            raise ApiError("OperationAborted", "Another request is changing this Multi-Region Access Point. Try again.")
        version = mrap.routes_version + 1
        transaction.put(MRAPS, mrap.key, structs.replace(mrap, submitted=submitted, submitted_ms=call.now_ms, routes_version=version))

    await deps.state.transact(submit)
    return OperationOutput()


def _update(route: Mapping[str, Any]) -> RouteUpdate:
    traffic_dial = route.get("TrafficDialPercentage")
    if traffic_dial is None:
        raise ApiError("InvalidRequest", "A Route has a TrafficDialPercentage.")
    return RouteUpdate(route.get("Bucket") or "", route.get("Region") or "", traffic_dial)
