"""S3's checksum algorithms, and checksums of joined parts. Source: S3 user guide, "Checking object integrity"."""

from __future__ import annotations

import hashlib
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from awscrt import checksums as crt
from isal import isal_zlib

from atoll.domain.errors import ApiError
from atoll.domain.objects import ChecksumKind

DEFAULT = "CRC64NVME"  # S3: what is stored when the sender names no algorithm
MD5_BYTES = 16


class Digest(Protocol):
    """A checksum in the making. `value` is base64 of its bytes, big-endian."""

    def update(self, data: bytes) -> None: ...

    def value(self) -> str: ...


class _Crc:
    __slots__ = ("_add", "_size", "_state")

    def __init__(self, add: Callable[[bytes, int], int], size: int) -> None:
        self._add = add
        self._size = size
        self._state = 0

    def update(self, data: bytes) -> None:
        self._state = self._add(data, self._state)

    def value(self) -> str:
        return b64encode(self._state.to_bytes(self._size, "big")).decode()


class Hash:
    """A digest that also has a hexadecimal form, as ETags want it."""

    __slots__ = ("_hash", "update")

    def __init__(self, start: Callable[..., hashlib._Hash]) -> None:
        self._hash = start(usedforsecurity=False)
        self.update = self._hash.update

    def value(self) -> str:
        return b64encode(self._hash.digest()).decode()

    def hex(self) -> str:
        return self._hash.hexdigest()


@dataclass(frozen=True, slots=True)
class Algorithm:
    """One additional checksum algorithm. `kinds`: the types a multipart upload may ask for, its default first.

    `join` makes the CRC of two pieces together from theirs and the second one's size; None for hashes, which cannot.
    """

    name: str
    size: int
    start: Callable[[], Digest]
    kinds: tuple[ChecksumKind, ...]
    join: Callable[[int, int, int], int] | None = None

    @property
    def header(self) -> str:
        return f"x-amz-checksum-{self.name.lower()}"


ALGORITHMS: Mapping[str, Algorithm] = {
    found.name: found
    for found in (
        Algorithm("CRC32", 4, lambda: _Crc(isal_zlib.crc32, 4), ("COMPOSITE", "FULL_OBJECT"), crt.combine_crc32),
        Algorithm("CRC32C", 4, lambda: _Crc(crt.crc32c, 4), ("COMPOSITE", "FULL_OBJECT"), crt.combine_crc32c),
        Algorithm("CRC64NVME", 8, lambda: _Crc(crt.crc64nvme, 8), ("FULL_OBJECT",), crt.combine_crc64nvme),
        Algorithm("SHA1", 20, lambda: Hash(hashlib.sha1), ("COMPOSITE",)),
        Algorithm("SHA256", 32, lambda: Hash(hashlib.sha256), ("COMPOSITE",)),
    )
}


def algorithm(name: str) -> Algorithm:
    """By AWS's name, in any case. Raises InvalidRequest, for SHA512, XXHASH64 and all that the newest model lists too."""
    found = ALGORITHMS.get(name.upper())
    if found is None:
        known = ", ".join(ALGORITHMS)
        raise ApiError("InvalidRequest", f"Atoll does not know the checksum algorithm {name!r}; it knows {known}.")
    return found


def digest(name: str) -> Digest:
    """A fresh digest of an additional algorithm, or of MD5. Raises InvalidRequest."""
    return md5() if name == "MD5" else algorithm(name).start()


def md5() -> Hash:
    return Hash(hashlib.md5)


def raw(value: str, size: int) -> bytes | None:
    """The bytes of a base64 value; None when it is not base64 of `size` bytes."""
    try:
        found = b64decode(value, validate=True)
    except (NotBase64, ValueError):
        return None
    return found if len(found) == size else None


def check_value(name: str, value: str) -> str:
    """`value` when it can be one of this algorithm. Raises InvalidRequest."""
    _raw(algorithm(name), value)
    return value


def combine(name: str, parts: Sequence[tuple[str, int]]) -> str:
    """The CRC (base64) of all parts in one piece, from (CRC in base64, size in bytes) of each. Raises InvalidRequest."""
    found = algorithm(name)
    if found.join is None:
        raise ApiError("InvalidRequest", f"The {found.name} of a whole cannot be made from those of its parts.")
    total = 0
    for value, size in parts:
        total = found.join(total, int.from_bytes(_raw(found, value), "big"), size)
    return b64encode(total.to_bytes(found.size, "big")).decode()


def composite(name: str, values: Iterable[str]) -> str:
    """Checksum of checksums: base64 of H(raw values in a row), "-" and their number. Raises InvalidRequest."""
    found = algorithm(name)
    raws = [_raw(found, value) for value in values]
    whole = found.start()
    whole.update(b"".join(raws))
    return f"{whole.value()}-{len(raws)}"


def _raw(found: Algorithm, value: str) -> bytes:
    bits = raw(value, found.size)
    if bits is None:
        raise ApiError("InvalidRequest", f"Value for {found.header} header is invalid.")
    return bits


def multipart_etag(parts: Sequence[str]) -> str:
    """ETag of a multipart object, without quotes: MD5 (hex) of the parts' MD5s in a row, "-" and their number."""
    whole = hashlib.md5(b"".join([bytes.fromhex(part) for part in parts]), usedforsecurity=False)
    return f"{whole.hexdigest()}-{len(parts)}"
