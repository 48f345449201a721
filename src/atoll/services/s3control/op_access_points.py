"""Operations that create, delete, get and list access points."""

from __future__ import annotations

from base64 import b64decode, urlsafe_b64encode
from collections.abc import Mapping
from typing import Any

from msgspec import structs

from atoll.control_store import Transaction
from atoll.domain.api_call import Call, OperationOutput
from atoll.domain.errors import ApiError
from atoll.domain.quotas import MRAPS_MAX
from atoll.rules.multi_region_access_point import ACTIVE, ALIAS_BYTES
from atoll.rules.multi_region_access_point import alias as alias_of
from atoll.rules.policy.public_access import PublicAccess
from atoll.services.s3control import output_members
from atoll.services.s3control.access_point_buckets import Members, block_of, members_of
from atoll.services.s3control.async_request_start import Failed, accept, new_async_request
from atoll.services.s3control.dependencies import Dependencies
from atoll.services.s3control.lookup import begin, mrap_by_name
from atoll.services.s3control.records import ALIASES, MRAPS, AliasRecord, MrapRecord, RequestRecord, mrap_key

ALIASES_ROLLED = 4  # one is enough but once in 36**12; none is ever given out twice


async def CreateMultiRegionAccessPoint(
    deps: Dependencies, call: Call, *, AccountId: str, ClientToken: str, Details: Mapping[str, Any]
) -> OperationOutput:
    """The alias is assigned at once; requests are served from READY on."""
    begin(deps, call, AccountId)
    async_request = new_async_request(deps, call, "create", ClientToken, Details)
    members, block = members_of(deps, AccountId, Details.get("Regions") or ()), block_of(Details.get("PublicAccessBlock"))
    aliases = [alias_of(deps.random_bytes(ALIAS_BYTES)) for _ in range(ALIASES_ROLLED)]

    def create(transaction: Transaction, request: RequestRecord) -> RequestRecord:
        existing = transaction.get(MRAPS, mrap_key(AccountId, request.name))
        if existing is not None:
            _check_is_retry(existing, members, block)
        else:
            _check_quota(transaction, AccountId)
        if isinstance(members, Failed):
            raise members
        mrap = _retried(existing) if existing is not None else _new(transaction, request, members, block, aliases)
        transaction.put(MRAPS, mrap.key, mrap)
        return structs.replace(request, alias=mrap.alias, regions=dict.fromkeys(mrap.members, "NEW"))

    return await accept(deps, async_request, create)


def _check_is_retry(existing: MrapRecord, members: Members | Failed, block: PublicAccess) -> None:
    """The same create again, after some regions failed, has another try (s3control model: MultiRegionAccessPointStatus)."""
    same = existing.block == block and (isinstance(members, Failed) or existing.members == members.buckets)
    if existing.status != "PARTIALLY_CREATED" or not same:
        raise Failed(
            "MultiRegionAccessPointAlreadyOwnedByYou", f"There is already a Multi-Region Access Point {existing.name}."
        )


def _check_quota(transaction: Transaction, account: str) -> None:
    if len(transaction.items(MRAPS, mrap_key(account, ""))) >= MRAPS_MAX:
        raise ApiError("TooManyMultiRegionAccessPoints", f"An account has at most {MRAPS_MAX} Multi-Region Access Points.")


def _retried(existing: MrapRecord) -> MrapRecord:
    return structs.replace(existing, status="CREATING")


def _new(
    transaction: Transaction, request: RequestRecord, members: Members, block: PublicAccess, aliases: list[str]
) -> MrapRecord:
    free = next((alias for alias in aliases if transaction.get(ALIASES, alias) is None), None)
    if free is None:
        raise Failed("InternalErrors", "No alias was found that is not in use.")
    transaction.put(ALIASES, free, AliasRecord(mrap_key(request.account, request.name)))
    return MrapRecord(
        account=request.account,
        name=request.name,
        alias=free,
        created_ms=request.created_ms,
        status="CREATING",
        block=block,
        members=members.buckets,
        owners=members.owners,
        traffic_dials=dict.fromkeys(members.buckets, ACTIVE),
    )


async def DeleteMultiRegionAccessPoint(
    deps: Dependencies, call: Call, *, AccountId: str, ClientToken: str, Details: Mapping[str, Any]
) -> OperationOutput:
    """It stops serving at once. Its name becomes free, its alias never."""
    begin(deps, call, AccountId)

    def delete(transaction: Transaction, request: RequestRecord) -> RequestRecord:
        mrap = transaction.get(MRAPS, mrap_key(AccountId, request.name))
        if mrap is None:
            raise Failed("NoSuchMultiRegionAccessPoint", f"There is no Multi-Region Access Point {request.name}.")
        if mrap.status in ("CREATING", "DELETING"):
            raise Failed("MultiRegionAccessPointModifiedByAnotherRequest", f"{request.name} is {mrap.status} by another request.")
        transaction.put(MRAPS, mrap.key, structs.replace(mrap, status="DELETING"))
        return structs.replace(request, alias=mrap.alias, regions=dict.fromkeys(mrap.members, "NEW"))

    return await accept(deps, new_async_request(deps, call, "delete", ClientToken, Details), delete)


async def GetMultiRegionAccessPoint(deps: Dependencies, call: Call, *, AccountId: str, Name: str) -> OperationOutput:
    begin(deps, call, AccountId)
    return OperationOutput({"AccessPoint": output_members.mrap(mrap_by_name(deps, AccountId, Name))})


async def ListMultiRegionAccessPoints(
    deps: Dependencies, call: Call, *, AccountId: str, NextToken: str | None = None, MaxResults: int | None = None
) -> OperationOutput:
    """By name. The model says that paging is not in use at present; it works here all the same."""
    begin(deps, call, AccountId)
    limit = MRAPS_MAX if MaxResults is None else min(MaxResults, MRAPS_MAX)
    if limit < 1:
        raise ApiError("InvalidArgument", "MaxResults is at least 1.")
    after = _after(NextToken) if NextToken is not None else ""
    left = [mrap for _, mrap in deps.state.items(MRAPS, mrap_key(AccountId, "")) if mrap.name > after]
    page = left[:limit]
    members: dict[str, Any] = {"AccessPoints": [output_members.mrap(mrap) for mrap in page]}
    if len(left) > limit:
        members["NextToken"] = urlsafe_b64encode(page[-1].name.encode()).decode()
    return OperationOutput(members)


def _after(token: str) -> str:
    try:
        return b64decode(token, altchars=b"-_", validate=True).decode()
    except ValueError as error:
        raise ApiError("InvalidArgument", "The NextToken is not one of ours.") from error
