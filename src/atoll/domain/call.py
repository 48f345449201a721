"""One API call on its way through: who asks, what was vouched for, and what an operation is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from atoll.domain.message import Body, Request

CallerKind = Literal["anonymous", "root", "user", "role", "service"]


class Caller(msgspec.Struct, frozen=True):
    """Who asks. Source: IAM, "Policy evaluation logic" and "aws:PrincipalArn".

    `arn`: of the user, the account root, or for a role session the session (arn:aws:sts::A:assumed-role/ROLE/SESSION);
    `role_arn` then is the role's. `user_id` as in aws:userid (ROLEID:session for sessions). `service` is the principal
    name of a service caller (s3.amazonaws.com), `source_arn` on whose behalf. `session_policy` is JSON text or "".
    """

    kind: CallerKind
    account: str = ""
    arn: str = ""
    user_id: str = ""
    name: str = ""
    role_arn: str = ""
    access_key: str = ""
    session_policy: str = ""
    service: str = ""
    source_arn: str = ""
    tags: Mapping[str, str] = {}


ANONYMOUS = Caller("anonymous")


class Proof(msgspec.Struct, frozen=True):
    """How the caller proved who they are: what policies may ask about. Source: policy.md, keys s3:authType and so on.

    `auth_type`: REST-HEADER, REST-QUERY-STRING, POST or "" (anonymous). `version`: AWS4-HMAC-SHA256,
    AWS4-ECDSA-P256-SHA256, AWS (SigV2) or "". `age_ms` for presigned calls only, else None. `content_sha256` as sent.
    """

    auth_type: str = ""
    version: str = ""
    age_ms: int | None = None
    content_sha256: str = ""


class Onward(msgspec.Struct, frozen=True):
    """What the process that took a request from the client tells the one that answers it; travels under a MAC.

    `caller` None: the receiver verifies the client's own signature. `access_point` is the ARN of the Multi-Region Access
    Point that was addressed, `bucket` the member that was chosen. `replica` is set on copies between regions.
    `state_version` is how much of the control state the sender had seen: the receiver judges on no less.
    """

    peer: str
    secure: bool
    place: str = ""
    caller: Caller | None = None
    proof: Proof = Proof()
    access_point: str = ""
    access_point_account: str = ""
    bucket: str = ""
    replica: bool = False
    request_id: str = ""
    state_version: int = 0


class Call(msgspec.Struct):
    """What an operation is given besides its members.

    `now` is wall time in seconds, `now_ms` the same in whole milliseconds. `region` answers, `account` owns the world.
    `body` is the decoded payload (framing removed); its checks raise while it is read, so nothing is committed before its
    end; `payload` then holds what was computed on the way (rules/checksums.PayloadCheck: md5_hex, size, checksum).
    `allow(action, resource ARN)` raises AccessDenied; `may` tells. Both are for resources beyond those that the
    operation table names (copy sources, single keys of DeleteObjects, iam:PassRole). `log` collects facts for the one
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


class Answer(msgspec.Struct):
    """What an operation returns: AWS's output members; status and headers where the model cannot say them (206, 301).

    A streaming member (Body of GetObject) is an atoll Body. Timestamps are datetime with UTC, blobs are bytes.
    """

    members: Mapping[str, Any] = {}
    status: int = 0
    headers: Mapping[str, str] = {}
