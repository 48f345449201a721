"""Ranges: S3's table, row by row."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.errors import ApiError
from atoll.domain.objects import ByteRange, ObjectMetadata, Part
from atoll.rules.byte_ranges import copy_range, part_range, resolve_range


@pytest.mark.parametrize(
    ("header", "byte_range"),
    [
        ("bytes=0-0", (0, 0)),
        ("bytes=2-4", (2, 4)),
        ("bytes=2-9", (2, 9)),
        ("bytes=2-10", (2, 9)),
        ("bytes=2-99999999999999999999", (2, 9)),
        ("bytes=9-", (9, 9)),
        ("bytes=0-", (0, 9)),
        ("bytes=-1", (9, 9)),
        ("bytes=-10", (0, 9)),
        ("bytes=-999", (0, 9)),
        (" bytes=1-2 ", (1, 2)),
    ],
)
def test_a_range_is_cut_to_the_object(header, byte_range):
    assert resolve_range(header, 10) == ByteRange(*byte_range)


@pytest.mark.parametrize(
    "header",
    [
        None, "", "bytes", "bytes=", "bytes=-", "bytes=a-b", "bytes=4-2", "bytes=99-98", "bytes=-1-", "bytes=1-2,4-5",
        "items=1-2", "1-2", "bytes=1-2-3", "bytes=+1-2", "bytes=1 -2", "bytes=٣-٤", "bytes=" + "9" * 5000 + "-",
    ],
)  # fmt: skip
def test_what_is_no_single_byte_range_counts_as_absent(header):
    assert resolve_range(header, 10) is None


@pytest.mark.parametrize(
    ("header", "size"),
    [("bytes=10-", 10), ("bytes=10-20", 10), ("bytes=-0", 10), ("bytes=0-", 0), ("bytes=0-0", 0), ("bytes=-1", 0), ("bytes=-0", 0)],
)
def test_a_range_without_bytes_is_not_satisfiable(header, size):
    with pytest.raises(ApiError) as caught:
        resolve_range(header, size)
    fault = caught.value
    assert (fault.status, fault.code) == (416, "InvalidRange")
    assert list(fault.details.items()) == [("RangeRequested", header), ("ActualObjectSize", str(size))]
    assert fault.headers == {"content-range": f"bytes */{size}"}


@given(st.text(alphabet="bytes=-,0123456789 ", max_size=20), st.integers(0, 200))
def test_no_header_leads_outside_of_the_object(header, size):
    with suppress(ApiError):
        byte_range = resolve_range(header, size)
        assert byte_range is None or 0 <= byte_range.first <= byte_range.last < size


PARTS = ObjectMetadata(size=25, parts=(Part(1, 10, "a"), Part(5, 10, "b"), Part(7, 5, "c")))


@pytest.mark.parametrize(
    ("number", "metadata", "byte_range"),
    [
        (1, ObjectMetadata(size=10), ByteRange(0, 9)),
        (1, ObjectMetadata(size=0), None),
        (1, PARTS, ByteRange(0, 9)),
        (5, PARTS, ByteRange(10, 19)),
        (7, PARTS, ByteRange(20, 24)),
    ],
)
def test_a_part_number_is_the_one_that_was_uploaded(number, metadata, byte_range):
    assert part_range(metadata, number) == byte_range


@pytest.mark.parametrize(("number", "metadata", "count"), [(2, ObjectMetadata(size=10), "1"), (2, PARTS, "3"), (8, PARTS, "3"), (10_000, PARTS, "3")])
def test_a_part_that_is_not_there_is_not_satisfiable(number, metadata, count):
    with pytest.raises(ApiError) as caught:
        part_range(metadata, number)
    assert (caught.value.status, caught.value.code) == (416, "InvalidPartNumber")
    assert caught.value.details == {"PartNumberRequested": str(number), "ActualPartCount": count}


@pytest.mark.parametrize("number", [0, -1, 10_001])
def test_a_part_number_that_cannot_be_is_an_invalid_argument(number):
    with pytest.raises(ApiError, match="InvalidArgument"):
        part_range(PARTS, number)


def test_an_empty_part_has_no_span():
    assert part_range(ObjectMetadata(size=5, parts=(Part(1, 5, "a"), Part(2, 0, "b"))), 2) is None


@pytest.mark.parametrize(("text", "byte_range"), [("bytes=0-0", (0, 0)), ("bytes=0-9", (0, 9)), ("bytes=3-5", (3, 5))])
def test_a_copy_range_lies_within_the_source(text, byte_range):
    assert copy_range(text, 10) == ByteRange(*byte_range)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("garbage", "InvalidArgument"),
        ("", "InvalidArgument"),
        ("bytes=5-3", "InvalidArgument"),
        ("bytes=5-", "InvalidArgument"),
        ("bytes=-5", "InvalidArgument"),
        ("0-5", "InvalidArgument"),
        ("bytes=0-10", "InvalidArgument"),
        ("bytes=9-10", "InvalidArgument"),
        ("bytes=0-5,7-8", "InvalidArgument"),
        ("bytes=10-11", "InvalidRequest"),
        ("bytes=10-10", "InvalidRequest"),
    ],
)
def test_a_copy_range_that_does_not_fit_is_400_and_never_416(text, code):
    with pytest.raises(ApiError) as caught:
        copy_range(text, 10)
    assert (caught.value.status, caught.value.code) == (400, code)
    assert caught.value.details.get("ArgumentName", "x-amz-copy-source-range") == "x-amz-copy-source-range"
