"""AWS4-ECDSA-P256-SHA256: one signature for many regions, with a key pair derived from the secret."""

from __future__ import annotations

import hmac
from binascii import Error as NotHex
from binascii import unhexlify

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from atoll.domain.http_message import Request
from atoll.rules import canonical_request, sigv4
from atoll.rules.sigv4 import Credentials

ALGORITHM = "AWS4-ECDSA-P256-SHA256"
SIGNATURE_MAX_CHARS = 144  # hex of the longest DER signature over P-256; chunk signatures are padded with "*" to it

_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551  # P-256, FIPS 186-4 D.1.2.3
_SCHEME = ec.ECDSA(hashes.SHA256())
_TRIES_MAX = 254  # aws-c-auth, key derivation: the counter is one byte


def scope(day: str, service: str) -> str:
    """Without a region: the region set stands in a header or query member of its own."""
    return f"{day}/{service}/{canonical_request.TERMINATOR}"


def scalar(access_key: str, secret: str) -> int:
    """The private scalar: NIST SP 800-108 in counter mode, rejected and tried again when not below the order."""
    key = b"AWS4A" + secret.encode()
    label = b"\x00\x00\x00\x01" + ALGORITHM.encode() + b"\x00" + access_key.encode("utf-8", "surrogateescape")
    for counter in range(1, _TRIES_MAX + 1):
        candidate = int.from_bytes(hmac.digest(key, label + bytes((counter,)) + b"\x00\x00\x01\x00", "sha256"), "big")
        if candidate <= _ORDER - 2:
            return candidate + 1
    raise ValueError("this access key has no SigV4A key pair")


def private_key(access_key: str, secret: str) -> ec.EllipticCurvePrivateKey:
    return ec.derive_private_key(scalar(access_key, secret), ec.SECP256R1())


def public_key(access_key: str, secret: str) -> ec.EllipticCurvePublicKey:
    return private_key(access_key, secret).public_key()


def signature(key: ec.EllipticCurvePrivateKey, text: bytes) -> str:
    """Random: never the same twice, so useless as an id, a cache key or a guard against replays."""
    return key.sign(text, _SCHEME).hex()


def holds(key: ec.EllipticCurvePublicKey, text: bytes, signature: str) -> bool:
    """Is `signature` (hex of DER, any length up to the maximum, "*" padding allowed) one of the owner's over `text`?"""
    if len(signature) > SIGNATURE_MAX_CHARS:
        return False
    try:
        key.verify(unhexlify(signature.rstrip("*")), text, _SCHEME)
    except (InvalidSignature, NotHex, ValueError):
        return False
    return True


def covers(region_set: str, region: str) -> bool:
    """Does X-Amz-Region-Set (a comma list of names and patterns such as "us-*") hold `region`?"""
    return any(_pattern(pattern.strip(), region) for pattern in region_set.split(","))


def _pattern(pattern: str, region: str) -> bool:
    """Only "*" is special. Not fnmatch: it would compile each of the thousands of patterns that fit into a header."""
    first, *rest = pattern.split("*")
    if not rest or not region.startswith(first):
        return pattern == region
    at = len(first)
    for piece in rest[:-1]:
        at = region.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return region.endswith(rest[-1]) and len(region) - len(rest[-1]) >= at


def sign(
    request: Request, credentials: Credentials, *, now: float, payload: str, region_set: str = "*", service: str = "s3"
) -> dict[str, str]:
    """Headers to add to `request`, which has its host. `payload` is a hash in hex or one of the payload modes."""
    amz_date = canonical_request.amz_date(now)
    added = sigv4.signed_headers(request, credentials, amz_date=amz_date, payload=payload, service=service)
    added["x-amz-region-set"] = region_set
    names, text = sigv4.to_sign(request, added, ALGORITHM, scope(amz_date[:8], service), payload=payload, service=service)
    made = signature(private_key(credentials.access_key, credentials.secret), text)
    added["authorization"] = sigv4.authorization(
        ALGORITHM, credentials.access_key, scope(amz_date[:8], service), names, made
    )
    return added
