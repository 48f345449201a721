"""The shapes that everything which moves has. Extra behaviour is a wrapper of the same shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from atoll.domain.http_message import Body, Request, Response
from atoll.domain.objects import (
    ALWAYS,
    START,
    Change,
    Condition,
    Key,
    MakeMetadata,
    ObjectMetadata,
    ScanCursor,
    ScanEntry,
    StoreCapabilities,
    StoredObject,
)


class Handler(Protocol):
    """Answers a request. Raises nothing a caller must know: errors are responses (but see Upstream for remote ones)."""

    async def __call__(self, request: Request) -> Response: ...


class Store(Protocol):
    """Keeps objects: bytes and metadata, no S3 semantics. Source of each promise: docs/SEMANTICS.md.

    All writes are durable when they return, and all or nothing: a write whose body or make_metadata raises leaves no trace, a
    commit that fails (disk full) raises ServiceUnavailable and shows nothing.
    """

    capabilities: StoreCapabilities

    async def put(self, key: Key, body: Body, make_metadata: MakeMetadata, condition: Condition = ALWAYS) -> ObjectMetadata:
        """Store one version and return its metadata, stamp included.

        Reads `body` to its end, then calls `make_metadata`, then judges `condition` against the current version inside the commit.
        Nothing waits between `make_metadata` and the write's place in the order of commits: a later write is committed later.
        A version "null" replaces the null version of the key. Any other version id that is already there is left as it is
        and its metadata are returned (delivery is idempotent). Metadata with `marker` are delete markers. Metadata without a stamp
        get one: max(now_ms, 1 + highest ms of the key).
        Raises what body, make_metadata and condition raise; ServiceUnavailable when the disk refuses.
        """
        ...

    async def get(self, key: Key, version: str | None = None) -> StoredObject | None:
        """The given version, or the current one (highest stamp, possibly a marker). None when there is none."""
        ...

    async def head(self, key: Key, version: str | None = None) -> ObjectMetadata | None:
        """As get, without opening bytes."""
        ...

    async def delete(self, key: Key, version: str, condition: Condition = ALWAYS) -> ObjectMetadata | None:
        """Remove one version for good and return what it was; None when it was not there."""
        ...

    async def update_metadata(self, key: Key, version: str, change: Callable[[ObjectMetadata], ObjectMetadata]) -> ObjectMetadata | None:
        """Replace the metadata of one version by `change(metadata)`, judged inside the commit. Bytes stay. None when missing.

        `change` is pure, may raise ApiError, and may run more than once. Returning the same object changes nothing.
        """
        ...

    async def join(
        self, key: Key, parts: Sequence[Key], metadata: ObjectMetadata, *, discard: Key, condition: Condition = ALWAYS
    ) -> ObjectMetadata:
        """Make one version out of the objects `parts` (in this order) and remove everything whose bucket is
        `discard.bucket` and whose name starts with `discard.name`, in one commit. Raises InvalidPart when one is gone."""
        ...

    async def drop(self, discard: Key) -> None:
        """Remove everything whose bucket is `discard.bucket` and whose name starts with `discard.name`, in one commit."""
        ...

    async def scan(
        self, bucket: str, *, prefix: str = "", after: ScanCursor = START, limit: int = 1000, versions: bool = False
    ) -> Sequence[ScanEntry]:
        """Up to `limit` entries in UTF-8 byte order of the name, strictly after `after`.

        versions=False: the current version of each key, keys whose current version is a marker left out.
        versions=True: all versions and markers, newest first within a key.
        """
        ...

    async def changes(self, bucket: str, since: int, limit: int = 1000) -> Sequence[Change]:
        """Entries of the change feed with seq > since, in order. Written in the commit that they describe."""
        ...

    async def trim(self, bucket: str, upto: int) -> None:
        """Forget change feed entries with seq <= upto."""
        ...

    async def close(self) -> None: ...
