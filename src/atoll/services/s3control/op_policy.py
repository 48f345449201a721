"""What does an access point's policy say: the one that counts, and the one that was proposed?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import structs

from atoll.domain.call import Answer, Call
from atoll.domain.errors import ApiError
from atoll.rules.policy.parse import parse
from atoll.rules.policy.public import is_public, strictest
from atoll.rules.policy.validate import check_access_point_policy, public_refused
from atoll.services.s3control.accepting import Failed, accept, asked
from atoll.services.s3control.finding import begin, point_named
from atoll.services.s3control.here import Here
from atoll.services.s3control.plane import account_block
from atoll.services.s3control.records import POINTS, PointRecord, PolicyText, RequestRecord, point_key
from atoll.state import Change


async def PutMultiRegionAccessPointPolicy(
    here: Here, call: Call, *, AccountId: str, ClientToken: str, Details: Mapping[str, Any]
) -> Answer:
    """Proposed at once, established when the regions have seen it. It goes on while a region is away."""
    begin(here, call, AccountId)
    it = asked(here, call, "put-policy", ClientToken, Details)
    text = Details.get("Policy") or ""
    seen = here.state.get(POINTS, point_key(AccountId, it.request.name))
    failed = _judged(here, seen, text) if seen is not None else None

    def propose(change: Change, request: RequestRecord) -> RequestRecord:
        point = change.get(POINTS, point_key(AccountId, request.name))
        if point is None:
            raise Failed("NoSuchMultiRegionAccessPoint", f"There is no Multi-Region Access Point {request.name}.")
        if not point.serving:
            raise Failed("MultiRegionAccessPointNotReady", f"{request.name} is {point.status}.")
        if seen is None or point.alias != seen.alias:
            raise Failed("MultiRegionAccessPointModifiedByAnotherRequest", f"{request.name} has just been made anew.")
        if failed is not None:
            raise failed
        version = 1 + (point.proposed.version if point.proposed is not None else 0)
        change.put(POINTS, point.key, structs.replace(point, proposed=PolicyText(text, version)))
        regions = dict.fromkeys(point.members, "NEW")
        return structs.replace(request, alias=point.alias, policy_version=version, regions=regions)

    return await accept(here, it, propose)


def _judged(here: Here, point: PointRecord, text: str) -> Failed | None:
    """What speaks against the policy."""
    try:
        policy = check_access_point_policy(text, point.arn, known=here.known)
        blocks = strictest(point.block, account_block(here.state, point.account))
        if blocks.block_public_policy and is_public(policy):
            raise public_refused()
    except ApiError as error:
        return Failed(error.code, error.message)
    return None


async def GetMultiRegionAccessPointPolicy(here: Here, call: Call, *, AccountId: str, Name: str) -> Answer:
    """The texts as they were received. Never set is an empty answer, since both members are optional in the model."""
    begin(here, call, AccountId)
    point = point_named(here, AccountId, Name)
    texts = {"Established": point.established, "Proposed": point.proposed}
    return Answer({"Policy": {member: {"Policy": policy.text} for member, policy in texts.items() if policy is not None}})


async def GetMultiRegionAccessPointPolicyStatus(here: Here, call: Call, *, AccountId: str, Name: str) -> Answer:
    begin(here, call, AccountId)
    found = point_named(here, AccountId, Name).established
    public = found is not None and is_public(parse(found.text, kind="resource"))
    return Answer({"Established": {"IsPublic": public}})
