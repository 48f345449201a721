"""Finds out who asks: steps 1 to 11 of the verification recipe (SigV4, SigV4A, presigned, SigV2 in queries), or anonymous."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Protocol

import msgspec

from atoll.domain.caller import ANONYMOUS, Authentication, Caller
from atoll.domain.errors import ApiError
from atoll.domain.http_message import Request
from atoll.rules import plus_sign_decoding, signature_verification
from atoll.rules.endpoint_hostnames import RequestTarget
from atoll.rules.signature_verification import KeyCache, RequestSignature


class Key(Protocol):
    """What is known of an access key: its secret, and whom it speaks for."""

    @property
    def secret(self) -> str: ...
    @property
    def token(self) -> str: ...
    @property
    def caller(self) -> Caller: ...
    @property
    def active(self) -> bool: ...
    @property
    def expires(self) -> float: ...


class Keys(Protocol):
    """Finds access keys. A temporary key is found by its token."""

    def key(self, access_key: str, token: str, now: float) -> Key | None: ...


class Authenticated(msgspec.Struct, frozen=True):
    """Who asks, how it was proved, and what was presented (None: anonymous). `target` is what was signed, with no raw "+" in
    it ("": nothing was)."""

    caller: Caller
    authentication: Authentication
    request_signature: RequestSignature | None = None
    secret: str = ""
    target: str = ""


UNAUTHENTICATED = Authenticated(ANONYMOUS, Authentication())
# The service that a credential scope names, where it is not botocore's name: a signature for one service opens no other.
_SCOPES = {"s3": frozenset(("s3",)), "s3control": frozenset(("s3",))}


@dataclass(frozen=True, slots=True)
class Authenticate:
    """Verifies signatures. `region` is the one that signatures must be for (S3 only; the other services answer anywhere,
    so that the loss of a region takes no control operation away)."""

    keys: Keys
    cache: KeyCache
    compat: str = "lenient"

    def __call__(self, request: Request, named: RequestTarget, *, region: str, now: float, body_sha256: str | None = None) -> Authenticated:
        s3 = named.service in ("s3", "s3control")
        request_signature = signature_verification.parse_signature(request, services=_SCOPES.get(named.service, frozenset((named.service,))), s3=s3)
        if request_signature is None:
            return UNAUTHENTICATED
        if named.service == "s3control" and request_signature.algorithm == "AWS":
            raise ApiError("InvalidRequest", "S3 Control takes AWS4-HMAC-SHA256 signatures.")
        signature_verification.check_time(request_signature, now, strict=self.compat == "strict")
        signature_verification.check_signed_headers(request_signature, request)
        key = self._key(request_signature, now, s3=s3)
        target = signature_verification.verify(
            request_signature,
            request,
            key.secret,
            keys=self.cache,
            s3=s3,
            body_sha256=body_sha256,
            bucket=named.bucket,
            virtual=named.virtual,
            strict=self.compat == "strict",
        )
        if named.service == "s3" and region:
            signature_verification.check_region(request_signature, region)
        return Authenticated(key.caller, _authentication(request_signature, now), request_signature, key.secret, target)

    def _key(self, request_signature: RequestSignature, now: float, *, s3: bool) -> Key:
        key = self.keys.key(request_signature.access_key, request_signature.token, now)
        if key is None or not key.active:
            raise _unknown_key(request_signature.access_key, s3=s3)
        if key.token != request_signature.token:
            raise ApiError("InvalidToken" if s3 else "InvalidClientTokenId", "The security token does not belong to this key.")
        if key.expires and now >= key.expires:
            raise ApiError("ExpiredToken", "The provided token has expired.")
        return key


def settled(request: Request, known: Authenticated) -> Request:
    """The request as it is to be executed: a raw "+" of its target is what the signature says it is, and a blank where there
    is none. Keeps what another process vouched for."""
    if "+" not in request.target:
        return request
    asked = copy(request)
    asked.target = known.target or plus_sign_decoding.unsigned(request.target)
    asked.path, _, asked.query = asked.target.partition("?")
    return asked


def _unknown_key(access_key: str, *, s3: bool) -> ApiError:
    if s3:
        return ApiError(
            "InvalidAccessKeyId", "The access key id does not exist in this world. `atoll env` prints the ones that do.",
            AWSAccessKeyId=access_key,
        )
    return ApiError("InvalidClientTokenId", "The security token included in the request is invalid.")


def _authentication(request_signature: RequestSignature, now: float) -> Authentication:
    in_query = request_signature.where == "query"
    return Authentication(
        "REST-QUERY-STRING" if in_query else "REST-HEADER",
        request_signature.algorithm,
        int((now - request_signature.date) * 1000) if in_query and request_signature.date else None,
        request_signature.content_sha256,
    )
