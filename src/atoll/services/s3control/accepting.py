"""How is an asynchronous request taken in? Once per client token, with its outcome reported through a request token."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from atoll.domain.call import Answer, Call
from atoll.domain.errors import ApiError
from atoll.rules import accesspoint
from atoll.services.s3control.here import Here
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
from atoll.state import Change

CLIENT_TOKEN_KEPT_MS = 24 * 3600 * 1000  # mrap.md, section 3.2: at least a day
_CLIENT_TOKEN = re.compile(r"\S{1,64}")  # s3control model: MultiRegionAccessPointClientToken


class Failed(Exception):
    """The request will fail: accepted now, told through its token (mrap.md, section 3.3)."""

    def __init__(self, code: str, message: str) -> None:
        self.code, self.message = code, message
        super().__init__(f"{code}: {message}")


@dataclass(frozen=True, slots=True)
class Asked:
    """An asynchronous request as it came in. `scope` and `digest` tell repetitions, see ClientTokenRecord."""

    request: RequestRecord
    request_id: str
    scope: str
    digest: str


# Do what is done at once, in the transaction that takes the request in, and return the record of the request. Raises Failed
# before it has written anything.
Begin = Callable[[Change, RequestRecord], RequestRecord]


def asked(here: Here, call: Call, verb: Verb, client_token: str, details: Mapping[str, Any]) -> Asked:
    """Raises InvalidRequest for a client token or a name that the model does not allow."""
    if not _CLIENT_TOKEN.fullmatch(client_token):
        raise ApiError("InvalidRequest", "A ClientToken has 1 to 64 characters and no blanks.")
    request = RequestRecord(
        arn=accesspoint.request_arn(call.account, verb, here.dice(accesspoint.TOKEN_BYTES)),
        account=call.account,
        verb=verb,
        name=accesspoint.check_name(details.get("Name") or ""),
        parameters=dict(details),
        created_ms=call.now_ms,
    )
    scope = f"{call.account}/{call.operation}/{client_token}"
    return Asked(request, call.request_id, scope, accesspoint.digest(details))


async def accept(here: Here, it: Asked, begin: Begin) -> Answer:
    """The request token: a new one, or that of the request which this one repeats. Raises ClientTokenConflict."""
    return Answer({"RequestTokenARN": await here.state.change(lambda change: _accept(change, it, begin))})


def _accept(change: Change, it: Asked, begin: Begin) -> str:
    repeated = change.get(CLIENT_TOKENS, it.scope)
    if repeated is not None and repeated.expires_ms > it.request.created_ms:
        if repeated.digest != it.digest:
            raise ApiError("ClientTokenConflict", "The ClientToken was used for a different request.")
        return repeated.arn
    request = _begun(change, it, begin)
    change.put(REQUESTS, request.arn, request)
    change.put(WORK, request.arn, WorkRecord(request.created_ms))
    _forget_expired(change, request.created_ms)
    change.put(CLIENT_TOKENS, it.scope, ClientTokenRecord(it.digest, request.arn, request.created_ms + CLIENT_TOKEN_KEPT_MS))
    return request.arn


def _begun(change: Change, it: Asked, begin: Begin) -> RequestRecord:
    try:
        return begin(change, it.request)
    except Failed as failed:
        failure = Failure(failed.code, failed.message, it.request.name, it.request_id)
        return structs.replace(it.request, failure=failure)


def _forget_expired(change: Change, now_ms: int) -> None:
    for scope, record in change.items(CLIENT_TOKENS):
        if record.expires_ms <= now_ms:
            change.delete(CLIENT_TOKENS, scope)
