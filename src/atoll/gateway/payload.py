"""Verifies a payload while it is read: the sans-IO verifier of rules, fed from a stream."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec

from atoll.domain.errors import ApiError
from atoll.domain.http_message import EMPTY, Body
from atoll.domain.quotas import DOCUMENT_MAX_BYTES
from atoll.rules.aws_chunked import MODES
from atoll.rules.payload_verification import PayloadCheck, PayloadReader


class Payload(msgspec.Struct, frozen=True):
    """A decoded body; its checks raise while it is read, before its end is reached.

    A body that is already in memory was checked at once; its fault waits in `deferred_error`, and is raised by reading, as that of a
    body which still arrives. So what is said first depends on the request and not on when its bytes came.
    """

    body: Body
    check: PayloadCheck | None = None
    deferred_error: ApiError | None = None

    def raise_deferred(self) -> None:
        if self.deferred_error is not None:
            raise self.deferred_error

    async def document(self) -> bytes:
        """All of a small body."""
        return await self.body.read_small(DOCUMENT_MAX_BYTES)


NO_PAYLOAD = Payload(EMPTY)


async def _decoded(body: Body, reader: PayloadReader) -> AsyncIterator[bytes]:
    async for data in body:
        for piece in reader.feed(data):
            yield piece
    reader.finish()


async def _faulty(fault: ApiError) -> AsyncIterator[bytes]:
    raise fault
    yield b""  # makes this a generator


def check_decoded_length(reader: PayloadReader) -> None:
    """Every STREAMING- mode says how much it frames (S3 API, "Transferring payload in multiple chunks"). Raises
    MissingContentLength."""
    if reader.claims.mode in MODES and reader.decoded_length is None:
        raise ApiError("MissingContentLength", "You must provide the x-amz-decoded-content-length HTTP header.")


def checked(body: Body, reader: PayloadReader) -> Payload:
    """The payload of a request's body."""
    length = reader.decoded_length
    if body.small is None:
        return Payload(Body(_decoded(body, reader), length), reader.check)
    try:
        return Payload(Body(None, length, reader.whole(body.small)), reader.check)
    except ApiError as fault:
        return Payload(Body(_faulty(fault), length), reader.check, fault)
