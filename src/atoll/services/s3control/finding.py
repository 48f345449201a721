"""May this call go on, and which access point does it name?"""

from __future__ import annotations

from atoll.domain.call import Call
from atoll.domain.errors import ApiError
from atoll.rules.accesspoint import check_control_region, is_access_point_arn
from atoll.rules.naming import scope_of
from atoll.services.s3control.here import Here
from atoll.services.s3control.plane import AccessPoints
from atoll.services.s3control.records import POINTS, PointRecord, point_key


def begin(here: Here, call: Call, account: str) -> None:
    """What every operation starts with. Raises AccessDenied for another account, PermanentRedirect where compat is strict.

    Clients go to any region: what another one has just written is brought in first, so that they read their own writes.
    """
    if account != here.account:
        raise ApiError("AccessDenied", f"Account {account} is not the one of this world.")
    scope = scope_of(call.request.headers.get("authorization", ""), call.request.query)
    check_control_region(call.operation, scope.region if scope is not None else "", here.compat)
    here.state.refresh()


def point_named(here: Here, name: str) -> PointRecord:
    """Raises NoSuchMultiRegionAccessPoint."""
    point = here.state.get(POINTS, point_key(here.account, name))
    if point is None:
        raise no_such(name)
    return point


def point_by_arn(here: Here, arn: str) -> PointRecord:
    """Routes are asked for by ARN alone. Raises InvalidRequest for a name or an alias, NoSuchMultiRegionAccessPoint."""
    if not is_access_point_arn(arn):
        raise ApiError("InvalidRequest", f"{arn[:200]!r} is not the ARN of a Multi-Region Access Point.")
    point = AccessPoints(here.state).by_arn(arn)
    if point is None:
        raise no_such(arn)
    return point


def no_such(what: str) -> ApiError:
    return ApiError("NoSuchMultiRegionAccessPoint", f"There is no Multi-Region Access Point {what}.")
