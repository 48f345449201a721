"""Checks the account of a call, and finds the access point that it names."""

from __future__ import annotations

from atoll.domain.api_call import Call
from atoll.domain.errors import ApiError
from atoll.rules.endpoint_hostnames import parse_hostname, scope_of, without_port
from atoll.rules.multi_region_access_point import check_control_region, is_access_point_arn
from atoll.services.s3control.access_points import MrapLookup
from atoll.services.s3control.dependencies import Dependencies
from atoll.services.s3control.records import MRAPS, MrapRecord, mrap_key


def begin(deps: Dependencies, call: Call, account: str) -> None:
    """What every operation starts with. Raises AccessDenied for another account, PermanentRedirect where compat is strict.

    Clients go to any region: what another one has just written is brought in first, so that they read their own writes.
    """
    own(deps, call, account)
    scope = scope_of(call.request.headers.get("authorization", ""), call.request.query)
    check_control_region(call.operation, scope.region if scope is not None else "", deps.compat)


def own(deps: Dependencies, call: Call, account: str) -> None:
    """An account is set up by its own principals alone, and a host that names one names the same. Raises AccessDenied,
    InvalidRequest."""
    host = parse_hostname(without_port(call.request.headers.get("host", "")))
    if host is not None and host.account not in ("", account):
        raise ApiError("InvalidRequest", f"The host names the account {host.account}, x-amz-account-id {account}.")
    if account != call.account:
        raise ApiError("AccessDenied", "Access Denied")
    deps.state.refresh()


def mrap_by_name(deps: Dependencies, account: str, name: str) -> MrapRecord:
    """Raises NoSuchMultiRegionAccessPoint."""
    mrap = deps.state.get(MRAPS, mrap_key(account, name))
    if mrap is None:
        raise no_such(name)
    return mrap


def mrap_by_arn(deps: Dependencies, account: str, arn: str) -> MrapRecord:
    """Routes are asked for by ARN alone. Raises InvalidRequest for a name or an alias, NoSuchMultiRegionAccessPoint."""
    if not is_access_point_arn(arn):
        raise ApiError("InvalidRequest", f"{arn[:200]!r} is not the ARN of a Multi-Region Access Point.")
    mrap = MrapLookup(deps.state).by_arn(arn)
    if mrap is None or mrap.account != account:
        raise no_such(arn)
    return mrap


def no_such(what: str) -> ApiError:
    return ApiError("NoSuchMultiRegionAccessPoint", f"There is no Multi-Region Access Point {what}.")
