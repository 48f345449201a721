import asyncio

from atoll.domain.http_message import Body
from atoll.domain.objects import Checksum
from atoll.services.s3.body_digest import BodyDigest, digesting
from s3world import slowly


def _through(body: Body) -> tuple[Body, BodyDigest, bytes]:
    async def read() -> tuple[Body, BodyDigest, bytes]:
        body_digest = BodyDigest("CRC32")
        passed = digesting(body, body_digest)
        return passed, body_digest, b"".join([chunk async for chunk in passed])

    return asyncio.run(read())


def test_bytes_that_are_here_are_measured_at_once_and_stay_small():
    passed, body_digest, seen = _through(Body.of(b"hello"))
    assert (passed.small, seen, body_digest.size) == (b"hello", b"hello", 5)
    assert body_digest.checksum == Checksum("CRC32", "FULL_OBJECT", "NhCmhg==")
    assert body_digest.md5_hex == "5d41402abc4b2a76b9719d911017c592"


def test_bytes_that_come_in_chunks_are_measured_as_they_pass():
    passed, body_digest, seen = _through(slowly(b"he", b"", b"llo"))
    assert (passed.length, seen, body_digest.size) == (None, b"hello", 5)
    assert body_digest.checksum.value == "NhCmhg=="
