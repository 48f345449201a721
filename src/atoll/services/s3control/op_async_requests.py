"""DescribeMultiRegionAccessPointOperation."""

from __future__ import annotations

from atoll.domain.api_call import Call, OperationOutput
from atoll.domain.errors import ApiError
from atoll.services.s3control import output_members
from atoll.services.s3control.dependencies import Dependencies
from atoll.services.s3control.lookup import begin
from atoll.services.s3control.records import REQUESTS


async def DescribeMultiRegionAccessPointOperation(deps: Dependencies, call: Call, *, AccountId: str, RequestTokenARN: str) -> OperationOutput:
    """200 also for one that failed: the failure is inside."""
    begin(deps, call, AccountId)
    request = deps.state.get(REQUESTS, RequestTokenARN)
    if request is None or request.account != AccountId:
        raise ApiError("NoSuchAsyncRequest", "There is no asynchronous request with this token.")
    return OperationOutput({"AsyncOperation": output_members.request(request)})
