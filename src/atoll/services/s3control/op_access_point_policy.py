"""Operations on an access point's policy: the one in force, and the one that was proposed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import structs

from atoll.control_store import Transaction
from atoll.domain.api_call import Call, OperationOutput
from atoll.domain.errors import ApiError
from atoll.rules.policy.parse import parse
from atoll.rules.policy.public_access import is_public, strictest
from atoll.rules.policy.validate import check_access_point_policy, public_refused
from atoll.services.s3control.access_points import account_block
from atoll.services.s3control.async_request_start import Failed, accept, new_async_request
from atoll.services.s3control.dependencies import Dependencies
from atoll.services.s3control.lookup import begin, mrap_by_name
from atoll.services.s3control.records import MRAPS, MrapRecord, PolicyText, RequestRecord, mrap_key


async def PutMultiRegionAccessPointPolicy(
    deps: Dependencies, call: Call, *, AccountId: str, ClientToken: str, Details: Mapping[str, Any]
) -> OperationOutput:
    """Proposed at once, established when the regions have seen it. It goes on while a region is away."""
    begin(deps, call, AccountId)
    async_request = new_async_request(deps, call, "put-policy", ClientToken, Details)
    text = Details.get("Policy") or ""
    seen = deps.state.get(MRAPS, mrap_key(AccountId, async_request.request.name))
    failed = _judged(deps, seen, text) if seen is not None else None

    def propose(transaction: Transaction, request: RequestRecord) -> RequestRecord:
        mrap = transaction.get(MRAPS, mrap_key(AccountId, request.name))
        if mrap is None:
            raise Failed("NoSuchMultiRegionAccessPoint", f"There is no Multi-Region Access Point {request.name}.")
        if not mrap.serving:
            raise Failed("MultiRegionAccessPointNotReady", f"{request.name} is {mrap.status}.")
        if seen is None or mrap.alias != seen.alias:
            raise Failed("MultiRegionAccessPointModifiedByAnotherRequest", f"{request.name} has just been made anew.")
        if failed is not None:
            raise failed
        version = 1 + (mrap.proposed.version if mrap.proposed is not None else 0)
        transaction.put(MRAPS, mrap.key, structs.replace(mrap, proposed=PolicyText(text, version)))
        regions = dict.fromkeys(mrap.members, "NEW")
        return structs.replace(request, alias=mrap.alias, policy_version=version, regions=regions)

    return await accept(deps, async_request, propose)


def _judged(deps: Dependencies, mrap: MrapRecord, text: str) -> Failed | None:
    """What speaks against the policy."""
    try:
        policy = check_access_point_policy(text, mrap.arn, principal_exists=deps.principal_exists)
        blocks = strictest(mrap.block, account_block(deps.state, mrap.account))
        if blocks.block_public_policy and is_public(policy):
            raise public_refused()
    except ApiError as error:
        return Failed(error.code, error.message)
    return None


async def GetMultiRegionAccessPointPolicy(deps: Dependencies, call: Call, *, AccountId: str, Name: str) -> OperationOutput:
    """The texts as they were received. Never set is an empty answer, since both members are optional in the model."""
    begin(deps, call, AccountId)
    mrap = mrap_by_name(deps, AccountId, Name)
    texts = {"Established": mrap.established, "Proposed": mrap.proposed}
    return OperationOutput({"Policy": {member: {"Policy": policy.text} for member, policy in texts.items() if policy is not None}})


async def GetMultiRegionAccessPointPolicyStatus(deps: Dependencies, call: Call, *, AccountId: str, Name: str) -> OperationOutput:
    begin(deps, call, AccountId)
    found = mrap_by_name(deps, AccountId, Name).established
    public = found is not None and is_public(parse(found.text, kind="resource"))
    return OperationOutput({"Established": {"IsPublic": public}})
