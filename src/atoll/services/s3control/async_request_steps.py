"""The steps of an asynchronous request. Each is a transaction that tells whether it did anything.

Every region tries every step; whoever comes second finds it done. So a step begins by looking whether it is still to do.
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec import structs

from atoll.control_store import Transaction
from atoll.services.s3control.records import (
    ALIASES,
    MRAPS,
    REQUESTS,
    WORK,
    AliasRecord,
    Failure,
    MrapRecord,
    RequestRecord,
    RequestStatus,
    mrap_key,
)


def start(transaction: Transaction, arn: str) -> bool:
    """NEW -> INPROGRESS."""
    request = transaction.get(REQUESTS, arn)
    if request is None or request.status != "NEW":
        return False
    regions = dict.fromkeys(request.regions, "INPROGRESS")
    transaction.put(REQUESTS, arn, structs.replace(request, status="INPROGRESS", regions=regions))
    return True


def finish(transaction: Transaction, arn: str, lost: Collection[str], silent: Collection[str]) -> bool:
    """INPROGRESS -> SUCCEEDED or FAILED. `lost`: regions of a new access point whose bucket is not there any more.
    `silent`: regions that have not acknowledged a policy and are waited for no longer."""
    request = transaction.get(REQUESTS, arn)
    if request is None or transaction.get(WORK, arn) is None or request.status != "INPROGRESS":
        return False
    transaction.put(REQUESTS, arn, _ended(transaction, request, lost, silent))
    transaction.delete(WORK, arn)
    return True


def _ended(transaction: Transaction, request: RequestRecord, lost: Collection[str], silent: Collection[str]) -> RequestRecord:
    if request.failure is not None:
        return structs.replace(request, status="FAILED", regions=dict.fromkeys(request.regions, "FAILED"))
    mrap = transaction.get(MRAPS, mrap_key(request.account, request.name))
    if mrap is None or mrap.alias != request.alias:
        return _superseded(request)
    match request.verb:
        case "create":
            return _created(transaction, request, mrap, lost)
        case "delete":
            return _deleted(transaction, request, mrap)
        case "put-policy":
            return _established(transaction, request, mrap, silent)


def _superseded(request: RequestRecord) -> RequestRecord:
    code = "MultiRegionAccessPointModifiedByAnotherRequest"
    return _failed(request, code, f"Another request has changed {request.name} meanwhile.", request.regions)


def _failed(request: RequestRecord, code: str, message: str, regions: Collection[str]) -> RequestRecord:
    """`regions`: where it went wrong; elsewhere it went well."""
    failure = Failure(code, message, request.name, "")
    statuses: dict[str, RequestStatus] = {region: "FAILED" if region in regions else "SUCCEEDED" for region in request.regions}
    return structs.replace(request, status="FAILED", regions=statuses, failure=failure)


def _succeeded(request: RequestRecord) -> RequestRecord:
    return structs.replace(request, status="SUCCEEDED", regions=dict.fromkeys(request.regions, "SUCCEEDED"))


def _created(transaction: Transaction, request: RequestRecord, mrap: MrapRecord, lost: Collection[str]) -> RequestRecord:
    if mrap.status != "CREATING":
        return _superseded(request)
    transaction.put(MRAPS, mrap.key, structs.replace(mrap, status="PARTIALLY_CREATED" if lost else "READY"))
    if lost:
        return _failed(request, "NoSuchBucket", f"No bucket any more in {', '.join(sorted(lost))}.", lost)
    return _succeeded(request)


def _deleted(transaction: Transaction, request: RequestRecord, mrap: MrapRecord) -> RequestRecord:
    """The name is free from now on, the alias never again."""
    transaction.delete(MRAPS, mrap.key)
    transaction.put(ALIASES, mrap.alias, AliasRecord(""))
    return _succeeded(request)


def _established(transaction: Transaction, request: RequestRecord, mrap: MrapRecord, silent: Collection[str]) -> RequestRecord:
    """A region that has not seen the policy leaves the access point INCONSISTENT_ACROSS_REGIONS, until it has."""
    proposed = mrap.proposed
    if proposed is None or proposed.version != request.policy_version or not mrap.serving:
        return _superseded(request)
    behind = set(silent) & set(regions_behind(mrap))
    status = "INCONSISTENT_ACROSS_REGIONS" if behind else "READY"
    transaction.put(MRAPS, mrap.key, structs.replace(mrap, established=proposed, status=status))
    regions: dict[str, RequestStatus] = {region: "INPROGRESS" if region in behind else "SUCCEEDED" for region in request.regions}
    return structs.replace(request, status="SUCCEEDED", regions=regions)


def regions_behind(mrap: MrapRecord) -> list[str]:
    """Regions that have not seen the last policy."""
    if mrap.proposed is None:
        return []
    return [region for region in mrap.members if mrap.acknowledged.get(region, 0) < mrap.proposed.version]


def acknowledge(transaction: Transaction, key: str, region: str, version: int) -> bool:
    """This region has seen the policy. The last one makes an access point consistent again."""
    mrap = transaction.get(MRAPS, key)
    if mrap is None or mrap.acknowledged.get(region, 0) >= version:
        return False
    mrap = structs.replace(mrap, acknowledged={**mrap.acknowledged, region: version})
    if mrap.status == "INCONSISTENT_ACROSS_REGIONS" and mrap.established == mrap.proposed and not regions_behind(mrap):
        mrap = structs.replace(mrap, status="READY")
    transaction.put(MRAPS, key, mrap)
    return True


def apply_routes(transaction: Transaction, key: str, routes_version: int) -> bool:
    """Routes that were submitted take effect."""
    mrap = transaction.get(MRAPS, key)
    if mrap is None or mrap.submitted is None or mrap.routes_version != routes_version:
        return False
    transaction.put(MRAPS, key, structs.replace(mrap, traffic_dials=mrap.submitted, submitted=None))
    return True
