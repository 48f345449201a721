"""What happens to an asynchronous request as time goes by? Each step is a transaction that tells whether it did anything.

Every region tries every step; whoever comes second finds it done. So a step begins by looking whether it is still to do.
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec import structs

from atoll.services.s3control.records import (
    ALIASES,
    POINTS,
    REQUESTS,
    WORK,
    AliasRecord,
    Failure,
    PointRecord,
    RequestRecord,
    RequestStatus,
    point_key,
)
from atoll.state import Change


def start(change: Change, arn: str) -> bool:
    """NEW -> INPROGRESS."""
    request = change.get(REQUESTS, arn)
    if request is None or request.status != "NEW":
        return False
    regions = dict.fromkeys(request.regions, "INPROGRESS")
    change.put(REQUESTS, arn, structs.replace(request, status="INPROGRESS", regions=regions))
    return True


def finish(change: Change, arn: str, lost: Collection[str], silent: Collection[str]) -> bool:
    """INPROGRESS -> SUCCEEDED or FAILED. `lost`: regions of a new access point whose bucket is not there any more.
    `silent`: regions that have not acknowledged a policy and are waited for no longer."""
    request = change.get(REQUESTS, arn)
    if request is None or change.get(WORK, arn) is None or request.status != "INPROGRESS":
        return False
    change.put(REQUESTS, arn, _ended(change, request, lost, silent))
    change.delete(WORK, arn)
    return True


def _ended(change: Change, request: RequestRecord, lost: Collection[str], silent: Collection[str]) -> RequestRecord:
    if request.failure is not None:
        return structs.replace(request, status="FAILED", regions=dict.fromkeys(request.regions, "FAILED"))
    point = change.get(POINTS, point_key(request.account, request.name))
    if point is None or point.alias != request.alias:
        return _overtaken(request)
    match request.verb:
        case "create":
            return _created(change, request, point, lost)
        case "delete":
            return _deleted(change, request, point)
        case "put-policy":
            return _established(change, request, point, silent)


def _overtaken(request: RequestRecord) -> RequestRecord:
    code = "MultiRegionAccessPointModifiedByAnotherRequest"
    return _failed(request, code, f"Another request has changed {request.name} meanwhile.", request.regions)


def _failed(request: RequestRecord, code: str, message: str, regions: Collection[str]) -> RequestRecord:
    """`regions`: where it went wrong; elsewhere it went well."""
    failure = Failure(code, message, request.name, "")
    statuses: dict[str, RequestStatus] = {region: "FAILED" if region in regions else "SUCCEEDED" for region in request.regions}
    return structs.replace(request, status="FAILED", regions=statuses, failure=failure)


def _succeeded(request: RequestRecord) -> RequestRecord:
    return structs.replace(request, status="SUCCEEDED", regions=dict.fromkeys(request.regions, "SUCCEEDED"))


def _created(change: Change, request: RequestRecord, point: PointRecord, lost: Collection[str]) -> RequestRecord:
    if point.status != "CREATING":
        return _overtaken(request)
    change.put(POINTS, point.key, structs.replace(point, status="PARTIALLY_CREATED" if lost else "READY"))
    if lost:
        return _failed(request, "NoSuchBucket", f"No bucket any more in {', '.join(sorted(lost))}.", lost)
    return _succeeded(request)


def _deleted(change: Change, request: RequestRecord, point: PointRecord) -> RequestRecord:
    """The name is free from now on, the alias never again."""
    change.delete(POINTS, point.key)
    change.put(ALIASES, point.alias, AliasRecord(""))
    return _succeeded(request)


def _established(change: Change, request: RequestRecord, point: PointRecord, silent: Collection[str]) -> RequestRecord:
    """A region that has not seen the policy leaves the access point INCONSISTENT_ACROSS_REGIONS, until it has."""
    proposed = point.proposed
    if proposed is None or proposed.version != request.policy_version or not point.serving:
        return _overtaken(request)
    behind = set(silent) & set(behind_of(point))
    status = "INCONSISTENT_ACROSS_REGIONS" if behind else "READY"
    change.put(POINTS, point.key, structs.replace(point, established=proposed, status=status))
    regions: dict[str, RequestStatus] = {region: "INPROGRESS" if region in behind else "SUCCEEDED" for region in request.regions}
    return structs.replace(request, status="SUCCEEDED", regions=regions)


def behind_of(point: PointRecord) -> list[str]:
    """Regions that have not seen the last policy."""
    if point.proposed is None:
        return []
    return [region for region in point.members if point.acknowledged.get(region, 0) < point.proposed.version]


def acknowledge(change: Change, key: str, region: str, version: int) -> bool:
    """This region has seen the policy. The last one makes an access point consistent again."""
    point = change.get(POINTS, key)
    if point is None or point.acknowledged.get(region, 0) >= version:
        return False
    point = structs.replace(point, acknowledged={**point.acknowledged, region: version})
    if point.status == "INCONSISTENT_ACROSS_REGIONS" and point.established == point.proposed and not behind_of(point):
        point = structs.replace(point, status="READY")
    change.put(POINTS, key, point)
    return True


def reroute(change: Change, key: str, routes_version: int) -> bool:
    """Routes that were submitted take effect."""
    point = change.get(POINTS, key)
    if point is None or point.submitted is None or point.routes_version != routes_version:
        return False
    change.put(POINTS, key, structs.replace(point, dials=point.submitted, submitted=None))
    return True
