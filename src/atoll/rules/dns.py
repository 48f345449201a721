"""Answers of a name server that knows AWS's names and no others (RFC 1035; for `atoll exec --mode sealed`).

Every name of AWS has the one address where the world's entry is reached; every other name does not exist, and that is said at
once, so that a call to the outside fails without waiting.
"""

from __future__ import annotations

import struct

AWS_DOMAINS = ("amazonaws.com", "amazonaws.com.cn", "api.aws", "cloudfront.net")
TTL_S = 60
HEADER = struct.Struct(">HHHHHH")
QUESTION_TAIL = struct.Struct(">HH")
LABEL_MAX_BYTES = 63  # RFC 1035 section 2.3.4; a first byte above it is a pointer, which no question needs
TYPE_A, TYPE_ANY, CLASS_IN = 1, 255, 1
IS_RESPONSE, OPCODE, RECURSION_DESIRED = 0x8000, 0x7800, 0x0100
AUTHORITATIVE_AND_RECURSIVE = 0x0480
NXDOMAIN, NOT_IMPLEMENTED = 3, 4
POINTER_TO_QUESTION = b"\xc0\x0c"


def is_aws(name: str) -> bool:
    """Does the world answer for this name? A trailing dot and the case do not matter."""
    bare = name.rstrip(".").lower()
    return any(bare == domain or bare.endswith(f".{domain}") for domain in AWS_DOMAINS)


def response(query: bytes, address: bytes) -> bytes | None:
    """The response to one query; None for what is not a query. `address`: four bytes, for every name of AWS."""
    if len(query) < HEADER.size:
        return None
    number, flags, questions, *_ = HEADER.unpack_from(query)
    asked = _ask_store(query)
    if flags & IS_RESPONSE or questions != 1 or asked is None:
        return None
    name, kind, end = asked
    code = NOT_IMPLEMENTED if flags & OPCODE else 0 if is_aws(name) else NXDOMAIN
    record = _record(address) if code == 0 and kind in (TYPE_A, TYPE_ANY) else b""
    result = IS_RESPONSE | AUTHORITATIVE_AND_RECURSIVE | (flags & (OPCODE | RECURSION_DESIRED)) | code
    return HEADER.pack(number, result, 1, 1 if record else 0, 0, 0) + query[HEADER.size : end] + record


def _record(address: bytes) -> bytes:
    return POINTER_TO_QUESTION + struct.pack(">HHIH", TYPE_A, CLASS_IN, TTL_S, len(address)) + address


def _ask_store(query: bytes) -> tuple[str, int, int] | None:
    """Name, type, and where the question ends; None when it is cut short or malformed."""
    labels, at = [], HEADER.size
    while at < len(query):
        size, at = query[at], at + 1
        if size == 0:
            break
        if size > LABEL_MAX_BYTES:
            return None
        labels.append(query[at : at + size].decode("latin-1"))
        at += size
    end = at + QUESTION_TAIL.size
    if end > len(query):
        return None
    kind, _ = QUESTION_TAIL.unpack_from(query, at)
    return ".".join(labels), kind, end
