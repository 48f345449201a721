"""What became of an asynchronous request?"""

from __future__ import annotations

from atoll.domain.call import Answer, Call
from atoll.domain.errors import ApiError
from atoll.services.s3control import answers
from atoll.services.s3control.finding import begin
from atoll.services.s3control.here import Here
from atoll.services.s3control.records import REQUESTS


async def DescribeMultiRegionAccessPointOperation(here: Here, call: Call, *, AccountId: str, RequestTokenARN: str) -> Answer:
    """200 also for one that failed: the failure is inside."""
    begin(here, call, AccountId)
    request = here.state.get(REQUESTS, RequestTokenARN)
    if request is None or request.account != AccountId:
        raise ApiError("NoSuchAsyncRequest", "There is no asynchronous request with this token.")
    return Answer({"AsyncOperation": answers.request(request)})
