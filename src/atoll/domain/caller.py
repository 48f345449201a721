"""Who asks, how that was proved, and what one process vouches for to another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

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


class Authentication(msgspec.Struct, frozen=True):
    """How the caller proved who they are: what policies may ask about. Source: policy.md, keys s3:authType and so on.

    `auth_type`: REST-HEADER, REST-QUERY-STRING, POST or "" (anonymous). `version`: AWS4-HMAC-SHA256,
    AWS4-ECDSA-P256-SHA256, AWS (SigV2) or "". `age_ms` for presigned calls only, else None. `content_sha256` as sent.
    """

    auth_type: str = ""
    version: str = ""
    age_ms: int | None = None
    content_sha256: str = ""


class ForwardedContext(msgspec.Struct, frozen=True, rename={"authentication": "proof"}):
    """What the process that took a request from the client tells the one that answers it; travels under a MAC.

    `caller` None: the receiver verifies the client's own signature. `access_point` is the ARN of the Multi-Region Access
    Point that was addressed, `bucket` the member that was chosen. `replica` is set on copies between regions.
    `state_version` is how much of the control state the sender had seen: the receiver judges on no less. `unframed`: the
    client said neither how long its body is nor that it is chunked; the next connection has to say something.
    """

    peer: str
    secure: bool
    place: str = ""
    caller: Caller | None = None
    authentication: Authentication = Authentication()
    access_point: str = ""
    access_point_account: str = ""
    bucket: str = ""
    replica: bool = False
    request_id: str = ""
    state_version: int = 0
    unframed: bool = False
