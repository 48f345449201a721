"""Service, region, bucket or access point that a host name addresses: one table, one row per pattern (clients.md, section 2)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

import msgspec

Kind = Literal["s3", "access-point", "access-point-path", "s3control", "iam", "sts", "absent"]

_R = r"(?P<region>[a-z]{2}(?:-[a-z]+)+-\d)"
_DNS = r"\.amazonaws\.com"
_BUCKET = r"(?:(?P<bucket>[a-z0-9A-Z_.-]+)\.)?"
_ALIAS = r"(?P<alias>[a-z][a-z0-9]*\.mrap)"

# Kind of host -> pattern, first match wins. "absent": a name of AWS that Atoll owns but whose service is not built yet;
# it is answered with NotImplemented and never leaves this machine.
OWNED_NAMES: tuple[tuple[Kind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern))  # type: ignore[misc]
    for kind, pattern in (
        ("access-point", rf"{_ALIAS}\.accesspoint\.s3-global{_DNS}"),
        ("access-point-path", rf"accesspoint\.s3-global{_DNS}"),
        ("s3control", rf"(?:(?P<account>\d{{12}})\.)?s3-control(?:\.dualstack)?\.{_R}{_DNS}"),
        ("iam", rf"iam{_DNS}"),
        ("sts", rf"sts(?:\.{_R})?{_DNS}"),
        ("absent", rf"[a-z0-9-]+-\d{{12}}\.s3-accesspoint(?:\.dualstack)?\.{_R}{_DNS}"),
        ("absent", rf"(?:[a-z0-9.-]+\.)?s3express-[a-z0-9-]+\.{_R}{_DNS}"),
        ("absent", rf"[a-z0-9.-]+\.s3-object-lambda\.{_R}{_DNS}"),
        ("s3", rf"{_BUCKET}s3(?:-fips)?(?:\.dualstack)?\.{_R}{_DNS}"),
        ("s3", rf"{_BUCKET}s3{_DNS}"),
        ("s3", rf"(?P<bucket>[a-z0-9.-]+)\.s3-accelerate(?:\.dualstack)?{_DNS}"),
        ("absent", rf"cloudfront{_DNS}"),
        ("absent", r"[a-z0-9]+\.cloudfront\.net"),
        ("absent", rf"(?:s3files|lambda|transfer|globalaccelerator|elasticfilesystem|route53)(?:\.{_R})?{_DNS}"),
    )
)

AWS_NAME = re.compile(r".*\.(?:amazonaws\.com|cloudfront\.net|amazonaws\.com\.cn|api\.aws)")
_LITERAL = re.compile(r"\d+\.\d+\.\d+\.\d+|\[[0-9a-f:.]+\]|localhost|[0-9a-f]*:[0-9a-f:.]+")
_ACCOUNT_PREFIX = re.compile(r"\d{12}\..+")
_SCOPE = re.compile(r"Credential=[^/,\s]+/\d+/(?:([a-z0-9-]+)/)?([a-z0-9-]+)/aws4_request")
_SLASH = r"(?:/|%2F)"
_SCOPE_QUERY = re.compile(
    rf"X-Amz-Credential=[^&]*?{_SLASH}\d+{_SLASH}(?:([a-z0-9-]+){_SLASH})?([a-z0-9-]+){_SLASH}aws4_request", re.IGNORECASE
)

HOSTS_REMEMBERED = 1024  # clients repeat a few host names; asking fourteen patterns each time costs 3 us
HOST_MAX_CHARS = 255  # RFC 1035 section 2.3.4; longer ones are not remembered either
CLAIM_MAX_CHARS = 2048  # of an Authorization header before its signature; longer ones are read but not remembered

CONTROL_PATH = "/v20180820/"  # s3control model: every operation's path starts so; on plain endpoints that decides


class Host(msgspec.Struct, frozen=True):
    """A name that Atoll owns. `region` is "" on global hosts, `bucket` "" in path style."""

    kind: Kind
    region: str = ""
    bucket: str = ""
    alias: str = ""
    account: str = ""

    @property
    def is_global(self) -> bool:
        """Does TLS end in the client's own place?"""
        return self.kind in ("access-point", "access-point-path")


def without_port(host: str) -> str:
    """The name in a Host header or authority, in lower case."""
    if host.startswith("["):
        return host[: host.find("]") + 1].lower()
    return host.partition(":")[0].lower()


def parse_hostname(host: str) -> Host | None:
    """What the host (no port, lower case) names, or None when it is not one of ours."""
    return _parse_hostname(host) if len(host) <= HOST_MAX_CHARS else None


@lru_cache(maxsize=HOSTS_REMEMBERED)
def _parse_hostname(host: str) -> Host | None:
    for kind, pattern in OWNED_NAMES:
        match = pattern.fullmatch(host)
        if match:
            found = match.groupdict(default="")
            return Host(
                kind, found.get("region", ""), found.get("bucket", ""), found.get("alias", ""), found.get("account", "")
            )
    return None


def is_literal(host: str) -> bool:
    """An IP address or localhost: a plain endpoint."""
    return _LITERAL.fullmatch(host) is not None


class Scope(msgspec.Struct, frozen=True):
    """Region ("" in SigV4A) and service of a credential scope."""

    region: str
    service: str


def scope_of(authorization: str, query: str) -> Scope | None:
    """The credential scope that a request claims, unverified: enough to choose whom to ask. None without SigV4 or SigV4A."""
    if authorization:
        claim, _, rest = authorization.partition("Signature=")
        if "Credential=" in rest or len(claim) > CLAIM_MAX_CHARS:
            return _scope_of_header.__wrapped__(authorization)
        return _scope_of_header(claim)
    match = _SCOPE_QUERY.search(query) if query else None
    return Scope(match.group(1) or "", match.group(2)) if match else None


@lru_cache(maxsize=HOSTS_REMEMBERED)
def _scope_of_header(claim: str) -> Scope | None:
    """Of an Authorization header up to its signature, as most clients write it: what repeats from request to request."""
    match = _SCOPE.search(claim)
    return Scope(match.group(1) or "", match.group(2)) if match else None


class RequestTarget(msgspec.Struct, frozen=True):
    """What a request addresses. `path` is path-style for S3 (/bucket/key, still encoded); `virtual` tells whether the
    bucket stood in the host."""

    service: str
    path: str
    bucket: str = ""
    virtual: bool = False
    host: Host | None = None


def _path_style(path: str) -> str:
    return path.removeprefix("/").partition("/")[0]


class _Address(msgspec.Struct, frozen=True):
    """A Host header. `host` is None on a plain endpoint, where `label` is the bucket in front of localhost ("": none)."""

    name: str
    host: Host | None
    label: str


def _addressed(host_header: str) -> _Address:
    name = without_port(host_header)
    label, _, rest = name.partition(".")
    return _Address(name, parse_hostname(name), label if rest == "localhost" and not label.isdigit() else "")


_address = lru_cache(maxsize=HOSTS_REMEMBERED)(_addressed)


def _plain(label: str, path: str, scope: Scope | None) -> RequestTarget:
    """A plain endpoint: path and credential scope decide, not the host (clients.md, section 5)."""
    if path.startswith(CONTROL_PATH) and not label:
        return RequestTarget("s3control", path)
    service = scope.service if scope else "s3"
    if service in ("iam", "sts"):
        return RequestTarget(service, path)
    if label:
        return RequestTarget("s3", f"/{label}{path}", label, True)
    return RequestTarget(service, path, _path_style(path))


def named(host_header: str, path: str, scope: Scope | None) -> RequestTarget:
    """Service, bucket and path-style path of a request. The host wins where it is an AWS name."""
    address = _address(host_header) if len(host_header) <= HOST_MAX_CHARS else _addressed(host_header)
    host = address.host
    if host is None:
        return _plain(address.label, path, scope)
    match host.kind:
        case "s3" if host.bucket:
            return RequestTarget("s3", f"/{host.bucket}{path}", host.bucket, virtual=True, host=host)
        case "s3" | "access-point-path":
            return RequestTarget("s3", path, _path_style(path), host=host)
        case "access-point":
            # The alias stands where a bucket would, and no bucket can be called so: whoever does not know access points finds
            # nothing, and never takes the first word of the key for a bucket.
            return RequestTarget("s3", f"/{host.alias}{path}", host.alias, virtual=True, host=host)
        case "absent":
            return RequestTarget(address.name.partition(".amazonaws.com")[0], path, host=host)
        case _:
            return RequestTarget(host.kind, path, host=host)


def needs_account_prefix(host: str) -> bool:
    """s3control puts the 12-digit account before whatever endpoint is set (clients.md, section 5)."""
    return _ACCOUNT_PREFIX.fullmatch(host) is not None
