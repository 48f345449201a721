"""Which of an access point's regions take requests?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import structs

from atoll.domain.call import Answer, Call
from atoll.domain.errors import ApiError
from atoll.rules.accesspoint import RouteUpdate, redial
from atoll.services.s3control.finding import begin, no_such, point_by_arn
from atoll.services.s3control.here import Here
from atoll.services.s3control.records import POINTS
from atoll.state import Change


async def GetMultiRegionAccessPointRoutes(here: Here, call: Call, *, AccountId: str, Mrap: str) -> Answer:
    """As last submitted."""
    begin(here, call, AccountId)
    point = point_by_arn(here, AccountId, Mrap)
    routes = [
        {"Bucket": bucket, "Region": region, "TrafficDialPercentage": point.routes[region]}
        for region, bucket in point.members.items()
    ]
    return Answer({"Mrap": point.arn, "Routes": routes})


async def SubmitMultiRegionAccessPointRoutes(
    here: Here, call: Call, *, AccountId: str, Mrap: str, RouteUpdates: Sequence[Mapping[str, Any]]
) -> Answer:
    """Of two updates that overlap the first one wins; the other is refused with 409 OperationAborted."""
    begin(here, call, AccountId)
    seen = point_by_arn(here, AccountId, Mrap)
    if not seen.serving:
        raise ApiError("InvalidRequest", f"{seen.name} is {seen.status}: its routes change once it is READY.")
    submitted = redial(seen.members, seen.routes, [_update(route) for route in RouteUpdates])

    def submit(change: Change) -> None:
        point = change.get(POINTS, seen.key)
        if point is None or point.alias != seen.alias:
            raise no_such(Mrap)
        if point.routes_version != seen.routes_version or not point.serving:
            raise ApiError("OperationAborted", "Another request is changing this Multi-Region Access Point. Try again.")
        version = point.routes_version + 1
        change.put(POINTS, point.key, structs.replace(point, submitted=submitted, submitted_ms=call.now_ms, routes_version=version))

    await here.state.change(submit)
    return Answer()


def _update(route: Mapping[str, Any]) -> RouteUpdate:
    dial = route.get("TrafficDialPercentage")
    if dial is None:
        raise ApiError("InvalidRequest", "A Route has a TrafficDialPercentage.")
    return RouteUpdate(route.get("Bucket") or "", route.get("Region") or "", dial)
