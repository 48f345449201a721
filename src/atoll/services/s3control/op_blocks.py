"""The public-access block of a whole account: it counts beside those of its buckets and access points."""

from __future__ import annotations

from collections.abc import Mapping

from atoll.domain.call import Answer, Call
from atoll.domain.errors import ApiError
from atoll.services.s3control.finding import own
from atoll.services.s3control.here import Here
from atoll.services.s3control.members import SWITCHES, block_of
from atoll.services.s3control.records import ACCOUNT_BLOCKS, AccountBlockRecord


async def GetPublicAccessBlock(here: Here, call: Call, *, AccountId: str) -> Answer:
    own(here, call, AccountId)
    record = here.state.get(ACCOUNT_BLOCKS, AccountId)
    if record is None:
        raise ApiError("NoSuchPublicAccessBlockConfiguration", "The public access block configuration was not found")
    members = {member: getattr(record.block, field) for field, member in SWITCHES.items()}
    return Answer({"PublicAccessBlockConfiguration": members})


async def PutPublicAccessBlock(
    here: Here, call: Call, *, AccountId: str, PublicAccessBlockConfiguration: Mapping[str, bool] | None = None
) -> Answer:
    """A switch that is left out is off."""
    own(here, call, AccountId)
    if not PublicAccessBlockConfiguration:
        raise ApiError("MalformedXML", "A PublicAccessBlockConfiguration sets at least one switch.")
    record = AccountBlockRecord(block_of(PublicAccessBlockConfiguration))
    await here.state.change(lambda change: change.put(ACCOUNT_BLOCKS, AccountId, record))
    return Answer()


async def DeletePublicAccessBlock(here: Here, call: Call, *, AccountId: str) -> Answer:
    own(here, call, AccountId)
    await here.state.change(lambda change: change.delete(ACCOUNT_BLOCKS, AccountId))
    return Answer()
