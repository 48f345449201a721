"""The public-access block of a whole account: it counts beside those of its buckets and access points."""

from __future__ import annotations

from collections.abc import Mapping

from atoll.domain.api_call import Call, OperationOutput
from atoll.domain.errors import ApiError
from atoll.services.s3control.access_point_buckets import SWITCHES, block_of
from atoll.services.s3control.dependencies import Dependencies
from atoll.services.s3control.lookup import own
from atoll.services.s3control.records import ACCOUNT_BLOCKS, AccountBlockRecord


async def GetPublicAccessBlock(deps: Dependencies, call: Call, *, AccountId: str) -> OperationOutput:
    own(deps, call, AccountId)
    record = deps.state.get(ACCOUNT_BLOCKS, AccountId)
    if record is None:
        raise ApiError("NoSuchPublicAccessBlockConfiguration", "The public access block configuration was not found")
    members = {member: getattr(record.block, field) for field, member in SWITCHES.items()}
    return OperationOutput({"PublicAccessBlockConfiguration": members})


async def PutPublicAccessBlock(
    deps: Dependencies, call: Call, *, AccountId: str, PublicAccessBlockConfiguration: Mapping[str, bool] | None = None
) -> OperationOutput:
    """A switch that is left out is off."""
    own(deps, call, AccountId)
    if not PublicAccessBlockConfiguration:
        raise ApiError("MalformedXML", "A PublicAccessBlockConfiguration sets at least one switch.")
    record = AccountBlockRecord(block_of(PublicAccessBlockConfiguration))
    await deps.state.transact(lambda transaction: transaction.put(ACCOUNT_BLOCKS, AccountId, record))
    return OperationOutput()


async def DeletePublicAccessBlock(deps: Dependencies, call: Call, *, AccountId: str) -> OperationOutput:
    own(deps, call, AccountId)
    await deps.state.transact(lambda transaction: transaction.delete(ACCOUNT_BLOCKS, AccountId))
    return OperationOutput()
