"""Names, allowed operations and routes of Multi-Region Access Points.

Source: mrap.md; S3 user guide, "Multi-Region Access Points in Amazon S3", "Using Multi-Region Access Points with supported API
operations" and "Amazon S3 Multi-Region Access Points failover controls".
"""

from __future__ import annotations

import hashlib
import json
import re
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from atoll.domain.errors import ApiError
from atoll.domain.resource_names import ACCOUNT, ALIAS

# S3 user guide (June 2023), "Multi-Region Access Points restrictions and limitations": where buckets of one may be.
REGIONS = frozenset(
    (
        "us-east-1", "us-east-2", "us-west-1", "us-west-2",
        "ap-south-1", "ap-northeast-1", "ap-northeast-2", "ap-northeast-3", "ap-southeast-1", "ap-southeast-2",
        "ca-central-1", "eu-central-1", "eu-west-1", "eu-west-2", "eu-west-3", "eu-north-1", "sa-east-1",
    )
)  # fmt: skip

# S3 user guide: who answers control operations on AWS; the routes can be changed from five regions.
CONTROL_REGION = "us-west-2"
ROUTE_REGIONS = frozenset(("us-east-1", CONTROL_REGION, "ap-southeast-2", "ap-northeast-1", "eu-west-1"))
ROUTE_OPERATIONS = frozenset(("GetMultiRegionAccessPointRoutes", "SubmitMultiRegionAccessPointRoutes"))

# S3 user guide, MrapOperations; CopyObject with the access point as destination: S3 API: CopyObject.
OPERATIONS = frozenset(
    (
        "PutObject", "GetObject", "HeadObject", "DeleteObject", "ListObjectsV2", "CopyObject",
        "CreateMultipartUpload", "UploadPart", "CompleteMultipartUpload", "AbortMultipartUpload", "ListParts", "ListMultipartUploads",
        "GetObjectAcl", "PutObjectAcl", "GetObjectLegalHold", "PutObjectLegalHold", "GetObjectRetention", "PutObjectRetention",
        "GetObjectTagging", "PutObjectTagging", "DeleteObjectTagging", "RestoreObject",
    )
)  # fmt: skip
LENIENT_EXTRA_OPS = frozenset(("HeadBucket", "ListObjects", "DeleteObjects"))  # rclone and boto tools use them
_BY_COMPAT: Mapping[str, frozenset[str]] = {"lenient": OPERATIONS | LENIENT_EXTRA_OPS, "strict": OPERATIONS}

ALIAS_BYTES, TOKEN_BYTES = 16, 70  # randomness for one alias, for one request token
_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"
_ALIAS_DIGITS = 12
PASSIVE, ACTIVE = 0, 100
_NAME = re.compile(r"[a-z0-9][-a-z0-9]{1,48}[a-z0-9]")  # s3control model: MultiRegionAccessPointName
_POINT = re.compile(rf"arn:aws:s3::(?P<account>{ACCOUNT.pattern}):accesspoint/(?P<alias>{ALIAS.pattern})")


def check_operation(operation: str, compat: str) -> None:
    """Raises MethodNotAllowed for what an access point does not take (mrap.md, section 6.3)."""
    if operation not in _BY_COMPAT[compat]:
        raise ApiError("MethodNotAllowed", f"{operation} is not supported through a Multi-Region Access Point.")


def check_control_region(operation: str, region: str, compat: str) -> None:
    """Raises PermanentRedirect, without saying whereto, for a control operation signed for a region that does not answer it
    (mrap.md, section 2.2). Every region answers where compat is lenient."""
    allowed = ROUTE_REGIONS if operation in ROUTE_OPERATIONS else frozenset((CONTROL_REGION,))
    if compat == "strict" and region not in allowed:
        raise ApiError("PermanentRedirect", f"{operation} is answered in {', '.join(sorted(allowed))}, not in {region or 'no region'}.")


def check_name(name: str) -> str:
    """The name of an access point. Raises InvalidRequest."""
    if not _NAME.fullmatch(name):
        raise ApiError("InvalidRequest", f"{name[:64]!r} is not a name for a Multi-Region Access Point: {_NAME.pattern}.")
    return name


def alias(random_bytes: bytes) -> str:
    """An alias out of ALIAS_BYTES unpredictable ones: m, twelve digits of base 36, .mrap."""
    number = int.from_bytes(random_bytes)
    digits = [_BASE36[number // 36**place % 36] for place in range(_ALIAS_DIGITS)]
    return f"m{''.join(digits)}.mrap"


def request_arn(account: str, verb: str, random_bytes: bytes) -> str:
    """The ARN of an asynchronous request, out of TOKEN_BYTES unpredictable ones."""
    token = urlsafe_b64encode(random_bytes).decode().rstrip("=")
    return f"arn:aws:s3:{CONTROL_REGION}:{account}:async-request/mrap/{verb}/{token}"


def is_access_point_arn(text: str) -> bool:
    return _POINT.fullmatch(text) is not None


def alias_of_arn(arn: str) -> str | None:
    """The alias in the ARN of an access point; None for anything else, such as a bare name or alias."""
    found = _POINT.fullmatch(arn)
    return found["alias"] if found else None


def digest(body: object) -> str:
    """What a request says, whatever order its members came in: equal for requests that a client token makes one."""
    return hashlib.sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class RouteUpdate:
    """One Route of SubmitMultiRegionAccessPointRoutes: by bucket, by region, or by both."""

    bucket: str
    region: str
    traffic_dial: int


def update_traffic_dials(members: Mapping[str, str], traffic_dials: Mapping[str, int], updates: Sequence[RouteUpdate]) -> dict[str, int]:
    """The routes after an update; those that it does not name keep their value.

    `members`: region to bucket. Raises MethodNotAllowed where there is nowhere to fail over to, InvalidRequest otherwise.
    """
    if len(members) == 1:
        raise ApiError("MethodNotAllowed", "A Multi-Region Access Point with one region has nowhere to fail over to.")
    named = [(_region(members, update), _traffic_dial(update.traffic_dial)) for update in updates]
    if not named:
        raise ApiError("InvalidRequest", "RouteUpdates names at least one route.")
    if len(dict(named)) != len(named):
        raise ApiError("InvalidRequest", "RouteUpdates names a route twice.")
    after = {**traffic_dials, **dict(named)}
    if ACTIVE not in after.values():
        raise ApiError("InvalidRequest", "A Multi-Region Access Point cannot lose its last active route: one route must stay active.")
    return after


def _region(members: Mapping[str, str], update: RouteUpdate) -> str:
    """Which route is meant."""
    found = [
        region
        for region, bucket in members.items()
        if update.bucket in ("", bucket) and update.region in ("", region) and (update.bucket or update.region)
    ]
    if len(found) != 1:
        route_text = " in ".join(filter(None, (update.bucket, update.region))) or "neither a bucket nor a region"
        raise ApiError("InvalidRequest", f"A route names {route_text}, which is no route of this Multi-Region Access Point.")
    return found[0]


def _traffic_dial(value: int) -> int:
    if value not in (PASSIVE, ACTIVE):
        raise ApiError("InvalidRequest", f"TrafficDialPercentage is {PASSIVE} (passive) or {ACTIVE} (active), not {value}.")
    return value
