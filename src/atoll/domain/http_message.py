"""What travels: a request, a response, and bodies that are streams."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping

import msgspec

from atoll.domain.caller import ForwardedContext
from atoll.domain.errors import ApiError


async def _no_chunks() -> AsyncIterator[bytes]:
    return
    yield b""  # makes this a generator


class Body(msgspec.Struct):
    """Bytes that are read once, front to back.

    `length` in bytes as it was announced, None when nobody announced one; also for a body that is here already, so that how
    bytes happened to arrive changes nothing. `small` holds all of it when it is already in memory, so that hot paths need not
    await; iterating works in both cases. An iterator that cannot deliver all raises (ApiError when the
    sender is to blame, Incomplete when the connection broke): a short body is never a success. `chunks` is taken by
    iterating, and by nobody else.
    """

    chunks: AsyncIterator[bytes] | None
    length: int | None
    small: bytes | None = None

    @classmethod
    def of(cls, data: bytes) -> Body:
        """A body that is already here."""
        return cls(None, len(data), data)

    @property
    def size(self) -> int | None:
        """Bytes, announced or counted; None when neither."""
        return self.length if self.small is None else len(self.small)

    @property
    def unread(self) -> bool:
        """All of it can still be read: whoever refuses the request may be asked again."""
        return self.small is not None or self.chunks is not None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self.small is not None:
            if self.small:
                yield self.small
            return
        chunks, self.chunks = self.chunks, None
        if chunks is None:
            raise AssertionError("a body is read once")
        async for chunk in chunks:
            yield chunk

    async def read_small(self, limit: int) -> bytes:
        """All of it, for documents; kept as `small`. Raises MaxMessageLengthExceeded beyond `limit` bytes."""
        if self.small is not None:
            if len(self.small) > limit:
                raise ApiError("MaxMessageLengthExceeded", f"The body is larger than {limit} bytes.")
            return self.small
        pieces, size = [], 0
        async for chunk in self:
            size += len(chunk)
            if size > limit:
                raise ApiError("MaxMessageLengthExceeded", f"The body is larger than {limit} bytes.")
            pieces.append(chunk)
        self.small = b"".join(pieces)
        return self.small


EMPTY = Body.of(b"")


def _empty_body() -> Body:
    return EMPTY


class Request(msgspec.Struct):
    """One HTTP request as it arrived.

    `target` is the untouched origin-form target (path?query) because signatures cover it byte for byte; `path` and `query`
    are its halves, still encoded. Header names are lower case, values latin-1 and trimmed; repeated headers are joined with
    "," in order of arrival. `peer` is the client's IP address, `secure` tells TLS, `arrived` is a monotonic time in seconds.
    `forwarded` is set when another process of this world took the request and vouches for what it found.
    """

    method: str
    target: str
    headers: Mapping[str, str]
    body: Body = msgspec.field(default_factory=_empty_body)
    peer: str = "127.0.0.1"
    secure: bool = False
    arrived: float = 0.0
    forwarded: ForwardedContext | None = None
    path: str = ""
    query: str = ""

    def __post_init__(self) -> None:
        self.path, _, self.query = self.target.partition("?")


class Response(msgspec.Struct):
    """One HTTP response. Content-Length and framing are the sender's business, from `body.length`.

    A response to HEAD carries the headers of GET, content-length among them, and an empty body.
    """

    status: int = 200
    headers: dict[str, str] = {}
    body: Body = msgspec.field(default_factory=_empty_body)
