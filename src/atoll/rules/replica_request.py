"""The request that carries a copy from one region to another, and whether all of it arrived.

PUT /bucket/key with the version's metadata beside the bytes: in a header while they fit, else in front of the bytes (a multipart
object has up to 10,000 parts). A change of tags, and the question "do you hold this version?", carry metadata only.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import replace
from typing import Protocol
from urllib.parse import quote

import msgspec

from atoll.domain.errors import ApiError
from atoll.domain.http_message import EMPTY, Body
from atoll.domain.objects import NULL_VERSION, ObjectMetadata, Part
from atoll.domain.quotas import MiB
from atoll.rules.payload_verification import digest

METADATA = "x-atoll-facts"  # base64url of the metadata in JSON
METADATA_BYTES = "x-atoll-facts-bytes"  # or how many bytes of the body, from its start, are the metadata in JSON
ONLY = "x-atoll-only"  # no bytes come along: "facts" is a change of tags, "question" asks whether the version is there
OWNER = "x-atoll-owner"  # "destination": the copy is to belong to the owner of the bucket that it comes to
BATCH = "x-atoll-batch"  # "1": queued afterwards, so its late arrival says nothing about concurrent writes
CODE = "x-atoll-code"  # on an answer: the receiver itself refused, with this error code
OUTCOME = "x-atoll-copy"  # on an answer: stored, amended or known

HEADER_MAX_BYTES = 4 * 1024  # metadata up to here travel in the header; common limits for all headers start at 8 KiB
METADATA_MAX_BYTES = 4 * MiB  # 10,000 parts with checksums come to about 1.5 MiB
FACTS_BYTES_MAX_CHARS = len(str(METADATA_MAX_BYTES))


class _Sum(Protocol):
    def update(self, data: bytes, /) -> None: ...

    def value(self) -> str: ...


_MD5 = re.compile(r"[0-9a-f]{32}")


def target(bucket: str, key: str) -> str:
    return f"/{bucket}/{quote(key, safe='/~')}"


def without_local_fields(metadata: ObjectMetadata) -> ObjectMetadata:
    """What of a version's metadata travels: not which copies it owes, nor internal notes."""
    return replace(metadata, replica=True, replication={}, notes={})


def encode_replica(metadata: ObjectMetadata, body: Body) -> tuple[dict[str, str], Body]:
    """Headers and body of a copy."""
    text = msgspec.json.encode(without_local_fields(metadata))
    if len(text) * 4 // 3 <= HEADER_MAX_BYTES:
        return {METADATA: base64.urlsafe_b64encode(text).decode()}, body
    length = None if body.length is None else len(text) + body.length
    return {METADATA_BYTES: str(len(text))}, Body(_prepended(text, body), length)


async def read(headers: Mapping[str, str], body: Body) -> tuple[ObjectMetadata, Body]:
    """The metadata of a copy, and the bytes that follow. Raises InvalidArgument for what no region of ours sends."""
    if METADATA in headers:
        return _metadata(_unwrapped(headers[METADATA])), body
    size = headers.get(METADATA_BYTES, "")
    if not (size.isascii() and size.isdigit()) or len(size) > FACTS_BYTES_MAX_CHARS or int(size) > METADATA_MAX_BYTES:
        raise ApiError("InvalidArgument", "A copy comes with the facts of its version.", ArgumentName=METADATA)
    text, rest = await _split(body, int(size))
    return _metadata(text), rest


def _unwrapped(text: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(text)
    except (binascii.Error, ValueError) as error:
        raise ApiError("InvalidArgument", f"{METADATA} is not base64url.", ArgumentName=METADATA) from error


def _metadata(text: bytes) -> ObjectMetadata:
    try:
        metadata = msgspec.json.decode(text, type=ObjectMetadata)
    except msgspec.DecodeError as error:
        raise ApiError("InvalidArgument", f"{METADATA} cannot be read: {error}", ArgumentName=METADATA) from error
    if metadata.version == NULL_VERSION or metadata.stamp is None or metadata.stamp.version != metadata.version:
        raise ApiError("InvalidArgument", "A copy keeps the version id and stamp of its birth.", ArgumentName=METADATA)
    return without_local_fields(metadata)


async def _prepended(head: bytes, body: Body) -> AsyncIterator[bytes]:
    yield head
    async for chunk in body:
        yield chunk


async def _split(body: Body, size: int) -> tuple[bytes, Body]:
    """The first `size` bytes, and a body with the others."""
    chunks = aiter(body)
    head = bytearray()
    while len(head) < size:
        chunk = await anext(chunks, None)
        if chunk is None:
            raise ApiError("IncompleteBody", "The body ended within the facts of the version.")
        head += chunk
    length = None if body.length is None else body.length - size
    return bytes(head[:size]), Body(_rest(bytes(head[size:]), chunks), length) if length != 0 else EMPTY


async def _rest(first: bytes, chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    if first:
        yield first
    async for chunk in chunks:
        yield chunk


class ReplicaVerifier:
    """Checks a copy while it passes: its size, the MD5 of each part (or of the whole), and its full-object checksum."""

    def __init__(self, metadata: ObjectMetadata) -> None:
        self._metadata = metadata
        self._parts: Iterator[Part] = iter(metadata.parts or (Part(1, metadata.size, metadata.etag),))
        self._part = next(self._parts)
        self._left = self._part.size
        self._md5 = hashlib.md5()
        self._size = 0
        self._spoilt = False
        self._sum = _full_sum(metadata)

    def watch(self, body: Body) -> Body:
        """The same body; all that is read of it is checked on the way."""
        if body.small is not None:
            self.feed(body.small)
            return body
        return Body(self._watched(body), body.length)

    async def _watched(self, body: Body) -> AsyncIterator[bytes]:
        async for chunk in body:
            self.feed(chunk)
            yield chunk

    def feed(self, chunk: bytes) -> None:
        self._size += len(chunk)
        if self._sum is not None:
            self._sum.update(chunk)
        view = memoryview(chunk)
        while len(view) > self._left:
            self._md5.update(view[: self._left])
            view = view[self._left :]
            if not self._next_part():
                return
        self._md5.update(view)
        self._left -= len(view)

    def _next_part(self) -> bool:
        self._judge_part()
        following = next(self._parts, None)
        if following is None:
            self._spoilt = True
            return False
        self._part, self._left, self._md5 = following, following.size, hashlib.md5()
        return True

    def _judge_part(self) -> None:
        if _MD5.fullmatch(self._part.etag) and self._md5.hexdigest() != self._part.etag:
            self._spoilt = True

    def verified_metadata(self) -> ObjectMetadata:
        """Called when all is read. Raises IncompleteBody and BadDigest: then nothing is stored."""
        if self._size != self._metadata.size:
            raise ApiError("IncompleteBody", f"{self._size} bytes arrived of a copy of {self._metadata.size}.")
        self._judge_part()
        if self._spoilt or next(self._parts, None) is not None:
            raise ApiError("BadDigest", "The copy differs from the version that was sent.")
        if self._sum is not None and self._metadata.checksum and self._sum.value() != self._metadata.checksum.value:
            raise ApiError("BadDigest", f"The copy's {self._metadata.checksum.algorithm} differs from the version's.")
        return self._metadata


def _full_sum(metadata: ObjectMetadata) -> _Sum | None:
    if metadata.checksum is None or metadata.checksum.kind != "FULL_OBJECT":
        return None
    return digest(metadata.checksum.algorithm)
