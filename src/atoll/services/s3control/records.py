"""The records of access points in the control store."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from atoll.control_store import Table
from atoll.domain.arn import access_point_arn
from atoll.rules.policy.public_access import PublicAccess

# s3control model: MultiRegionAccessPointStatus
MrapStatus = Literal["READY", "INCONSISTENT_ACROSS_REGIONS", "CREATING", "PARTIALLY_CREATED", "PARTIALLY_DELETED", "DELETING"]
# A free string in the model; Terraform waits for the last two (mrap.md, section 3.1).
RequestStatus = Literal["NEW", "INPROGRESS", "SUCCEEDED", "FAILED"]
Verb = Literal["create", "delete", "put-policy"]

BLOCK_ALL = PublicAccess(True, True, True, True)  # S3 user guide: what an access point has when its creator says nothing


class PolicyText(msgspec.Struct, frozen=True):
    """A policy as received, and how many were submitted before it, itself included."""

    text: str
    version: int


class MrapRecord(msgspec.Struct, frozen=True, kw_only=True, rename={"traffic_dials": "dials"}):
    """One access point, under `mrap_key`.

    `members`, `owners` and `traffic_dials` are by region: bucket, the bucket's account, 0 or 100. Requests follow `traffic_dials`; `submitted`
    holds a routes update that has not taken effect yet, `routes_version` counts updates. `proposed` is the last policy
    submitted, `established` the one that counts, `acknowledged` the version that each member's region has seen.
    """

    account: str
    name: str
    alias: str
    created_ms: int
    status: MrapStatus
    block: PublicAccess
    members: dict[str, str]
    owners: dict[str, str]
    traffic_dials: dict[str, int]
    submitted: dict[str, int] | None = None
    submitted_ms: int = 0
    routes_version: int = 0
    proposed: PolicyText | None = None
    established: PolicyText | None = None
    acknowledged: dict[str, int] = {}

    @property
    def arn(self) -> str:
        return access_point_arn(self.account, self.alias)

    @property
    def key(self) -> str:
        return mrap_key(self.account, self.name)

    @property
    def serving(self) -> bool:
        """Does it answer requests for objects?"""
        return self.status in ("READY", "INCONSISTENT_ACROSS_REGIONS")

    @property
    def routes(self) -> dict[str, int]:
        """As last submitted."""
        return self.traffic_dials if self.submitted is None else self.submitted


class AliasRecord(msgspec.Struct, frozen=True, rename={"mrap": "point"}):
    """Whose alias this is. Rows are never removed: `mrap` "" is burnt, for all time."""

    mrap: str


class Failure(msgspec.Struct, frozen=True):
    """ErrorDetails of an asynchronous request. `code` is one of the closed list in mrap.md, section 3.3."""

    code: str
    message: str
    resource: str
    request_id: str


class RequestRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One asynchronous request, under the ARN of its token. Never removed: the API shows old ones.

    `alias`: of the access point it is about, "" when it failed at once. `parameters` are AWS's, as submitted.
    `failure` may be known before `status` says so. `policy_version` is the one that a put-policy proposed.
    """

    arn: str
    account: str
    verb: Verb
    name: str
    parameters: dict[str, Any]
    created_ms: int
    status: RequestStatus = "NEW"
    alias: str = ""
    policy_version: int = 0
    regions: dict[str, RequestStatus] = {}
    failure: Failure | None = None


class WorkRecord(msgspec.Struct, frozen=True):
    """A request that is not finished, under the ARN of its token."""

    created_ms: int


class ClientTokenRecord(msgspec.Struct, frozen=True):
    """What a client token was used for, under ACCOUNT/OPERATION/TOKEN."""

    digest: str
    arn: str
    expires_ms: int


class AccountBlockRecord(msgspec.Struct, frozen=True):
    """The public-access block of an account, under its id."""

    block: PublicAccess


MRAPS = Table("mrap", MrapRecord)
ALIASES = Table("mrap-alias", AliasRecord)
REQUESTS = Table("mrap-request", RequestRecord)
WORK = Table("mrap-work", WorkRecord)
CLIENT_TOKENS = Table("mrap-client-token", ClientTokenRecord)
ACCOUNT_BLOCKS = Table("account-public-access-block", AccountBlockRecord)


def mrap_key(account: str, name: str) -> str:
    """Names are unique in their account."""
    return f"{account}/{name}"
