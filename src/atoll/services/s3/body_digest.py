"""MD5, checksum and size of bytes that pass by."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator

from atoll.domain.http_message import Body
from atoll.domain.objects import Checksum
from atoll.rules import checksum_algorithms


class BodyDigest:
    """Fed with all bytes of one object or part; a Payload afterwards. `algorithm` is that of the checksum."""

    __slots__ = ("_algorithm", "_md5", "_sum", "size")

    def __init__(self, algorithm: str) -> None:
        self._algorithm = algorithm
        self._md5 = hashlib.md5(usedforsecurity=False)
        self._sum = checksum_algorithms.digest(algorithm)
        self.size = 0

    def feed(self, chunk: bytes) -> None:
        self.size += len(chunk)
        self._md5.update(chunk)
        self._sum.update(chunk)

    @property
    def md5_hex(self) -> str:
        return self._md5.hexdigest()

    @property
    def checksum(self) -> Checksum:
        return Checksum(self._algorithm, "FULL_OBJECT", self._sum.value())


def digesting(body: Body, body_digest: BodyDigest) -> Body:
    """`body`, with `body_digest` looking on."""
    if body.small is not None:
        body_digest.feed(body.small)
        return body
    return Body(_passing(body, body_digest), body.length)


async def _passing(body: Body, body_digest: BodyDigest) -> AsyncIterator[bytes]:
    async for chunk in body:
        body_digest.feed(chunk)
        yield chunk
