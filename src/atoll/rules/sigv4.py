"""AWS4-HMAC-SHA256: the key, the signature, and how one of our own requests gets signed."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass

from atoll.domain.http_message import Request
from atoll.rules import canonical_request

ALGORITHM = "AWS4-HMAC-SHA256"
_BLOCK_BYTES = 64  # of SHA-256

# Scopes whose paths are encoded once. The S3 Control API signs as "s3".
S3_SERVICES = frozenset({"s3", "s3express", "s3-object-lambda", "s3-outposts"})
# Set or rewritten by what sends the request, so a signature over them would not hold. Source: signing.md 2.1, botocore's list.
UNSIGNED = frozenset(
    {"accept-encoding", "authorization", "connection", "content-length", "expect", "transfer-encoding", "user-agent", "x-amzn-trace-id"}
)


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a signer holds. `token` is "" for long-term keys."""

    access_key: str
    secret: str
    token: str = ""


def scope(day: str, region: str, service: str) -> str:
    return f"{day}/{region}/{service}/{canonical_request.TERMINATOR}"


def signing_key(secret: str, day: str, region: str, service: str) -> bytes:
    """The chain of four HMACs. Source: SigV4, "Derive a signing key"."""
    key = b"AWS4" + secret.encode()
    for section in (day, region, service, canonical_request.TERMINATOR):
        key = hmac.digest(key, section.encode("utf-8", "surrogateescape"), "sha256")
    return key


class SigningKey:
    """HMAC-SHA256 under one key, whose two padded blocks are hashed once (RFC 2104 section 4). On OpenSSL 3 and later this
    takes less than half the time of hmac.digest, which fetches the algorithm anew for every message."""

    __slots__ = ("_inner", "_outer")

    def __init__(self, key: bytes) -> None:
        if len(key) > _BLOCK_BYTES:
            raise AssertionError("a signing key is the output of SHA-256")
        block = key.ljust(_BLOCK_BYTES, b"\0")
        self._inner = hashlib.sha256(bytes([byte ^ 0x36 for byte in block]))
        self._outer = hashlib.sha256(bytes([byte ^ 0x5C for byte in block]))

    def signature(self, text: bytes) -> str:
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(text)
        outer.update(inner.digest())
        return outer.hexdigest()


def signature(key: bytes, text: bytes) -> str:
    return hmac.digest(key, text, "sha256").hex()


def sign(
    request: Request, credentials: Credentials, *, region: str, now: float, payload: str, service: str = "s3"
) -> dict[str, str]:
    """Headers to add to `request`, which has its host. `payload` is a hash in hex or one of the payload modes."""
    amz_date = canonical_request.amz_date(now)
    added = signed_headers(request, credentials, amz_date=amz_date, payload=payload, service=service)
    names, text = to_sign(request, added, ALGORITHM, scope(amz_date[:8], region, service), payload=payload, service=service)
    key = signing_key(credentials.secret, amz_date[:8], region, service)
    added["authorization"] = authorization(
        ALGORITHM, credentials.access_key, scope(amz_date[:8], region, service), names, signature(key, text)
    )
    return added


def signed_headers(
    request: Request, credentials: Credentials, *, amz_date: str, payload: str, service: str
) -> dict[str, str]:
    """What signing adds before there is a signature. Services other than S3 hash the body and send no header about it."""
    added = {"x-amz-date": amz_date}
    if service in S3_SERVICES:
        added["x-amz-content-sha256"] = payload
    if credentials.token:
        added["x-amz-security-token"] = credentials.token
    return added


def to_sign(
    request: Request, added: Mapping[str, str], algorithm: str, scope: str, *, payload: str, service: str
) -> tuple[str, bytes]:
    """The names to sign, joined by ";", and the string to sign for the header form."""
    headers = {**request.headers, **added}
    names = sorted(name for name in headers if name not in UNSIGNED)
    text = canonical_request.canonical_request(
        request.method,
        canonical_request.canonical_path(request.path, s3=service in S3_SERVICES),
        canonical_request.canonical_query(request.query),
        headers=canonical_request.canonical_headers(headers, names),
        names=";".join(names),
        payload=payload,
    )
    return ";".join(names), canonical_request.string_to_sign(algorithm, added["x-amz-date"], scope, text)


def authorization(algorithm: str, access_key: str, scope: str, names: str, signature: str) -> str:
    return f"{algorithm} Credential={access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
