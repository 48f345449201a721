"""The request context: the condition keys of one request.

Most policies have no condition, so nothing is computed before a key is asked for. A key that the request does not carry is
absent, never empty: s3:prefix is absent when a listing has no prefix.
Source: IAM user guide, "AWS global condition context keys"; Service Authorization Reference, condition keys for Amazon S3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import parse_qsl, unquote

from atoll.domain.caller import Authentication, Caller
from atoll.domain.http_message import Request
from atoll.rules.policy.model import Context, Value
from atoll.rules.session_token import TEMPORARY

TLS_FLOOR = "1.2"  # the lowest TLS that Atoll's listeners speak; the exact one is not known up here
NETWORK_ORIGIN = "Internet"  # of every Multi-Region Access Point; AWS documents no other for them
_DAY_S = 86_400

_PRINCIPAL_TYPES = {"root": "Account", "user": "User", "role": "AssumedRole", "anonymous": "Anonymous"}
_CREATES = frozenset({"PutObject", "PostObject", "CopyObject", "CompleteMultipartUpload"})
_WRITES = _CREATES | {"CreateMultipartUpload", "UploadPart", "UploadPartCopy"}


@dataclass(frozen=True, slots=True)
class RequestContext:
    """The condition keys of one request, read on demand. See `request_context`."""

    request: Request
    caller: Caller
    authentication: Authentication
    now: float
    region: str
    resource_account: str
    params: Mapping[str, object]
    operation: str
    access_point: str
    access_point_account: str
    existing_tags: Mapping[str, str] | None
    principal_tags: Mapping[str, str]

    def get(self, key: str, /) -> Value | None:
        name, slash, tag = key.partition("/")
        if slash:
            tags = _TAGS.get(name)
            return None if tags is None else _tagged(tags(self), tag)
        read = _KEYS.get(key)
        if read is not None:
            return read(self)
        return self.request.headers.get(key[3:]) if key.startswith("s3:x-amz-") else None

    def member(self, name: str) -> str | None:
        """A scalar member of the operation's input as a condition sees it."""
        return _text(self.params.get(name))

    def member_of(self, structure: str, name: str) -> str | None:
        found = self.params.get(structure)
        return _text(found.get(name)) if isinstance(found, Mapping) else None


def request_context(
    *,
    request: Request,
    caller: Caller,
    authentication: Authentication,
    now: float,
    region: str,
    resource_account: str,
    params: Mapping[str, object],
    operation: str,
    access_point: str = "",
    access_point_account: str = "",
    existing_tags: Mapping[str, str] | None = None,
    principal_tags: Mapping[str, str] | None = None,
) -> RequestContext:
    """The context of one call. `params` are the operation's members as read from the wire, `now` in seconds.

    `existing_tags` are those of the object (None: not read; see Policy.asks). `principal_tags` default to the caller's.
    """
    tags = caller.tags if principal_tags is None else principal_tags
    return RequestContext(
        request,
        caller,
        authentication,
        now,
        region,
        resource_account,
        params,
        operation,
        access_point,
        access_point_account,
        existing_tags,
        tags,
    )


@dataclass(frozen=True, slots=True)
class Overlay:
    """A context with some keys replaced (None: absent): another key of DeleteObjects, s3:prefix for a missing object."""

    under: Context
    at_end: Mapping[str, Value | None]

    def get(self, key: str, /) -> Value | None:
        return self.at_end[key] if key in self.at_end else self.under.get(key)


def _text(value: object) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return _iso(value.timestamp())
    return str(value) if isinstance(value, int | float) else None


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _tagged(tags: Mapping[str, str], name: str) -> Value | None:
    """Condition keys have no case, tags have: several values when they differ in nothing else."""
    found = tuple(value for key, value in tags.items() if key.lower() == name)
    return found[0] if len(found) == 1 else found or None


def _peer(context: RequestContext) -> str:
    """The client's address, also when another process took the connection."""
    forwarded = context.request.forwarded
    return forwarded.peer if forwarded is not None else context.request.peer


def _secure(context: RequestContext) -> bool:
    forwarded = context.request.forwarded
    return forwarded.secure if forwarded is not None else context.request.secure


def _bool(value: bool) -> str:
    return "true" if value else "false"


def _principal_arn(context: RequestContext) -> str | None:
    """For a session it is the role's ARN."""
    return context.caller.role_arn or context.caller.arn or None


def _userid(context: RequestContext) -> str | None:
    caller = context.caller
    if caller.kind == "anonymous":
        return "anonymous"
    return caller.account if caller.kind == "root" else caller.user_id or None


def _is_service(context: RequestContext) -> str | None:
    """Present on signed calls only."""
    return None if context.caller.kind == "anonymous" else _bool(context.caller.kind == "service")


def _second_factor(context: RequestContext) -> str | None:
    """Present with temporary credentials only, which a role always has; and nobody here has a second factor."""
    caller = context.caller
    return "false" if caller.kind == "role" or caller.access_key.startswith(TEMPORARY) else None


def _source_account(context: RequestContext) -> str | None:
    sections = context.caller.source_arn.split(":")
    return sections[4] or None if len(sections) > 4 else None


def _age(context: RequestContext) -> str | None:
    return None if context.authentication.age_ms is None else str(context.authentication.age_ms)


def _copy_source(context: RequestContext) -> Value | None:
    """Decoded, and both with and without the leading slash: clients send either, and so do policies."""
    sent = context.member("CopySource") or context.request.headers.get("x-amz-copy-source")
    if sent is None:
        return None
    plain = unquote(sent).removeprefix("/")
    return (plain, "/" + plain)


def _creates(context: RequestContext) -> str | None:
    return _bool(context.operation in _CREATES) if context.operation in _WRITES else None


def _lock_until(context: RequestContext) -> str | None:
    return context.member("ObjectLockRetainUntilDate") or context.member_of("Retention", "RetainUntilDate")


def _lock_days(context: RequestContext) -> str | None:
    until = _lock_until(context)
    if until is None:
        return None
    try:
        end = datetime.fromisoformat(until)
    except ValueError:
        return None
    end = end if end.tzinfo else end.replace(tzinfo=UTC)
    return str(int((end.timestamp() - context.now) // _DAY_S))


def _request_tags(context: RequestContext) -> dict[str, str]:
    """Tags that the call brings: the x-amz-tagging text, a TagSet, or the Tags of IAM and STS."""
    found = context.params.get("Tagging") or context.request.headers.get("x-amz-tagging") or context.params.get("Tags")
    if isinstance(found, str):
        return dict(parse_qsl(found, keep_blank_values=True))
    listed = found.get("TagSet") if isinstance(found, Mapping) else found
    pairs = listed if isinstance(listed, list | tuple) else ()
    return {str(one.get("Key")): str(one.get("Value", "")) for one in pairs if isinstance(one, Mapping)}


def _request_tag_keys(context: RequestContext) -> Value | None:
    return tuple(_request_tags(context)) or None


def _member(name: str) -> Callable[[RequestContext], str | None]:
    return lambda context: context.member(name)


def _header(name: str) -> Callable[[RequestContext], str | None]:
    return lambda context: context.request.headers.get(name)


_TAGS: Mapping[str, Callable[[RequestContext], Mapping[str, str]]] = {
    "aws:principaltag": lambda c: c.principal_tags,
    "s3:existingobjecttag": lambda c: c.existing_tags or {},
    "s3:requestobjecttag": _request_tags,
    "aws:requesttag": _request_tags,
}

_KEYS: Mapping[str, Callable[[RequestContext], Value | None]] = {
    "aws:sourceip": _peer,
    "aws:securetransport": lambda c: _bool(_secure(c)),
    "aws:currenttime": lambda c: _iso(c.now),
    "aws:epochtime": lambda c: str(int(c.now)),
    "aws:useragent": _header("user-agent"),
    "aws:referer": _header("referer"),
    "aws:requestedregion": lambda c: c.region or None,
    "aws:resourceaccount": lambda c: c.resource_account or None,
    "aws:principalarn": _principal_arn,
    "aws:principalaccount": lambda c: c.caller.account or None,
    "aws:principaltype": lambda c: _PRINCIPAL_TYPES.get(c.caller.kind),
    "aws:userid": _userid,
    "aws:username": lambda c: c.caller.name or None if c.caller.kind == "user" else None,
    "aws:sourcearn": lambda c: c.caller.source_arn or None,
    "aws:sourceaccount": _source_account,
    "aws:principalservicename": lambda c: c.caller.service or None,
    "aws:principalisawsservice": _is_service,
    "aws:tagkeys": _request_tag_keys,
    "aws:multifactorauthpresent": _second_factor,
    "aws:viaawsservice": lambda c: None if c.caller.kind == "anonymous" else "false",
    "s3:resourceaccount": lambda c: c.resource_account or None,
    "s3:authtype": lambda c: c.authentication.auth_type or None,
    "s3:signatureversion": lambda c: c.authentication.version or None,
    "s3:signatureage": _age,
    "s3:x-amz-content-sha256": lambda c: c.authentication.content_sha256 or None,
    "s3:tlsversion": lambda c: TLS_FLOOR if _secure(c) else None,
    "s3:prefix": _member("Prefix"),
    "s3:delimiter": _member("Delimiter"),
    "s3:max-keys": _member("MaxKeys"),
    "s3:versionid": _member("VersionId"),
    "s3:requestobjecttagkeys": _request_tag_keys,
    "s3:x-amz-acl": _member("ACL"),
    "s3:x-amz-grant-full-control": _member("GrantFullControl"),
    "s3:x-amz-grant-read": _member("GrantRead"),
    "s3:x-amz-grant-read-acp": _member("GrantReadACP"),
    "s3:x-amz-grant-write": _member("GrantWrite"),
    "s3:x-amz-grant-write-acp": _member("GrantWriteACP"),
    "s3:x-amz-copy-source": _copy_source,
    "s3:x-amz-metadata-directive": _member("MetadataDirective"),
    "s3:x-amz-server-side-encryption": _member("ServerSideEncryption"),
    "s3:x-amz-server-side-encryption-aws-kms-key-id": _member("SSEKMSKeyId"),
    "s3:x-amz-server-side-encryption-customer-algorithm": _member("SSECustomerAlgorithm"),
    "s3:x-amz-storage-class": _member("StorageClass"),
    "s3:x-amz-website-redirect-location": _member("WebsiteRedirectLocation"),
    "s3:x-amz-object-ownership": _member("ObjectOwnership"),
    "s3:if-match": _member("IfMatch"),
    "s3:if-none-match": _member("IfNoneMatch"),
    "s3:objectcreationoperation": _creates,
    "s3:locationconstraint": lambda c: c.member_of("CreateBucketConfiguration", "LocationConstraint"),
    "s3:object-lock-mode": lambda c: c.member("ObjectLockMode") or c.member_of("Retention", "Mode"),
    "s3:object-lock-retain-until-date": _lock_until,
    "s3:object-lock-remaining-retention-days": _lock_days,
    "s3:object-lock-legal-hold": lambda c: c.member("ObjectLockLegalHoldStatus") or c.member_of("LegalHold", "Status"),
    "iam:policyarn": _member("PolicyArn"),
    "s3:dataaccesspointarn": lambda c: c.access_point or None,
    "s3:dataaccesspointaccount": lambda c: c.access_point_account or None,
    "s3:accesspointnetworkorigin": lambda c: NETWORK_ORIGIN if c.access_point else None,
}

_IDENTITY = frozenset(  # of IAM's and STS's own calls; filled by gateway/authorize and services/sts
    {"iam:permissionsboundary", "iam:passedtoservice", "sts:rolesessionname", "sts:externalid"}
)
FILLED = frozenset(_KEYS) | _IDENTITY
TAG_KEYS = frozenset(_TAGS)
