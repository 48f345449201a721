"""Verifies a body against what its sender declared (step 12 of the verification recipe): lengths, hashes, checksums, trailers.

The order of use: `PayloadReader.of` judges the headers, `feed` gives decoded bytes on, `finish` raises what is wrong. Nothing
may become visible before `finish` has returned. The arithmetic of checksums is in hashing and offered here too.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, replace

from atoll.domain.errors import ApiError
from atoll.domain.objects import Checksum
from atoll.domain.quotas import OBJECT_PUT_MAX_BYTES, KiB
from atoll.rules import checksum_algorithms
from atoll.rules.aws_chunked import MODES, STREAMING, Chunked
from atoll.rules.canonical_request import EMPTY_SHA256, UNSIGNED_PAYLOAD
from atoll.rules.checksum_algorithms import ALGORITHMS, DEFAULT, combine, composite, digest, multipart_etag
from atoll.rules.signature_verification import KeyCache, RequestSignature, chunk_verifier

__all__ = [
    "ALGORITHMS",
    "DEFAULT",
    "Claims",
    "PayloadCheck",
    "PayloadReader",
    "combine",
    "composite",
    "digest",
    "has_nothing",
    "multipart_etag",
    "strip_aws_chunked",
]

QUIET_BYTES = 2047  # hashlib gives the interpreter to another thread for longer pieces (hashlib module, "hash.update")
BUSY_BYTES = 16 * KiB  # up to here that switch, and the wait to get back, costs more than the hash: a third of the switches of a put

_sha256 = re.compile(r"[0-9a-fA-F]{64}").fullmatch
_NOT_VALUES = frozenset({"x-amz-checksum-algorithm", "x-amz-checksum-mode", "x-amz-checksum-type"})
_PREFIX = "x-amz-checksum-"


@dataclass(frozen=True, slots=True)
class Claims:
    """What the sender says of the payload. "" and None: nothing said.

    `mode` is x-amz-content-sha256 in force, `sha256` its value when it is a hash. `md5` is base64. `algorithm` was asked for
    by header, trailer or x-amz-sdk-checksum-algorithm; `value` came as a header, `trailer` names the one that will follow.
    `size` is the number of decoded bytes.
    """

    mode: str = UNSIGNED_PAYLOAD
    sha256: str = ""
    md5: str = ""
    algorithm: str = ""
    value: str = ""
    trailer: str = ""
    size: int | None = None

    @classmethod
    def read(cls, headers: Mapping[str, str], *, content_sha256: str = UNSIGNED_PAYLOAD, of_body: bool = True) -> Claims:
        """From headers alone: checksums in a presigned query are no claims (`PRESIGN_QUERY_CHECKSUM = ignore`).

        `of_body` False: x-amz-checksum-* speak of an object, not of this body (CompleteMultipartUpload).
        Raises InvalidRequest, InvalidDigest, InvalidArgument, EntityTooLarge.
        """
        mode = content_sha256
        framed = mode.startswith(STREAMING)
        if (framed and mode not in MODES) or (not framed and mode != UNSIGNED_PAYLOAD and not _sha256(mode)):
            raise _bad_mode(mode)
        algorithm, value, trailer = _checksum(headers, mode) if of_body else ("", "", "")
        return cls(
            mode,
            "" if framed or mode == UNSIGNED_PAYLOAD else mode.lower(),
            _content_md5(headers),
            algorithm,
            value,
            trailer,
            _size(headers, "x-amz-decoded-content-length" if framed else "content-length"),
        )


def _bad_mode(mode: str) -> ApiError:
    return ApiError(
        "InvalidArgument",
        "x-amz-content-sha256 must be UNSIGNED-PAYLOAD, one of the STREAMING- values, or a valid sha256 value.",
        ArgumentName="x-amz-content-sha256",
        ArgumentValue=mode,
    )


def _content_md5(headers: Mapping[str, str]) -> str:
    value = headers.get("content-md5")
    if value is None:
        return ""
    if checksum_algorithms.raw(value, checksum_algorithms.MD5_BYTES) is None:
        refusal = ApiError("InvalidDigest", "The Content-MD5 you specified was invalid.")
        refusal.details["Content-MD5"] = value
        raise refusal
    return value


def _size(headers: Mapping[str, str], name: str) -> int | None:
    text = headers.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal()) or len(text) > 20:
        raise ApiError("InvalidArgument", f"{name} is not a number of bytes.", ArgumentName=name, ArgumentValue=text)
    if int(text) > OBJECT_PUT_MAX_BYTES:
        raise _too_large(text)
    return int(text)


def _too_large(size: str) -> ApiError:
    return ApiError(
        "EntityTooLarge",
        "Your proposed upload exceeds the maximum allowed size.",
        ProposedSize=size,
        MaxSizeAllowed=str(OBJECT_PUT_MAX_BYTES),
    )


def _values(headers: Mapping[str, str]) -> list[str]:
    """Names of the headers that hold a checksum."""
    return [name for name in headers if name.startswith(_PREFIX) and name not in _NOT_VALUES]


def _checksum(headers: Mapping[str, str], mode: str) -> tuple[str, str, str]:
    """(algorithm, value from a header, name of the announced trailer); at most one checksum, told in one way."""
    given = _values(headers)
    announced, asked = headers.get("x-amz-trailer"), headers.get("x-amz-sdk-checksum-algorithm")
    if not given and announced is None and asked is None:
        return "", "", ""
    trailer = _announced(announced, mode) if announced else ""
    if len(given) > 1:
        raise ApiError("InvalidRequest", "Expecting a single x-amz-checksum- header. Multiple checksum types are not allowed.")
    if given and trailer:
        raise ApiError("InvalidRequest", "Expecting a single x-amz-checksum- header or trailer, not both.")
    names = [checksum_algorithms.algorithm(name.removeprefix(_PREFIX)).name for name in (*given, trailer) if name]
    if asked is not None:
        names.append(checksum_algorithms.algorithm(asked).name)
    if len(set(names)) > 1:
        raise ApiError("InvalidRequest", "Value for x-amz-sdk-checksum-algorithm header is invalid.")
    value = checksum_algorithms.check_value(names[0], headers[given[0]]) if given else ""
    return names[0] if names else "", value, trailer


def _announced(text: str, mode: str) -> str:
    """The checksum trailer that x-amz-trailer promises. S3 knows no other trailers."""
    names = [name.strip().lower() for name in text.split(",") if name.strip()]
    if not names:
        return ""
    if len(names) > 1 or not names[0].startswith(_PREFIX):
        raise ApiError("InvalidRequest", "The value specified in the x-amz-trailer header is not supported.")
    if mode not in MODES or not MODES[mode].trailer:
        raise ApiError("InvalidRequest", f"x-amz-trailer announces a trailer; a body of mode {mode} cannot have one.")
    return names[0]


def _quiet_pieces(chunk: bytes) -> list[bytes]:
    return [chunk[at : at + QUIET_BYTES] for at in range(0, len(chunk), QUIET_BYTES)]


class PayloadCheck:
    """Watches decoded bytes go by and compares them with the claims at the end.

    After `finish`: `size` in bytes, `checksum` of the algorithm asked for (else CRC64NVME, as S3), `md5_hex` ("" when
    `md5` was off and none was claimed). The cost of an update is that of its hashing.
    """

    __slots__ = ("_checksum", "_claims", "_md5", "_sha256", "_updates", "size")

    def __init__(self, claims: Claims, *, md5: bool = True) -> None:
        self._claims = claims
        self.size = 0
        self._md5 = checksum_algorithms.md5() if md5 or claims.md5 else None
        self._sha256 = hashlib.sha256() if claims.sha256 else None
        self._checksum = checksum_algorithms.digest(claims.algorithm or checksum_algorithms.DEFAULT)
        watching = (self._md5, self._sha256, self._checksum)
        self._updates = tuple(digest.update for digest in watching if digest is not None)

    def update(self, chunk: bytes) -> None:
        """Raises IncompleteBody as soon as there are more bytes than announced, EntityTooLarge beyond 5 GiB."""
        self.size += len(chunk)
        if self._claims.size is not None and self.size > self._claims.size:
            raise self._wrong_size()
        if self.size > OBJECT_PUT_MAX_BYTES:
            raise _too_large(str(self.size))
        for piece in (chunk,) if len(chunk) > BUSY_BYTES else _quiet_pieces(chunk):
            for update in self._updates:
                update(piece)

    @property
    def md5_hex(self) -> str:
        return self._md5.hex() if self._md5 is not None else ""

    @property
    def checksum(self) -> Checksum:
        return Checksum(self._claims.algorithm or checksum_algorithms.DEFAULT, "FULL_OBJECT", self._checksum.value())

    def finish(self, trailers: Mapping[str, str]) -> None:
        """Raises IncompleteBody, XAmzContentSHA256Mismatch, BadDigest, InvalidRequest (trailer)."""
        if self._claims.size is not None and self.size != self._claims.size:
            raise self._wrong_size()
        self._check_sha256()
        if self._claims.md5:
            self._check_md5(self._claims.md5)
        expected = self._from_trailers(trailers) or self._claims.value
        calculated = self._checksum.value()
        if expected and expected != calculated:
            name = self._claims.algorithm
            raise _bad_digest(f"The {name} you specified did not match the calculated checksum.", expected, calculated)

    def _check_sha256(self) -> None:
        if self._sha256 is not None and self._sha256.hexdigest() != self._claims.sha256:
            raise ApiError(
                "XAmzContentSHA256Mismatch",
                "The provided 'x-amz-content-sha256' header does not match what was computed.",
                ClientComputedContentSHA256=self._claims.sha256,
                S3ComputedContentSHA256=self._sha256.hexdigest(),
            )

    def _check_md5(self, expected: str) -> None:
        calculated = b64encode(bytes.fromhex(self.md5_hex)).decode()
        if calculated != expected:
            raise _bad_digest("The Content-MD5 you specified did not match what we received.", expected, calculated)

    def _from_trailers(self, trailers: Mapping[str, str]) -> str:
        """The value that was promised, or "". What was promised comes, and nothing else."""
        promised = self._claims.trailer
        if trailers.keys() != ({promised} if promised else set()):
            raise ApiError("InvalidRequest", f"The body has trailers {sorted(trailers)}; x-amz-trailer announced {promised!r}.")
        return checksum_algorithms.check_value(self._claims.algorithm, trailers[promised]) if promised else ""

    def _wrong_size(self) -> ApiError:
        return ApiError(
            "IncompleteBody",
            f"You did not provide the number of bytes specified: {self._claims.size} announced, {self.size} or more received.",
        )


def _bad_digest(message: str, expected: str, calculated: str) -> ApiError:
    return ApiError("BadDigest", message, ExpectedDigest=expected, CalculatedDigest=calculated)


class PayloadReader:
    """Wire bytes in, decoded bytes out, everything checked at the end. Without sockets: whoever waits calls it."""

    __slots__ = ("_chunked", "check", "claims")

    def __init__(self, claims: Claims, chunked: Chunked | None = None, *, md5: bool = True) -> None:
        self.claims = claims
        self._chunked = chunked
        self.check = PayloadCheck(claims, md5=md5)

    @classmethod
    def of(
        cls,
        headers: Mapping[str, str],
        request_signature: RequestSignature | None,
        secret: str,
        keys: KeyCache,
        *,
        framed: bool = True,
        of_body: bool = True,
        md5: bool = True,
    ) -> PayloadReader:
        """A reader for the body that follows `headers`. `request_signature` (verified, with `secret`) is None for anonymous calls.

        `framed` False: another process of ours has taken the framing and the trailer off and checked them. `of_body` False:
        x-amz-checksum-* headers speak of an object, not of this body (CompleteMultipartUpload). `md5` False saves the ETag's
        digest where nobody wants it. A missing length (411) is the gateway's business. Raises what Claims.read raises.
        """
        mode = request_signature.content_sha256 if request_signature else headers.get("x-amz-content-sha256", UNSIGNED_PAYLOAD)
        claims = Claims.read(headers, content_sha256=mode, of_body=of_body)
        framing = MODES.get(mode)
        if framing is None:
            return cls(claims, md5=md5)
        if not framed:
            return cls(replace(claims, trailer=""), md5=md5)
        verifier = chunk_verifier(request_signature, secret, keys=keys) if request_signature and framing.algorithm else None
        return cls(claims, Chunked(framing, verifier), md5=md5)

    @property
    def decoded_length(self) -> int | None:
        """Bytes of payload, None when the sender did not say."""
        return self.claims.size

    def feed(self, data: bytes) -> list[bytes]:
        """Decoded pieces. They are not to be trusted before `finish` has returned."""
        pieces = [data] if self._chunked is None else self._chunked.feed(data)
        for piece in pieces:
            self.check.update(piece)
        return pieces

    def finish(self) -> None:
        """No more comes. Raises whatever is wrong with the body."""
        self.check.finish({} if self._chunked is None else self._chunked.finish())

    def whole(self, small: bytes) -> bytes:
        """A body that is here in one piece: decoded and checked."""
        pieces = self.feed(small)
        self.finish()
        return small if self._chunked is None else b"".join(pieces)


def has_nothing(content_sha256: str, headers: Mapping[str, str]) -> bool:
    """Does this request have no body and claim nothing else of it? Then there is nothing to check (every GET)."""
    return (
        content_sha256 in (EMPTY_SHA256, UNSIGNED_PAYLOAD)
        and headers.get("content-length", "0") == "0"
        and "transfer-encoding" not in headers
        and "content-md5" not in headers
        and not (_PREFIX in "\n".join(headers) and _values(headers))
    )


def strip_aws_chunked(content_encoding: str) -> str:
    """Content-Encoding to store: `aws-chunked` taken out wherever it stands; "" when nothing is left."""
    if "aws-chunked" not in content_encoding.lower():
        return content_encoding
    codings = [coding.strip() for coding in content_encoding.split(",")]
    return ",".join([coding for coding in codings if coding and coding.lower() != "aws-chunked"])
