"""How do access points come and go, and what is there?"""

from __future__ import annotations

from base64 import b64decode, urlsafe_b64encode
from collections.abc import Mapping
from typing import Any

from msgspec import structs

from atoll.domain.call import Answer, Call
from atoll.domain.errors import ApiError
from atoll.domain.limits import MRAPS_MAX
from atoll.rules.accesspoint import ACTIVE, ALIAS_BYTES
from atoll.rules.accesspoint import alias as alias_of
from atoll.rules.policy.public import PublicAccess
from atoll.services.s3control import answers
from atoll.services.s3control.accepting import Failed, accept, asked
from atoll.services.s3control.finding import begin, point_named
from atoll.services.s3control.here import Here
from atoll.services.s3control.members import Members, block_of, members_of
from atoll.services.s3control.records import ALIASES, POINTS, AliasRecord, PointRecord, RequestRecord, point_key
from atoll.state import Change

ALIASES_ROLLED = 4  # one is enough but once in 36**12; none is ever given out twice


async def CreateMultiRegionAccessPoint(
    here: Here, call: Call, *, AccountId: str, ClientToken: str, Details: Mapping[str, Any]
) -> Answer:
    """The alias is assigned at once; requests are served from READY on."""
    begin(here, call, AccountId)
    it = asked(here, call, "create", ClientToken, Details)
    members, block = members_of(here, AccountId, Details.get("Regions") or ()), block_of(Details.get("PublicAccessBlock"))
    aliases = [alias_of(here.dice(ALIAS_BYTES)) for _ in range(ALIASES_ROLLED)]

    def create(change: Change, request: RequestRecord) -> RequestRecord:
        existing = change.get(POINTS, point_key(AccountId, request.name))
        if existing is not None:
            _check_is_retry(existing, members, block)
        else:
            _check_quota(change, AccountId)
        if isinstance(members, Failed):
            raise members
        point = _retried(existing) if existing is not None else _new(change, request, members, block, aliases)
        change.put(POINTS, point.key, point)
        return structs.replace(request, alias=point.alias, regions=dict.fromkeys(point.members, "NEW"))

    return await accept(here, it, create)


def _check_is_retry(existing: PointRecord, members: Members | Failed, block: PublicAccess) -> None:
    """The same create again, after some regions failed, has another try (s3control model: MultiRegionAccessPointStatus)."""
    same = existing.block == block and (isinstance(members, Failed) or existing.members == members.buckets)
    if existing.status != "PARTIALLY_CREATED" or not same:
        raise Failed(
            "MultiRegionAccessPointAlreadyOwnedByYou", f"There is already a Multi-Region Access Point {existing.name}."
        )


def _check_quota(change: Change, account: str) -> None:
    if len(change.items(POINTS, point_key(account, ""))) >= MRAPS_MAX:
        raise ApiError("TooManyMultiRegionAccessPoints", f"An account has at most {MRAPS_MAX} Multi-Region Access Points.")


def _retried(existing: PointRecord) -> PointRecord:
    return structs.replace(existing, status="CREATING")


def _new(
    change: Change, request: RequestRecord, members: Members, block: PublicAccess, aliases: list[str]
) -> PointRecord:
    free = next((alias for alias in aliases if change.get(ALIASES, alias) is None), None)
    if free is None:
        raise Failed("InternalErrors", "No alias was found that is not in use.")
    change.put(ALIASES, free, AliasRecord(point_key(request.account, request.name)))
    return PointRecord(
        account=request.account,
        name=request.name,
        alias=free,
        created_ms=request.created_ms,
        status="CREATING",
        block=block,
        members=members.buckets,
        owners=members.owners,
        dials=dict.fromkeys(members.buckets, ACTIVE),
    )


async def DeleteMultiRegionAccessPoint(
    here: Here, call: Call, *, AccountId: str, ClientToken: str, Details: Mapping[str, Any]
) -> Answer:
    """It stops serving at once. Its name becomes free, its alias never."""
    begin(here, call, AccountId)

    def delete(change: Change, request: RequestRecord) -> RequestRecord:
        point = change.get(POINTS, point_key(AccountId, request.name))
        if point is None:
            raise Failed("NoSuchMultiRegionAccessPoint", f"There is no Multi-Region Access Point {request.name}.")
        if point.status in ("CREATING", "DELETING"):
            raise Failed("MultiRegionAccessPointModifiedByAnotherRequest", f"{request.name} is {point.status} by another request.")
        change.put(POINTS, point.key, structs.replace(point, status="DELETING"))
        return structs.replace(request, alias=point.alias, regions=dict.fromkeys(point.members, "NEW"))

    return await accept(here, asked(here, call, "delete", ClientToken, Details), delete)


async def GetMultiRegionAccessPoint(here: Here, call: Call, *, AccountId: str, Name: str) -> Answer:
    begin(here, call, AccountId)
    return Answer({"AccessPoint": answers.point(point_named(here, AccountId, Name))})


async def ListMultiRegionAccessPoints(
    here: Here, call: Call, *, AccountId: str, NextToken: str | None = None, MaxResults: int | None = None
) -> Answer:
    """By name. The model says that paging is not in use at present; it works here all the same."""
    begin(here, call, AccountId)
    limit = MRAPS_MAX if MaxResults is None else min(MaxResults, MRAPS_MAX)
    if limit < 1:
        raise ApiError("InvalidArgument", "MaxResults is at least 1.")
    after = _after(NextToken) if NextToken is not None else ""
    left = [point for _, point in here.state.items(POINTS, point_key(AccountId, "")) if point.name > after]
    page = left[:limit]
    members: dict[str, Any] = {"AccessPoints": [answers.point(point) for point in page]}
    if len(left) > limit:
        members["NextToken"] = urlsafe_b64encode(page[-1].name.encode()).decode()
    return Answer(members)


def _after(token: str) -> str:
    try:
        return b64decode(token, altchars=b"-_", validate=True).decode()
    except ValueError as error:
        raise ApiError("InvalidArgument", "The NextToken is not one of ours.") from error
