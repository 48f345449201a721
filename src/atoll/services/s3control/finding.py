"""May this call go on, and which access point does it name?"""

from __future__ import annotations

from atoll.domain.call import Call
from atoll.domain.errors import ApiError
from atoll.rules.accesspoint import check_control_region, is_access_point_arn
from atoll.rules.naming import owned, scope_of, without_port
from atoll.services.s3control.here import Here
from atoll.services.s3control.plane import AccessPoints
from atoll.services.s3control.records import POINTS, PointRecord, point_key


def begin(here: Here, call: Call, account: str) -> None:
    """What every operation starts with. Raises AccessDenied for another account, PermanentRedirect where compat is strict.

    Clients go to any region: what another one has just written is brought in first, so that they read their own writes.
    """
    own(here, call, account)
    scope = scope_of(call.request.headers.get("authorization", ""), call.request.query)
    check_control_region(call.operation, scope.region if scope is not None else "", here.compat)


def own(here: Here, call: Call, account: str) -> None:
    """An account is set up by its own principals alone, and a host that names one names the same. Raises AccessDenied,
    InvalidRequest."""
    host = owned(without_port(call.request.headers.get("host", "")))
    if host is not None and host.account not in ("", account):
        raise ApiError("InvalidRequest", f"The host names the account {host.account}, x-amz-account-id {account}.")
    if account != call.account:
        raise ApiError("AccessDenied", "Access Denied")
    here.state.refresh()


def point_named(here: Here, account: str, name: str) -> PointRecord:
    """Raises NoSuchMultiRegionAccessPoint."""
    point = here.state.get(POINTS, point_key(account, name))
    if point is None:
        raise no_such(name)
    return point


def point_by_arn(here: Here, account: str, arn: str) -> PointRecord:
    """Routes are asked for by ARN alone. Raises InvalidRequest for a name or an alias, NoSuchMultiRegionAccessPoint."""
    if not is_access_point_arn(arn):
        raise ApiError("InvalidRequest", f"{arn[:200]!r} is not the ARN of a Multi-Region Access Point.")
    point = AccessPoints(here.state).by_arn(arn)
    if point is None or point.account != account:
        raise no_such(arn)
    return point


def no_such(what: str) -> ApiError:
    return ApiError("NoSuchMultiRegionAccessPoint", f"There is no Multi-Region Access Point {what}.")
