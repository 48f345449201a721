"""The buckets of an access point, and whether they are fit for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from atoll.domain.errors import ApiError
from atoll.domain.quotas import MRAP_REGIONS_MAX
from atoll.rules.multi_region_access_point import REGIONS
from atoll.rules.policy.public_access import PublicAccess
from atoll.services.s3control.async_request_start import Failed
from atoll.services.s3control.dependencies import Dependencies
from atoll.services.s3control.records import BLOCK_ALL

# Field of PublicAccess -> AWS's member
SWITCHES = {
    "block_public_acls": "BlockPublicAcls",
    "ignore_public_acls": "IgnorePublicAcls",
    "block_public_policy": "BlockPublicPolicy",
    "restrict_public_buckets": "RestrictPublicBuckets",
}


@dataclass(frozen=True, slots=True)
class Members:
    """By region: the bucket, and whose it is."""

    buckets: dict[str, str]
    owners: dict[str, str]


def block_of(given: Mapping[str, bool] | None) -> PublicAccess:
    """All four switches are on when nothing is said; of those that are given, a switch left out is off."""
    if given is None:
        return BLOCK_ALL
    return PublicAccess(**{field: given.get(member, False) for field, member in SWITCHES.items()})


def members_of(deps: Dependencies, account: str, given: Sequence[Mapping[str, Any]]) -> Members | Failed:
    """One bucket in each region; what is wrong with them is told through the token. A bucket of another account than the
    access point's is named with its BucketAccountId.

    Raises InvalidRequest for none at all, TooManyMultiRegionAccessPointregionsError.
    """
    if not given or not all(region.get("Bucket") for region in given):
        raise ApiError("InvalidRequest", "Regions names at least one bucket, and each Region its Bucket.")
    if len(given) > MRAP_REGIONS_MAX:
        raise ApiError("TooManyMultiRegionAccessPointregionsError", f"There are at most {MRAP_REGIONS_MAX} regions.")
    members = Members({}, {})
    try:
        for region in given:
            _add(deps, members, region["Bucket"], region.get("BucketAccountId") or account)
    except Failed as failed:
        return failed
    return members


def _add(deps: Dependencies, members: Members, bucket: str, account: str) -> None:
    found = deps.buckets(bucket)
    if found is None:
        raise Failed("NoSuchBucket", f"There is no bucket {bucket}.")
    region, owner = found
    if account != owner:
        raise Failed("AccessDenied", f"Bucket {bucket} does not belong to account {account}.")
    if region not in (REGIONS if deps.compat == "strict" else deps.regions):
        raise Failed("MultiRegionAccessPointUnsupportedRegion", f"Bucket {bucket} is in {region}, which is not supported.")
    if region in members.buckets:
        raise Failed("MultiRegionAccessPointSameBucketRegion", f"{members.buckets[region]} and {bucket} are both in {region}.")
    members.buckets[region], members.owners[region] = bucket, owner
