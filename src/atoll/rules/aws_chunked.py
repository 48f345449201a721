"""aws-chunked bodies: framing, chunk signatures and trailers of the STREAMING- payload modes.

Source: SigV4, "Signature calculations: transferring payload in multiple chunks" and "including trailing headers".
Decoded bytes come out before the signature of their chunk has been seen, so that a chunk of any size passes through little
memory. That is safe for one reason only: nothing commits before `finish` has returned.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey

from atoll.domain.errors import ApiError
from atoll.rules import canonical_request, sigv4, sigv4a

if TYPE_CHECKING:
    from atoll.rules.signature_parsing import RequestSignature

HEAD_MAX_BYTES = 256  # one chunk head: the size and a signature of 144 characters fit
TRAILER_MAX_BYTES = 8 * 1024  # all trailer lines together
TRAILER_SIGNATURE = "x-amz-trailer-signature"
STREAMING = "STREAMING-"

_head = re.compile(rb"([0-9A-Fa-f]{1,15})(?:;chunk-signature=([0-9A-Fa-f]{1,144}\**))?").fullmatch
_name = re.compile(r"[!#$%&'*+\-.^_`|~0-9a-z]+").fullmatch  # RFC 9110 section 5.6.2


@dataclass(frozen=True, slots=True)
class Mode:
    """A framed payload mode: the algorithm that signs its chunks ("" for none), and whether a trailer may follow."""

    algorithm: str
    trailer: bool


# Values of x-amz-content-sha256. The two other modes, a hash and UNSIGNED-PAYLOAD, are not framed.
MODES: Mapping[str, Mode] = {
    "STREAMING-UNSIGNED-PAYLOAD-TRAILER": Mode("", trailer=True),
    "STREAMING-AWS4-HMAC-SHA256-PAYLOAD": Mode(sigv4.ALGORITHM, trailer=False),
    "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER": Mode(sigv4.ALGORITHM, trailer=True),
    "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD": Mode(sigv4a.ALGORITHM, trailer=False),
    "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD-TRAILER": Mode(sigv4a.ALGORITHM, trailer=True),
}


def chunk_string(algorithm: str, amz_date: str, scope: str, previous: str, sha256: str) -> bytes:
    """What one chunk's signature covers. `previous` without padding; `sha256` of the chunk's bytes, in hex."""
    return f"{algorithm}-PAYLOAD\n{amz_date}\n{scope}\n{previous}\n{canonical_request.EMPTY_SHA256}\n{sha256}".encode("latin-1")


def trailer_string(algorithm: str, amz_date: str, scope: str, previous: str, trailers: Mapping[str, str]) -> bytes:
    """What the trailer's signature covers."""
    block = "".join([f"{name}:{value}\n" for name, value in sorted(trailers.items())])
    sha256 = hashlib.sha256(block.encode("latin-1")).hexdigest()
    return f"{algorithm}-TRAILER\n{amz_date}\n{scope}\n{previous}\n{sha256}".encode("latin-1")


class ChunkVerifier:
    """Follows the chain of chunk signatures that starts with the signature of the request.

    `update` sees the bytes of a chunk, `chunk` its signature, `trailer` the lines after the last one.
    """

    __slots__ = ("_amz_date", "_hash", "_holds", "_previous", "_scope", "algorithm")

    def __init__(self, algorithm: str, amz_date: str, scope: str, seed: str, *, holds: Callable[[bytes, str], bool]) -> None:
        self.algorithm = algorithm
        self._amz_date = amz_date
        self._scope = scope
        self._previous = seed
        self._holds = holds
        self._hash = hashlib.sha256()

    @classmethod
    def of(cls, request_signature: RequestSignature, key: sigv4.SigningKey | EllipticCurvePublicKey) -> ChunkVerifier:
        """With the SigV4 signing key or the SigV4A public key of the request."""
        holds = _hmac_holds(key) if isinstance(key, sigv4.SigningKey) else _ecdsa_holds(key)
        seed = request_signature.signature.rstrip("*")
        return cls(request_signature.algorithm, request_signature.amz_date, request_signature.scope, seed, holds=holds)

    def update(self, piece: bytes) -> None:
        self._hash.update(piece)

    def chunk(self, signature: str) -> None:
        """The chunk whose bytes were shown is complete. Raises SignatureDoesNotMatch."""
        text = chunk_string(self.algorithm, self._amz_date, self._scope, self._previous, self._hash.hexdigest())
        self._hash = hashlib.sha256()
        self._check(text, signature, "chunk")

    def trailer(self, trailers: Mapping[str, str], signature: str) -> None:
        """Raises SignatureDoesNotMatch."""
        text = trailer_string(self.algorithm, self._amz_date, self._scope, self._previous, trailers)
        self._check(text, signature, "trailer")

    def _check(self, text: bytes, signature: str, what: str) -> None:
        signature = signature.rstrip("*")
        if not self._holds(text, signature):
            raise ApiError(
                "SignatureDoesNotMatch",
                f"The {what} signature we calculated does not match the one you provided.",
                StringToSign=text.decode("latin-1"),
                SignatureProvided=signature,
            )
        self._previous = signature


def _hmac_holds(key: sigv4.SigningKey) -> Callable[[bytes, str], bool]:
    return lambda text, signature: hmac.compare_digest(key.signature(text), signature)


def _ecdsa_holds(key: EllipticCurvePublicKey) -> Callable[[bytes, str], bool]:
    return lambda text, signature: sigv4a.holds(key, text, signature)


class _At(Enum):
    """What comes next in the stream."""

    HEAD = "a chunk head"
    BYTES = "bytes of a chunk"
    CLOSE = "the line end after a chunk"
    TRAILER = "trailer lines, up to an empty one"
    END = "nothing"


class Chunked:
    """Takes an aws-chunked body apart as it arrives.

    `feed` takes any cut of it and returns the decoded pieces; `finish` says that no more comes and returns the trailers
    (lower-case names, the trailer's signature left out). Both raise InvalidRequest (framing), SignatureDoesNotMatch;
    `finish` raises IncompleteBody when the end mark has not been seen.
    """

    __slots__ = ("_at", "_held", "_left", "_signature", "_trailer_bytes", "_trailers", "_verifier", "mode")

    def __init__(self, mode: Mode, verifier: ChunkVerifier | None = None) -> None:
        if mode.algorithm and (verifier is None or verifier.algorithm != mode.algorithm):
            raise ApiError(
                "InvalidRequest", f"A body with chunks signed by {mode.algorithm} follows a request signed by it, no other."
            )
        self.mode = mode
        self._verifier = verifier if mode.algorithm else None
        self._at = _At.HEAD
        self._held = b""
        self._left = 0
        self._signature = ""
        self._trailers: dict[str, str] = {}
        self._trailer_bytes = 0

    def feed(self, data: bytes) -> list[bytes]:
        """Decoded pieces in order; pieces are cuts of `data`, whatever the size of the chunks."""
        if self._held:
            data, self._held = self._held + data, b""
        pieces: list[bytes] = []
        at, end = 0, len(data)
        while at < end:
            if self._at is _At.BYTES:
                at = self._bytes(data, at, pieces)
                continue
            line_end = data.find(b"\r\n", at)
            if line_end < 0:
                self._hold(data[at:])
                break
            self._line(data[at:line_end])
            at = line_end + 2
        return pieces

    def finish(self) -> dict[str, str]:
        if self._at is not _At.END:
            raise ApiError(
                "IncompleteBody", f"The request body terminated unexpectedly: {self._at.value} should have followed."
            )
        return self._trailers

    def _bytes(self, data: bytes, at: int, pieces: list[bytes]) -> int:
        stop = min(at + self._left, len(data))
        piece = data[at:stop]  # no copy when it is all of `data`
        if self._verifier is not None:
            self._verifier.update(piece)
        pieces.append(piece)
        self._left -= len(piece)
        if not self._left:
            self._close_chunk()
            self._at = _At.CLOSE
        return stop

    def _close_chunk(self) -> None:
        if self._verifier is not None:
            self._verifier.chunk(self._signature)

    def _hold(self, rest: bytes) -> None:
        """A line whose end has not come yet. Nothing longer than a line may be is ever kept."""
        if self._at is _At.END or (self._at is _At.CLOSE and rest != b"\r"):
            raise self._broken(rest)
        if len(rest) > (TRAILER_MAX_BYTES if self._at is _At.TRAILER else HEAD_MAX_BYTES):
            raise self._broken(rest)
        self._held = rest

    def _line(self, line: bytes) -> None:
        if self._at is _At.HEAD:
            self._head(line)
        elif self._at is _At.TRAILER:
            self._trailer_line(line)
        elif self._at is _At.CLOSE and not line:
            self._at = _At.HEAD
        else:
            raise self._broken(line)

    def _head(self, line: bytes) -> None:
        found = _head(line) if len(line) <= HEAD_MAX_BYTES else None
        if found is None or (found[2] is not None) != (self._verifier is not None):
            raise self._broken(line)
        self._left = int(found[1], 16)
        self._signature = (found[2] or b"").decode()
        if self._left:
            self._at = _At.BYTES
        else:
            self._close_chunk()
            self._at = _At.TRAILER

    def _trailer_line(self, line: bytes) -> None:
        if not line:
            self._close_trailer()
            return
        name, colon, value = line.decode("latin-1").partition(":")
        name = name.strip(" \t").lower()
        self._trailer_bytes += len(line)
        if not colon or not _name(name) or name in self._trailers or self._trailer_bytes > TRAILER_MAX_BYTES or not self.mode.trailer:
            raise self._broken(line)
        self._trailers[name] = value.strip(" \t\n")  # AWS's own examples end a trailer line with LF before CRLF

    def _close_trailer(self) -> None:
        signature = self._trailers.pop(TRAILER_SIGNATURE, "")
        if self._verifier is not None and self.mode.trailer:
            self._verifier.trailer(self._trailers, signature)
        self._at = _At.END

    def _broken(self, line: bytes) -> ApiError:
        shown = line[:64].decode("latin-1")
        return ApiError("InvalidRequest", f"The aws-chunked body is malformed: {shown!r} stands where {self._at.value} should.")
