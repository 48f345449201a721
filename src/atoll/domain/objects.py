"""What a store keeps: versions of objects and what is known of them besides their bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import msgspec

from atoll.domain.http_message import Body

NULL_VERSION = "null"  # S3: the version id of what was written without versioning


class Key(NamedTuple):
    """Bucket and object name. Internal areas have bucket names with a "!" in them, which no S3 bucket can have."""

    bucket: str
    name: str


class Stamp(NamedTuple):
    """Place of a version in the one order that all regions share (the last writer is current).

    `ms` is max(wall clock, 1 + highest ms this region held for the key), `origin_region` the region of birth, `version` its id.
    Travels with every copy and never changes.
    """

    ms: int
    origin_region: str
    version: str


@dataclass(frozen=True, slots=True)
class ByteRange:
    """Bytes first..last, both included."""

    first: int
    last: int

    def __post_init__(self) -> None:
        if not 0 <= self.first <= self.last:
            raise AssertionError(f"no such span: {self.first}-{self.last}")

    @property
    def size(self) -> int:
        return self.last - self.first + 1


ChecksumKind = Literal["FULL_OBJECT", "COMPOSITE"]


@dataclass(frozen=True, slots=True)
class Checksum:
    """S3 additional checksum. `algorithm` as AWS spells it (CRC32, CRC32C, CRC64NVME, SHA1, SHA256), `value` in base64,
    with "-N" behind it when COMPOSITE of N parts."""

    algorithm: str
    kind: ChecksumKind
    value: str


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a multipart object: its number, size in bytes, MD5 (hex) and checksum value (base64, or "")."""

    number: int
    size: int
    etag: str
    checksum: str = ""


@dataclass(frozen=True, slots=True)
class ObjectMetadata:
    """What is known of one version besides its bytes.

    `etag` without quotes. `modified_ms` is the wall clock of the origin (Last-Modified). `stamp` None: the engine gives one
    at commit. `headers` are the stored standard headers in lower case (content-type, content-encoding, cache-control, ...),
    `meta` the x-amz-meta-* without prefix. `replication` maps a destination bucket name to PENDING, COMPLETED or FAILED,
    on the source; `replica` marks a copy that came from elsewhere. `tags_ms` is the time of the last tag change and orders
    tag changes between regions. `notes` are for internal records (multipart uploads, cursors).
    """

    version: str = NULL_VERSION
    size: int = 0
    etag: str = ""
    modified_ms: int = 0
    stamp: Stamp | None = None
    marker: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)
    meta: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    tags_ms: int = 0
    checksum: Checksum | None = None
    parts: tuple[Part, ...] = ()
    replication: Mapping[str, str] = field(default_factory=dict)
    replica: bool = False
    storage_class: str = "STANDARD"
    owner: str = ""
    notes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Condition:
    """What must hold of the current version when a write commits. Judged by rules/conditional_requests inside the transaction.

    `if_match`: an ETag without quotes, "" when not asked. `if_none_match`: If-None-Match: *. `began_ms`: for
    CompleteMultipartUpload, the stamp ms when the upload began (0 otherwise), which turns some 412 into 409; `was_there`:
    the key had an object then.
    """

    if_match: str = ""
    if_none_match: bool = False
    began_ms: int = 0
    was_there: bool = False


ALWAYS = Condition()

# Called once, when the whole body has been read and before anything becomes visible: verifies what the sender claimed
# (raises ApiError: nothing is stored) and returns the metadata to store.
MakeMetadata = Callable[[], ObjectMetadata]


@dataclass(frozen=True, slots=True)
class ScanEntry:
    """One row of a scan. `latest` tells whether it is the current version of its key."""

    name: str
    metadata: ObjectMetadata
    latest: bool = True


@dataclass(frozen=True, slots=True)
class ScanCursor:
    """Where a scan resumes: after all of `name` (version None), or after that one version of it."""

    name: str = ""
    version: str | None = None


START = ScanCursor()


@dataclass(frozen=True, slots=True)
class Change:
    """One entry of a bucket's change feed. `seq` rises strictly. `kind`: put (an object), marker, amend, delete."""

    seq: int
    name: str
    version: str
    kind: Literal["put", "marker", "amend", "delete"]


def _nothing_to_close() -> None:
    """For bytes that are in memory."""


class StoredObject(msgspec.Struct, frozen=True):
    """A version that was found: its metadata, and its bytes on demand.

    `body(byte_range)` gives the bytes (all of them without a span) and may be called once. Whoever does not call it calls
    `close()`; reading the body to its end, or closing its iterator, closes too.
    """

    metadata: ObjectMetadata
    open: Callable[[ByteRange | None], Body]
    close: Callable[[], None] = _nothing_to_close

    def body(self, byte_range: ByteRange | None = None) -> Body:
        return self.open(byte_range)


@dataclass(frozen=True, slots=True)
class StoreCapabilities:
    """What an engine does natively; where False, the layer above works around it or refuses."""

    changes: bool = True
    given_versions: bool = True
    conditions: bool = True
