import asyncio

import pytest

from atoll.domain.errors import ApiError
from atoll.domain.http_message import Body
from atoll.gateway.payload import NO_PAYLOAD, checked
from atoll.rules.payload_verification import PayloadReader
from atoll.rules.signature_verification import KeyCache
from s3world import slowly

HELLO_MD5 = "XUFAKrxLKna5cZ2REBfFkg=="


def reader(**headers):
    return PayloadReader.of({name.replace("_", "-"): value for name, value in headers.items()}, None, "", KeyCache())


def read(body):
    async def whole():
        return b"".join([piece async for piece in body])

    return asyncio.run(whole())


def test_a_body_in_memory_is_checked_at_once():
    payload = checked(Body.of(b"hello"), reader(content_md5=HELLO_MD5))
    payload.raise_deferred()
    assert payload.body.small == b"hello"
    assert payload.check.md5_hex == "5d41402abc4b2a76b9719d911017c592"


def test_its_fault_waits_until_it_is_asked_for():
    payload = checked(Body.of(b"hallo"), reader(content_md5=HELLO_MD5))
    with pytest.raises(ApiError, match="BadDigest"):
        payload.raise_deferred()


def test_its_fault_is_raised_by_reading_as_that_of_a_stream():
    for body in (Body.of(b"hallo"), slowly(b"hal", b"lo")):
        payload = checked(body, reader(content_md5=HELLO_MD5))
        assert (payload.body.length, payload.body.small) == (None, None)
        with pytest.raises(ApiError, match="BadDigest"):
            read(payload.body)


def test_what_is_known_of_its_length_does_not_depend_on_how_much_is_here():
    for headers in ({}, {"content_length": "5"}):
        deps, coming = (checked(body, reader(**headers)) for body in (Body.of(b"hello"), slowly(b"hel", b"lo")))
        assert deps.body.length == coming.body.length == (5 if headers else None)


def test_a_stream_raises_at_its_end_and_not_before():
    pieces = []

    async def take():
        async for piece in checked(slowly(b"hal", b"lo"), reader(content_md5=HELLO_MD5)).body:
            pieces.append(piece)

    with pytest.raises(ApiError, match="BadDigest"):
        asyncio.run(take())
    assert pieces == [b"hal", b"lo"]


def test_a_stream_that_is_what_it_says_comes_whole():
    payload = checked(slowly(b"hel", b"lo"), reader(content_md5=HELLO_MD5, content_length="5"))
    assert payload.body.length == 5
    assert read(payload.body) == b"hello"
    assert payload.check.size == 5


def test_aws_chunked_framing_is_taken_off():
    framed = b"5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n"
    headers = {"x_amz_content_sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER", "x_amz_decoded_content_length": "5", "x_amz_trailer": "x-amz-checksum-crc32"}
    assert checked(Body.of(framed), reader(**headers)).body.small == b"hello"
    assert read(checked(slowly(framed[:9], framed[9:]), reader(**headers)).body) == b"hello"


def test_a_document_says_its_fault_before_it_is_read():
    with pytest.raises(ApiError, match="BadDigest"):
        asyncio.run(checked(Body.of(b"hallo"), reader(content_md5=HELLO_MD5)).document())


def test_a_document_has_a_largest_size():
    async def endless():
        while True:
            yield b"x" * 65536

    with pytest.raises(ApiError, match="MaxMessageLengthExceeded"):
        asyncio.run(checked(Body(endless(), None), reader()).document())


def test_no_payload_is_an_empty_document():
    assert asyncio.run(NO_PAYLOAD.document()) == b""
