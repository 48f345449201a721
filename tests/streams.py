"""How does a client frame a body? aws-chunked streams of all five framed modes, signed by our own keys."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from atoll.domain.http_message import Request
from atoll.rules import aws_chunked, sigv4, sigv4a
from atoll.rules.aws_chunked import MODES, Chunked
from atoll.rules.signature_verification import KeyCache, chunk_verifier, parse_signature

CREDENTIALS = sigv4.Credentials("AKIDEXAMPLE0000000AA", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
NOW = 1_796_057_906
UNSIGNED_TRAILER, HMAC, HMAC_TRAILER, ECDSA, ECDSA_TRAILER = MODES
SIGNED = (HMAC, HMAC_TRAILER, ECDSA, ECDSA_TRAILER)


@dataclass(frozen=True)
class Sent:
    """A signed request and the body that follows it."""

    request: Request
    body: bytes

    def reader(self) -> Chunked:
        mode = MODES[self.request.headers["x-amz-content-sha256"]]
        verifier = chunk_verifier(parse_signature(self.request), CREDENTIALS.secret, keys=KeyCache()) if mode.algorithm else None
        return Chunked(mode, verifier)


def send(
    mode: str, chunks: Sequence[bytes], *, trailers: dict[str, str] | None = None, headers: dict[str, str] | None = None, upper: bool = False
) -> Sent:  # fmt: skip
    request = Request("PUT", "/bucket/key", {"host": "s3.test", **(headers or {})})
    sign = sigv4a.sign if MODES[mode].algorithm == sigv4a.ALGORITHM else _sign_v4
    request = Request("PUT", request.target, {**request.headers, **sign(request, CREDENTIALS, now=NOW, payload=mode)})
    return Sent(request, _body(request, mode, chunks, trailers or {}, upper=upper))


def _sign_v4(request: Request, credentials: sigv4.Credentials, *, now: float, payload: str) -> dict[str, str]:
    return sigv4.sign(request, credentials, region="us-east-1", now=now, payload=payload)


def _signer(request: Request) -> Callable[[bytes], str]:
    request_signature = parse_signature(request)
    if request_signature.algorithm == sigv4a.ALGORITHM:
        private = sigv4a.private_key(CREDENTIALS.access_key, CREDENTIALS.secret)
        return lambda text: sigv4a.signature(private, text).ljust(sigv4a.SIGNATURE_MAX_CHARS, "*")
    key = sigv4.signing_key(CREDENTIALS.secret, request_signature.day, request_signature.region, request_signature.service)
    return lambda text: sigv4.signature(key, text)


def _body(request: Request, mode: str, chunks: Sequence[bytes], trailers: dict[str, str], *, upper: bool) -> bytes:
    signed = bool(MODES[mode].algorithm)
    request_signature, sign = parse_signature(request), _signer(request)
    where = (request_signature.algorithm, request_signature.amz_date, request_signature.scope)
    previous, body = request_signature.signature, b""
    for chunk in (*chunks, b""):
        head = f"{len(chunk):X}" if upper else f"{len(chunk):x}"
        if signed:
            previous = sign(aws_chunked.chunk_string(*where, previous.rstrip("*"), hashlib.sha256(chunk).hexdigest()))
            head += f";chunk-signature={previous}"
        body += head.encode() + b"\r\n" + chunk + (b"\r\n" if chunk else b"")
    body += "".join(f"{name}:{value}\r\n" for name, value in trailers.items()).encode()
    if signed and MODES[mode].trailer:
        body += f"x-amz-trailer-signature:{sign(aws_chunked.trailer_string(*where, previous.rstrip('*'), trailers))}\r\n".encode()
    return body + b"\r\n"
