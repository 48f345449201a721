import pytest

from atoll.domain.errors import ApiError
from atoll.rules import checksum_headers


@pytest.mark.parametrize(
    ("headers", "algorithm"),
    [
        ({}, None),
        ({"x-amz-checksum-mode": "ENABLED", "x-amz-checksum-algorithm": "CRC32"}, None),
        ({"x-amz-checksum-sha1": "..."}, "SHA1"),
        ({"x-amz-trailer": "x-amz-checksum-crc64nvme"}, "CRC64NVME"),
        ({"x-amz-trailer": " X-Amz-Checksum-CRC32C "}, "CRC32C"),
    ],
)
def test_the_checksum_of_a_body_is_told_by_a_header_or_a_trailer(headers, algorithm):
    assert checksum_headers.stated_algorithm(headers) == algorithm


def test_either_md5_or_a_checksum_is_enough():
    checksum_headers.require_checksum({"content-md5": "..."})
    checksum_headers.require_checksum({"x-amz-checksum-crc32": "..."})
    checksum_headers.require_checksum({"x-amz-trailer": "x-amz-checksum-crc32"})
    with pytest.raises(ApiError, match="InvalidRequest"):
        checksum_headers.require_checksum({"x-amz-sdk-checksum-algorithm": "CRC32"})
