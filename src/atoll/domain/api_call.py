"""One API call on its way through: what an operation is given, and what it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from atoll.domain.caller import Caller
from atoll.domain.http_message import Body, Request


class Call(msgspec.Struct):
    """What an operation is given besides its members.

    `now` is wall time in seconds, `now_ms` the same in whole milliseconds. `region` answers, `account` is the caller's: what is made
    belongs to it.
    `body` is the decoded payload (framing removed); its checks raise while it is read, so nothing is committed before its
    end; `payload` then holds what was computed on the way (rules/payload_verification.PayloadCheck: md5_hex, size, checksum).
    `allow(action, resource ARN)` raises AccessDenied; `may` tells. Both are for resources beyond those that the
    operation table names (copy sources, single keys of DeleteObjects, iam:PassRole). `log` collects fields for the one
    event per request.
    """

    service: str
    operation: str
    request: Request
    caller: Caller
    now: float
    region: str
    account: str
    request_id: str
    body: Body
    allow: Callable[[str, str], None]
    may: Callable[[str, str], bool]
    payload: Any = None
    log: dict[str, Any] = {}

    @property
    def now_ms(self) -> int:
        return int(self.now * 1000)


class OperationOutput(msgspec.Struct):
    """What an operation returns: AWS's output members; status and headers where the model cannot say them (206, 301).

    A streaming member (Body of GetObject) is an atoll Body. Timestamps are datetime with UTC, blobs are bytes.
    """

    members: Mapping[str, Any] = {}
    status: int = 0
    headers: Mapping[str, str] = {}
