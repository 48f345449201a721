from __future__ import annotations

import base64
import hashlib
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.errors import ApiError
from atoll.rules import checksum_algorithms

CRCS = ("CRC32", "CRC32C", "CRC64NVME")
CHECK = b"123456789"  # the string that catalogues of CRCs give their check value for


def of(name: str, *pieces: bytes) -> str:
    digest = checksum_algorithms.digest(name)
    for piece in pieces:
        digest.update(piece)
    return digest.value()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CRC32", "CBF43926"),
        ("CRC32C", "E3069283"),
        ("CRC64NVME", "AE8B14860A799888"),
        ("SHA1", hashlib.sha1(CHECK).hexdigest()),
        ("SHA256", hashlib.sha256(CHECK).hexdigest()),
        ("MD5", "25f9e794323b453885f5181f1b624d0b"),
    ],
)
def test_check_values(name, value):
    expected = base64.b64encode(bytes.fromhex(value)).decode()
    assert of(name, CHECK) == expected
    assert of(name, CHECK[:4], b"", CHECK[4:]) == expected


def test_the_crc32_that_boto3_sent_for_hello():
    assert of("CRC32", b"hello") == "NhCmhg=="
    assert of("CRC32") == "AAAAAA=="
    assert of("CRC32", b"x" * 100_000) == base64.b64encode(zlib.crc32(b"x" * 100_000).to_bytes(4, "big")).decode()


def test_names_come_in_any_case():
    assert checksum_algorithms.algorithm("crc64nvme").header == "x-amz-checksum-crc64nvme"


@pytest.mark.parametrize("name", ["SHA512", "MD5", "XXHASH64", "XXHASH3", "XXHASH128", "", "CRC16"])
def test_algorithms_that_we_lack_are_refused_by_name(name):
    with pytest.raises(ApiError, match="InvalidRequest.*CRC32, CRC32C, CRC64NVME, SHA1, SHA256"):
        checksum_algorithms.algorithm(name)


@pytest.mark.parametrize("value", ["", "NhCmhg", "NhCmhg==x", "NhCm", "NhCmhgAA", "!!!!!!==", "NhCmhg==\n", "ü"])
def test_what_is_not_base64_of_the_right_length_is_no_value(value):
    with pytest.raises(ApiError, match="InvalidRequest"):
        checksum_algorithms.check_value("CRC32", value)


@pytest.mark.parametrize("name", CRCS)
@given(st.lists(st.binary(max_size=200), max_size=5))
def test_the_crc_of_a_whole_is_made_from_those_of_its_parts(name, parts):
    assert checksum_algorithms.combine(name, [(of(name, part), len(part)) for part in parts]) == of(name, b"".join(parts))


@pytest.mark.parametrize("name", CRCS)
def test_parts_of_many_megabytes_combine(name):
    part = bytes(range(256)) * 4096 * 5
    assert checksum_algorithms.combine(name, [(of(name, part), len(part)), (of(name, b"end"), 3)]) == of(name, part, b"end")


@pytest.mark.parametrize("name", ["SHA1", "SHA256"])
def test_hashes_of_parts_do_not_combine(name):
    with pytest.raises(ApiError, match="InvalidRequest"):
        checksum_algorithms.combine(name, [(of(name, b"a"), 1)])


def test_a_composite_checksum_that_aws_computed():
    parts = (  # case S09
        "lcKa6Boe7a167tUCN5C4OaFygGSYD8MBnBARTrdL+1w=",
        "gHjhbUT4oo2tSCtSZJdlKi+jeNXJT+VImqdPXsXvkOc=",
        "4l9PQ3zOPZ0oGFvknFX+J4zZwE4WMzO+l3r8XrbWOeM=",
    )
    assert checksum_algorithms.composite("SHA256", parts) == "rVWtNbadtsaKXJAcgWPWjifHzJaXde/iV4jaJAOdivc=-3"


@pytest.mark.parametrize("name", ["CRC32", "CRC32C", "SHA1"])
def test_a_composite_checksum_is_that_of_the_raw_values_in_a_row(name):
    values = [of(name, b"a"), of(name, b"b")]
    assert checksum_algorithms.composite(name, values) == of(name, *[base64.b64decode(value) for value in values]) + "-2"


def test_a_part_of_another_algorithm_is_refused():
    with pytest.raises(ApiError, match="InvalidRequest"):
        checksum_algorithms.composite("SHA256", ["NhCmhg=="])


def test_the_etag_of_parts_is_the_md5_of_their_md5s():
    first, second = hashlib.md5(b"a"), hashlib.md5(b"b")
    expected = hashlib.md5(first.digest() + second.digest()).hexdigest() + "-2"
    assert checksum_algorithms.multipart_etag([first.hexdigest(), second.hexdigest()]) == expected


def test_types_that_multipart_uploads_may_ask_for():
    assert {name: algorithm.kinds for name, algorithm in checksum_algorithms.ALGORITHMS.items()} == {
        "CRC32": ("COMPOSITE", "FULL_OBJECT"),
        "CRC32C": ("COMPOSITE", "FULL_OBJECT"),
        "CRC64NVME": ("FULL_OBJECT",),
        "SHA1": ("COMPOSITE",),
        "SHA256": ("COMPOSITE",),
    }
