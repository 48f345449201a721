"""How does a payload get checked while it is read? The sans-IO reader of rules, fed from a stream."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec

from atoll.domain.errors import ApiError
from atoll.domain.limits import DOCUMENT_MAX_BYTES
from atoll.domain.message import EMPTY, Body
from atoll.rules.checksums import PayloadCheck, PayloadReader


class Payload(msgspec.Struct, frozen=True):
    """A decoded body; its checks raise while it is read, before its end is reached.

    A body that is already in memory was checked at once, but its fault waits in `late`: whether the caller may do this at
    all is said first.
    """

    body: Body
    check: PayloadCheck | None = None
    late: ApiError | None = None

    def raise_late(self) -> None:
        if self.late is not None:
            raise self.late

    async def document(self) -> bytes:
        """All of a small body."""
        self.raise_late()
        return await self.body.read_small(DOCUMENT_MAX_BYTES)


NO_PAYLOAD = Payload(EMPTY)


async def _decoded(body: Body, reader: PayloadReader) -> AsyncIterator[bytes]:
    async for data in body:
        for piece in reader.feed(data):
            yield piece
    reader.finish()


def checked(body: Body, reader: PayloadReader) -> Payload:
    """The payload of a request's body."""
    if body.small is None:
        return Payload(Body(_decoded(body, reader), reader.decoded_length), reader.check)
    try:
        return Payload(Body.of(reader.whole(body.small)), reader.check)
    except ApiError as fault:
        return Payload(EMPTY, reader.check, fault)
