import asyncio
import base64
import hashlib
from dataclasses import replace

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.errors import ApiError
from atoll.domain.http_message import Body
from atoll.domain.objects import Checksum, ObjectMetadata, Part, Stamp
from atoll.rules import replica_request as form
from atoll.rules.payload_verification import digest

CONTENT = b"abcdefghij"
ORIGINAL = ObjectMetadata(
    version="v1",
    size=10,
    etag=hashlib.md5(CONTENT).hexdigest(),
    modified_ms=1,
    stamp=Stamp(5, "tokyo", "v1"),
    meta={"m": "ü"},
    tags={"t": "1"},
    tags_ms=3,
    replication={"b": "PENDING"},
    notes={"n": "1"},
)


def md5(content):
    return hashlib.md5(content).hexdigest()


def in_parts(*sizes):
    pieces, start = [], 0
    for size in sizes:
        pieces.append(CONTENT[start : start + size])
        start += size
    return replace(ORIGINAL, etag="e-2", parts=tuple(Part(n, len(p), md5(p)) for n, p in enumerate(pieces, 1)))


def streamed(*chunks, length=None):
    async def stream():
        for chunk in chunks:
            yield chunk

    return Body(stream(), length)


def there_and_back(metadata, body):
    async def travel():
        headers, sent = form.encode_replica(metadata, body)
        arrived, rest = await form.read(headers, sent)
        return headers, arrived, await rest.read_small(1 << 20), sent.length

    return asyncio.run(travel())


def test_facts_travel_in_a_header_without_what_concerns_the_source_alone():
    headers, arrived, content, length = there_and_back(ORIGINAL, Body.of(CONTENT))
    assert set(headers) == {form.METADATA}
    assert arrived == replace(ORIGINAL, replica=True, replication={}, notes={})
    assert (content, length) == (CONTENT, 10)


@pytest.mark.parametrize("body", [Body.of(CONTENT), streamed(b"abc", b"defghij", length=10)], ids=["small", "streamed"])
def test_many_parts_travel_in_front_of_the_bytes(body):
    metadata = replace(ORIGINAL, parts=tuple(Part(n, 1, "0" * 32) for n in range(1, 1001)))
    headers, arrived, content, length = there_and_back(metadata, body)
    assert set(headers) == {form.METADATA_BYTES}
    assert arrived.parts == metadata.parts
    assert content == CONTENT
    assert length == 10 + int(headers[form.METADATA_BYTES])


def test_facts_alone_leave_an_empty_body():
    metadata = replace(ORIGINAL, parts=tuple(Part(n, 1, "0" * 32) for n in range(1, 1001)))
    _, arrived, content, _ = there_and_back(metadata, Body.of(b""))
    assert (arrived.parts, content) == (metadata.parts, b"")


@pytest.mark.parametrize(
    ("key", "target"),
    [("a/b", "/b/a/b"), ("ü +%?", "/b/%C3%BC%20%2B%25%3F"), ("a//../.", "/b/a//../."), ("~_-", "/b/~_-")],
)
def test_the_target_is_percent_encoded_and_otherwise_untouched(key, target):
    assert form.target("b", key) == target


def metadata_header(**members):
    text = msgspec.json.encode(replace(ORIGINAL, **members))
    return {form.METADATA: base64.urlsafe_b64encode(text).decode()}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {form.METADATA: "!"},
        {form.METADATA: "aaaa"},
        {form.METADATA: base64.urlsafe_b64encode(b'{"size": "x"}').decode()},
        {form.METADATA_BYTES: "x"},
        {form.METADATA_BYTES: str(form.METADATA_MAX_BYTES + 1)},
        {form.METADATA_BYTES: "9" * 5000},
        metadata_header(version="null"),
        metadata_header(stamp=None),
        metadata_header(version="other"),
    ],
)
def test_what_no_region_sends_is_refused(headers):
    with pytest.raises(ApiError, match="InvalidArgument"):
        asyncio.run(form.read(headers, Body.of(b"{}")))


def test_a_body_that_ends_within_the_facts_is_incomplete():
    with pytest.raises(ApiError, match="IncompleteBody"):
        asyncio.run(form.read({form.METADATA_BYTES: "9"}, Body.of(b"{}")))


def arrived(metadata, *chunks):
    verifier = form.ReplicaVerifier(metadata)
    for chunk in chunks:
        verifier.feed(chunk)
    return verifier.verified_metadata()


@pytest.mark.parametrize("metadata", [ORIGINAL, in_parts(4, 6), in_parts(1, 8, 1), replace(ORIGINAL, etag="opaque")])
def test_what_arrives_whole_is_sealed(metadata):
    assert arrived(metadata, CONTENT) is metadata
    assert arrived(metadata, b"", *[bytes([each]) for each in CONTENT]) is metadata


def test_an_empty_object_is_whole():
    assert arrived(replace(ORIGINAL, size=0, etag=md5(b""))).size == 0


@given(st.lists(st.integers(1, 9), min_size=1), st.sampled_from([ORIGINAL, in_parts(4, 6), in_parts(2, 2, 2, 4)]))
def test_it_does_not_matter_how_the_bytes_are_cut(cuts, metadata):
    chunks, rest = [], CONTENT
    for cut in cuts:
        chunks.append(rest[:cut])
        rest = rest[cut:]
    assert arrived(metadata, *chunks, rest) is metadata


@pytest.mark.parametrize("metadata", [ORIGINAL, in_parts(4, 6), in_parts(10)])
@pytest.mark.parametrize("position", [0, 3, 4, 9])
def test_a_flipped_byte_is_found(metadata, position):
    spoilt = bytearray(CONTENT)
    spoilt[position] ^= 1
    with pytest.raises(ApiError, match="BadDigest"):
        arrived(metadata, bytes(spoilt))


@pytest.mark.parametrize("content", [CONTENT[:-1], CONTENT + b"k", b""])
@pytest.mark.parametrize("metadata", [ORIGINAL, in_parts(4, 6), replace(ORIGINAL, etag="opaque")])
def test_a_copy_of_another_size_is_incomplete(metadata, content):
    with pytest.raises(ApiError, match="IncompleteBody"):
        arrived(metadata, content)


@pytest.mark.parametrize("parts", [in_parts(4).parts, in_parts(4, 6, 0).parts + (Part(4, 3, md5(b"abc")),)])
def test_parts_that_do_not_make_up_the_object_are_refused(parts):
    with pytest.raises(ApiError, match="BadDigest"):
        arrived(replace(ORIGINAL, parts=parts), CONTENT)


@pytest.mark.parametrize("algorithm", ["CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"])
def test_a_full_object_checksum_is_verified(algorithm):
    sum_of = digest(algorithm)
    sum_of.update(CONTENT)
    metadata = replace(ORIGINAL, etag="opaque", checksum=Checksum(algorithm, "FULL_OBJECT", sum_of.value()))
    assert arrived(metadata, CONTENT[:3], CONTENT[3:]) is metadata
    with pytest.raises(ApiError, match="BadDigest"):
        arrived(metadata, CONTENT[::-1])


def test_a_watched_body_is_the_same_body():
    async def scene():
        verifier = form.ReplicaVerifier(ORIGINAL)
        assert await verifier.watch(streamed(b"abcd", b"efghij", length=10)).read_small(100) == CONTENT
        return verifier.verified_metadata()

    assert asyncio.run(scene()) is ORIGINAL
