"""Metadata and segments survive the way into a row and back."""

import pytest
from msgspec import DecodeError

from atoll.domain.objects import Checksum, ObjectMetadata, Part, Stamp
from atoll.object_store.disk.row_codec import Segment, decode, decode_segments, encode, encode_segments, stamped

FULL = ObjectMetadata(
    version="v1", size=2**40, etag="e-2", modified_ms=2**45, stamp=Stamp(2**45, "here", "v1"), marker=False,
    headers={"content-type": "a/b"}, meta={"ü": "\U0001f30a"}, tags={"k": "v"}, tags_ms=1,
    checksum=Checksum("CRC64NVME", "FULL_OBJECT", "AAAAAAAAAAA="), parts=(Part(1, 5, "a", "b"), Part(9, 1, "c")),
    replication={"b": "FAILED"}, replica=True, storage_class="GLACIER", owner="1", notes={"n": "m"},
)  # fmt: skip


@pytest.mark.parametrize("metadata", [FULL, ObjectMetadata(), ObjectMetadata(marker=True, version="m")])
def test_facts_come_back_equal(metadata):
    assert decode(encode(metadata)) == metadata


def test_what_is_no_facts_is_refused():
    with pytest.raises(DecodeError):
        decode(b"\xc1")


def test_a_stamp_and_a_size_change_nothing_else():
    given = Stamp(1, "x", "v1")
    made = stamped(FULL, given, 7)
    assert (made.stamp, made.size) == (given, 7)
    assert stamped(made, FULL.stamp, FULL.size) == FULL


def test_segments_come_back_equal():
    segments = [Segment(1, 5, inline=True, crc=-(2**63)), Segment(2**40, 2**40, inline=False, crc=2**63 - 1)]
    assert decode_segments(encode_segments(segments)) == segments
