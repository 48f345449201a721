"""Verifies the signature of a request: parse, check, verify, in this order. The one entry that the gateway calls.

    presented = present(request, services=...)            # None: anonymous
    check_time(presented, now)
    check_signed_headers(presented, request)
    ... the caller looks up presented.access_key and presented.token ...
    verify(presented, request, secret, keys=keys)
    check_region(presented, region)

A verification result is never remembered; keys are, and never outlive the secret that they came from.
"""

from __future__ import annotations

import hmac
from collections import OrderedDict
from typing import Generic, TypeVar

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey

from atoll.domain.errors import ApiError
from atoll.domain.http_message import Request
from atoll.domain.quotas import PRESIGN_MAX_S, SKEW_MAX_S
from atoll.rules import canonical_request, plus_sign_decoding, presigned_url, sigv2, sigv4, sigv4a
from atoll.rules.aws_chunked import ChunkVerifier
from atoll.rules.signature_parsing import Credential, RequestSignature, malformed, parse_signature

__all__ = [
    "KeyCache",
    "RequestSignature",
    "check_region",
    "check_signed_headers",
    "check_time",
    "chunk_verifier",
    "parse_signature",
    "verify",
]

KEY_CACHE_MAX = 4096  # entries of each kind, per process

_K = TypeVar("_K")


class _Recent(Generic[_K]):
    """Keys made from secrets, the least recently used out first. An entry knows its secret, so that a rotated one never meets
    an old key."""

    __slots__ = ("_entries", "_limit")

    def __init__(self, limit: int) -> None:
        self._entries: OrderedDict[str, tuple[str, _K]] = OrderedDict()
        self._limit = limit

    def get(self, name: str, secret: str) -> _K | None:
        entry = self._entries.get(name)
        if entry is None or entry[0] != secret:  # both are ours: no timing to learn from
            return None
        self._entries.move_to_end(name)
        return entry[1]

    def put(self, name: str, secret: str, key: _K) -> _K:
        self._entries[name] = (secret, key)
        self._entries.move_to_end(name)
        if len(self._entries) > self._limit:
            self._entries.popitem(last=False)
        return key

    def __len__(self) -> int:
        return len(self._entries)


class KeyCache:
    """SigV4 signing keys per access key and scope, SigV4A public keys per access key."""

    __slots__ = ("_public", "_signing")

    def __init__(self, limit: int = KEY_CACHE_MAX) -> None:
        self._signing: _Recent[sigv4.SigningKey] = _Recent(limit)
        self._public: _Recent[EllipticCurvePublicKey] = _Recent(limit)

    def signing_key(self, credential: Credential, secret: str) -> sigv4.SigningKey:
        known = self._signing.get(credential.text, secret)
        if known is not None:
            return known
        made = sigv4.signing_key(secret, credential.day, credential.region, credential.service)
        return self._signing.put(credential.text, secret, sigv4.SigningKey(made))

    def public_key(self, access_key: str, secret: str) -> EllipticCurvePublicKey:
        return self._public.get(access_key, secret) or self._public.put(access_key, secret, sigv4a.public_key(access_key, secret))

    def __len__(self) -> int:
        return len(self._signing) + len(self._public)


def check_time(request_signature: RequestSignature, now: float, *, strict: bool = False) -> None:
    """Steps 5 and 7. `strict` also refuses SigV2 URLs that live for more than a week.

    Raises RequestTimeTooSkewed (SignatureDoesNotMatch for query-protocol services), AccessDenied.
    """
    if request_signature.where == "query":
        _check_life(request_signature, now, strict=strict)
    elif abs(now - request_signature.date) > SKEW_MAX_S:
        raise _skewed(request_signature, now)


def _skewed(request_signature: RequestSignature, now: float) -> ApiError:
    if not request_signature.s3:
        return ApiError("SignatureDoesNotMatch", f"Signature expired or not yet current: {request_signature.amz_date}.")
    return ApiError(
        "RequestTimeTooSkewed",
        "The difference between the request time and the current time is too large.",
        RequestTime=request_signature.amz_date,
        ServerTime=canonical_request.iso(now),
        MaxAllowedSkewMilliseconds=str(SKEW_MAX_S * 1000),
    )


def _check_life(request_signature: RequestSignature, now: float, *, strict: bool) -> None:
    """A URL older than 15 minutes is good as long as it has not expired: only its end counts, and its birth in the future."""
    end = request_signature.date + request_signature.expires_s
    if now > end:
        raise _outside(request_signature, now, "Request has expired")
    if request_signature.algorithm != sigv2.ALGORITHM:
        if request_signature.date - now > SKEW_MAX_S:
            raise _outside(request_signature, now, "Request is not yet valid")
    elif strict and end - now > PRESIGN_MAX_S:
        raise _outside(request_signature, now, "Request lives for more than a week")


def _outside(request_signature: RequestSignature, now: float, message: str) -> ApiError:
    refusal = ApiError("AccessDenied", message)
    if request_signature.algorithm != sigv2.ALGORITHM:
        refusal.details["X-Amz-Expires"] = str(request_signature.expires_s)
    refusal.details["Expires"] = canonical_request.iso(min(request_signature.date + request_signature.expires_s, _YEAR_9999))
    refusal.details["ServerTime"] = canonical_request.iso(now)
    return refusal


_YEAR_9999 = 253_402_300_799  # the last second that a calendar date can name


def check_signed_headers(request_signature: RequestSignature, request: Request) -> None:
    """Step 8: host and every x-amz-* header that arrived are signed. SigV2 signs all x-amz-* headers there are.

    Raises AccessDenied with HeadersNotSigned.
    """
    signed = request_signature.credential.signed_set
    loose = [name for name in request.headers.keys() - signed if name.startswith("x-amz-")]
    if "host" not in signed:
        loose.append("host")
    if loose and request_signature.credential.algorithm != sigv2.ALGORITHM:
        raise ApiError(
            "AccessDenied",
            "There were headers present in the request which were not signed",
            HeadersNotSigned=", ".join(sorted(loose)),
        )


def verify(
    request_signature: RequestSignature,
    request: Request,
    secret: str,
    *,
    keys: KeyCache,
    s3: bool = True,
    body_sha256: str | None = None,
    bucket: str = "",
    virtual: bool = False,
    strict: bool = False,
) -> str:
    """Step 10: the signature is the one that `secret` makes. Returns the target that was signed: as it came, but every raw
    "+" in it is written as what the signature takes it for (rules/plus_sign_decoding), so that just this is executed. Raises
    SignatureDoesNotMatch with what we hashed.

    `s3` False: path rules and payload hash of other services, `body_sha256` is the hash of the body that was read (None: no
    body). `bucket` and `virtual` (the bucket stands in the host name) matter to SigV2 URLs alone. `strict`: a plus in a path
    is a blank and nothing else.
    """
    credential = request_signature.credential
    if credential.algorithm == sigv2.ALGORITHM:
        return _verify_sigv2(request_signature, request, secret, bucket=bucket, virtual=virtual)
    payload = request_signature.content_sha256 if s3 else body_sha256 or canonical_request.EMPTY_SHA256
    try:
        headers = canonical_request.canonical_headers(request.headers, credential.signed)
    except KeyError as missing:
        raise _mismatch(request_signature, "", b"", f"The signed header {missing.args[0]} did not arrive.") from missing
    asked, text = "", b""
    for target in plus_sign_decoding.readings(request.target, s3=s3, strict=strict):
        path, _, query = target.partition("?")
        asked = canonical_request.canonical_request(
            request.method,
            canonical_request.canonical_path(path if s3 else request.path, s3=s3),
            canonical_request.canonical_query(query, without=presigned_url.SIGNATURE if request_signature.where == "query" else ""),
            headers=headers,
            names=credential.names,
            payload=payload,
        )
        text = canonical_request.string_to_sign(credential.algorithm, request_signature.amz_date, credential.scope, asked)
        if _good(request_signature, secret, text, keys) and _says_the_same(request_signature, request, target, s3=s3):
            return target
    raise _mismatch(request_signature, asked, text)


def _good(request_signature: RequestSignature, secret: str, text: bytes, keys: KeyCache) -> bool:
    credential = request_signature.credential
    if credential.algorithm == sigv4.ALGORITHM:
        return _same(keys.signing_key(credential, secret).signature(text), request_signature.signature)
    return sigv4a.holds(keys.public_key(credential.access_key, secret), text, request_signature.signature)


def _says_the_same(request_signature: RequestSignature, request: Request, target: str, *, s3: bool) -> bool:
    """A token with a raw plus was looked up as it came: the signature must not be over one with a blank."""
    if request_signature.where == "header" or target == request.target:
        return True
    return parse_signature(Request(request.method, target, request.headers), s3=s3) == request_signature


def _same(ours: str, theirs: str) -> bool:
    return hmac.compare_digest(ours.encode(), theirs.encode("utf-8", "surrogateescape"))


def _verify_sigv2(request_signature: RequestSignature, request: Request, secret: str, *, bucket: str, virtual: bool) -> str:
    """Version 2 signs the path as it was sent, which leaves no doubt: a plus in it is a blank, as at AWS."""
    text = b""
    for target in plus_sign_decoding.readings(request.target, s3=True, strict=True):
        asked = Request(request.method, f"{request.path}?{target.partition('?')[2]}", request.headers)
        text = sigv2.string_to_sign(asked, request_signature.amz_date, bucket=bucket, virtual=virtual)
        if _same(sigv2.signature(secret, text), request_signature.signature) and _says_the_same(request_signature, request, target, s3=True):
            return target
    raise _mismatch(request_signature, "", text)


def _mismatch(request_signature: RequestSignature, asked: str, text: bytes, why: str = "") -> ApiError:
    """Tells what we hashed: the cheapest debugging aid that a client has. SigV2 has no canonical request."""
    refusal = ApiError(
        "SignatureDoesNotMatch",
        why or "The request signature we calculated does not match the signature you provided. Check your key and signing method.",
        AWSAccessKeyId=request_signature.access_key,
    )
    if text:
        refusal.details["StringToSign"] = text.decode("utf-8", "replace")
        refusal.details["SignatureProvided"] = request_signature.signature
        refusal.details["StringToSignBytes"] = text.hex(" ")
    if asked:
        refusal.details["CanonicalRequest"] = asked
        refusal.details["CanonicalRequestBytes"] = asked.encode("latin-1").hex(" ")
    return refusal


def check_region(request_signature: RequestSignature, region: str, *, any_region: bool = False) -> None:
    """Step 11: the signature is meant for `region` (on an access point: the routed one). `any_region` lets a SigV4 scope of
    another region pass; a SigV4A region set must always match, and a SigV2 URL names no region.

    Raises AuthorizationHeaderMalformed with Region, AuthorizationQueryParametersError, SignatureDoesNotMatch.
    """
    credential = request_signature.credential
    if credential.region == region:
        return
    if credential.algorithm == sigv4a.ALGORITHM:
        if not sigv4a.covers(request_signature.region_set, region):
            raise ApiError("SignatureDoesNotMatch", f"The region set {request_signature.region_set!r} does not include {region!r}.")
    elif credential.algorithm == sigv4.ALGORITHM and not any_region:
        raise _wrong_region(request_signature, region)


def _wrong_region(request_signature: RequestSignature, region: str) -> ApiError:
    if not request_signature.s3:
        return ApiError("SignatureDoesNotMatch", f"Credential should be scoped to a valid region, {region!r}.")
    form = "The authorization header is malformed" if request_signature.where == "header" else "Error parsing the X-Amz-Credential parameter"
    refusal = malformed(request_signature.where, f"{form}; the region {request_signature.region!r} is wrong; expecting {region!r}", s3=True)
    refusal.details["Region"] = region
    return refusal


def chunk_verifier(request_signature: RequestSignature, secret: str, *, keys: KeyCache) -> ChunkVerifier:
    """Checks the chunks of a signed stream that follows the request with this (already verified) signature."""
    credential = request_signature.credential
    if credential.algorithm == sigv4a.ALGORITHM:
        return ChunkVerifier.of(request_signature, keys.public_key(credential.access_key, secret))
    return ChunkVerifier.of(request_signature, keys.signing_key(credential, secret))
