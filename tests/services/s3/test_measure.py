import asyncio

from atoll.domain.message import Body
from atoll.domain.objects import Checksum
from atoll.services.s3.measure import Measure, measured
from s3world import slowly


def _through(body: Body) -> tuple[Body, Measure, bytes]:
    async def read() -> tuple[Body, Measure, bytes]:
        measure = Measure("CRC32")
        passed = measured(body, measure)
        return passed, measure, b"".join([chunk async for chunk in passed])

    return asyncio.run(read())


def test_bytes_that_are_here_are_measured_at_once_and_stay_small():
    passed, measure, seen = _through(Body.of(b"hello"))
    assert (passed.small, seen, measure.size) == (b"hello", b"hello", 5)
    assert measure.checksum == Checksum("CRC32", "FULL_OBJECT", "NhCmhg==")
    assert measure.md5_hex == "5d41402abc4b2a76b9719d911017c592"


def test_bytes_that_come_in_chunks_are_measured_as_they_pass():
    passed, measure, seen = _through(slowly(b"he", b"", b"llo"))
    assert (passed.length, seen, measure.size) == (None, b"hello", 5)
    assert measure.checksum.value == "NhCmhg=="
