"""Who asks? Steps 1 to 11 of specs' verification recipe (SigV4, SigV4A, presigned, SigV2 in queries), or anonymous."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Protocol

import msgspec

from atoll.domain.caller import ANONYMOUS, Caller, Proof
from atoll.domain.errors import ApiError
from atoll.domain.message import Request
from atoll.rules import plus, signature
from atoll.rules.naming import Named
from atoll.rules.signature import KeyCache, Presented


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


class Known(msgspec.Struct, frozen=True):
    """Who asks, how it was proved, and what was presented (None: anonymous). `target` is what was signed, with no raw "+" in
    it ("": nothing was)."""

    caller: Caller
    proof: Proof
    presented: Presented | None = None
    secret: str = ""
    target: str = ""


NOBODY = Known(ANONYMOUS, Proof())
# The service that a credential scope names, where it is not botocore's name: a signature for one service opens no other.
_SCOPES = {"s3": frozenset(("s3",)), "s3control": frozenset(("s3",))}


@dataclass(frozen=True, slots=True)
class Authenticate:
    """Verifies signatures. `region` is the one that signatures must be for (S3 only; the other services answer anywhere,
    so that the loss of a region takes no control operation away)."""

    keys: Keys
    cache: KeyCache
    compat: str = "lenient"

    def __call__(self, request: Request, named: Named, *, region: str, now: float, body_sha256: str | None = None) -> Known:
        s3 = named.service in ("s3", "s3control")
        presented = signature.present(request, services=_SCOPES.get(named.service, frozenset((named.service,))), s3=s3)
        if presented is None:
            return NOBODY
        if named.service == "s3control" and presented.algorithm == "AWS":
            raise ApiError("InvalidRequest", "S3 Control takes AWS4-HMAC-SHA256 signatures.")
        signature.check_time(presented, now, strict=self.compat == "strict")
        signature.check_signed_headers(presented, request)
        key = self._key(presented, now, s3=s3)
        target = signature.verify(
            presented,
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
            signature.check_region(presented, region)
        return Known(key.caller, _proof(presented, now), presented, key.secret, target)

    def _key(self, presented: Presented, now: float, *, s3: bool) -> Key:
        key = self.keys.key(presented.access_key, presented.token, now)
        if key is None or not key.active:
            raise _unknown(presented.access_key, s3=s3)
        if key.token != presented.token:
            raise ApiError("InvalidToken" if s3 else "InvalidClientTokenId", "The security token does not belong to this key.")
        if key.expires and now >= key.expires:
            raise ApiError("ExpiredToken", "The provided token has expired.")
        return key


def settled(request: Request, known: Known) -> Request:
    """The request as it is to be executed: a raw "+" of its target is what the signature says it is, and a blank where there
    is none. Keeps what another process vouched for."""
    if "+" not in request.target:
        return request
    asked = copy(request)
    asked.target = known.target or plus.unsigned(request.target)
    asked.path, _, asked.query = asked.target.partition("?")
    return asked


def _unknown(access_key: str, *, s3: bool) -> ApiError:
    if s3:
        return ApiError(
            "InvalidAccessKeyId", "The access key id does not exist in this world. `atoll env` prints the ones that do.",
            AWSAccessKeyId=access_key,
        )
    return ApiError("InvalidClientTokenId", "The security token included in the request is invalid.")


def _proof(presented: Presented, now: float) -> Proof:
    in_query = presented.where == "query"
    return Proof(
        "REST-QUERY-STRING" if in_query else "REST-HEADER",
        presented.algorithm,
        int((now - presented.date) * 1000) if in_query and presented.date else None,
        presented.content_sha256,
    )
