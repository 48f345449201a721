"""Starts an asynchronous request: once per client token, with its outcome reported through a request token."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from atoll.control_store import Transaction
from atoll.domain.api_call import Call, OperationOutput
from atoll.domain.errors import ApiError
from atoll.rules import multi_region_access_point
from atoll.services.s3control.dependencies import Dependencies
from atoll.services.s3control.records import (
    CLIENT_TOKENS,
    REQUESTS,
    WORK,
    ClientTokenRecord,
    Failure,
    RequestRecord,
    Verb,
    WorkRecord,
)

CLIENT_TOKEN_KEPT_MS = 24 * 3600 * 1000  # mrap.md, section 3.2: at least a day
_CLIENT_TOKEN = re.compile(r"\S{1,64}")  # s3control model: MultiRegionAccessPointClientToken


class Failed(Exception):
    """The request will fail: accepted now, told through its token (mrap.md, section 3.3)."""

    def __init__(self, code: str, message: str) -> None:
        self.code, self.message = code, message
        super().__init__(f"{code}: {message}")


@dataclass(frozen=True, slots=True)
class AsyncRequest:
    """An asynchronous request as it came in. `scope` and `digest` tell repetitions, see ClientTokenRecord."""

    request: RequestRecord
    request_id: str
    scope: str
    digest: str


# Do what is done at once, in the transaction that takes the request in, and return the record of the request. Raises Failed
# before it has written anything.
Begin = Callable[[Transaction, RequestRecord], RequestRecord]


def new_async_request(deps: Dependencies, call: Call, verb: Verb, client_token: str, details: Mapping[str, Any]) -> AsyncRequest:
    """Raises InvalidRequest for a client token or a name that the model does not allow."""
    if not _CLIENT_TOKEN.fullmatch(client_token):
        raise ApiError("InvalidRequest", "A ClientToken has 1 to 64 characters and no blanks.")
    request = RequestRecord(
        arn=multi_region_access_point.request_arn(call.account, verb, deps.random_bytes(multi_region_access_point.TOKEN_BYTES)),
        account=call.account,
        verb=verb,
        name=multi_region_access_point.check_name(details.get("Name") or ""),
        parameters=dict(details),
        created_ms=call.now_ms,
    )
    scope = f"{call.account}/{call.operation}/{client_token}"
    return AsyncRequest(request, call.request_id, scope, multi_region_access_point.digest(details))


async def accept(deps: Dependencies, async_request: AsyncRequest, begin: Begin) -> OperationOutput:
    """The request token: a new one, or that of the request which this one repeats. Raises ClientTokenConflict."""
    return OperationOutput({"RequestTokenARN": await deps.state.transact(lambda transaction: _accept(transaction, async_request, begin))})


def _accept(transaction: Transaction, async_request: AsyncRequest, begin: Begin) -> str:
    repeated = transaction.get(CLIENT_TOKENS, async_request.scope)
    if repeated is not None and repeated.expires_ms > async_request.request.created_ms:
        if repeated.digest != async_request.digest:
            raise ApiError("ClientTokenConflict", "The ClientToken was used for a different request.")
        return repeated.arn
    request = _start_request(transaction, async_request, begin)
    transaction.put(REQUESTS, request.arn, request)
    transaction.put(WORK, request.arn, WorkRecord(request.created_ms))
    _forget_expired(transaction, request.created_ms)
    transaction.put(CLIENT_TOKENS, async_request.scope, ClientTokenRecord(async_request.digest, request.arn, request.created_ms + CLIENT_TOKEN_KEPT_MS))
    return request.arn


def _start_request(transaction: Transaction, async_request: AsyncRequest, begin: Begin) -> RequestRecord:
    try:
        return begin(transaction, async_request.request)
    except Failed as failed:
        failure = Failure(failed.code, failed.message, async_request.request.name, async_request.request_id)
        return structs.replace(async_request.request, failure=failure)


def _forget_expired(transaction: Transaction, now_ms: int) -> None:
    for scope, record in transaction.items(CLIENT_TOKENS):
        if record.expires_ms <= now_ms:
            transaction.delete(CLIENT_TOKENS, scope)
