import hashlib

import pytest

from atoll.domain.errors import ApiError
from atoll.domain.objects import Checksum, Part
from atoll.rules import multipart_checksums

# Recorded on AWS (cases S09)
SHA256_PARTS = (
    "lcKa6Boe7a167tUCN5C4OaFygGSYD8MBnBARTrdL+1w=",
    "gHjhbUT4oo2tSCtSZJdlKi+jeNXJT+VImqdPXsXvkOc=",
    "4l9PQ3zOPZ0oGFvknFX+J4zZwE4WMzO+l3r8XrbWOeM=",
)


def test_a_composite_of_three_parts_as_recorded_on_aws():
    parts = [Part(n, 5, "", value) for n, value in enumerate(SHA256_PARTS, 1)]
    whole = multipart_checksums.object_checksum("SHA256", "COMPOSITE", parts)
    assert whole == Checksum("SHA256", "COMPOSITE", "rVWtNbadtsaKXJAcgWPWjifHzJaXde/iV4jaJAOdivc=-3")


def test_a_full_object_checksum_is_that_of_the_bytes_in_one_piece():
    parts = [Part(1, 3, "", "+4/IPA=="), Part(2, 0, "", "AAAAAA==")]
    assert multipart_checksums.object_checksum("CRC32", "FULL_OBJECT", parts).value == "+4/IPA=="


def test_the_etag_is_the_md5_of_md5s_and_their_number():
    one, two = hashlib.md5(b"1").hexdigest(), hashlib.md5(b"2").hexdigest()
    joined = hashlib.md5(bytes.fromhex(one + two)).hexdigest()
    assert multipart_checksums.etag([Part(1, 1, one), Part(2, 1, two)]) == f"{joined}-2"


@pytest.mark.parametrize(
    ("algorithm", "kind", "declared"),
    [
        (None, None, None),
        ("crc32", None, ("CRC32", "COMPOSITE")),
        ("CRC32C", "FULL_OBJECT", ("CRC32C", "FULL_OBJECT")),
        ("CRC64NVME", None, ("CRC64NVME", "FULL_OBJECT")),
        ("SHA256", "COMPOSITE", ("SHA256", "COMPOSITE")),
    ],
)
def test_what_an_upload_may_declare(algorithm, kind, declared):
    assert multipart_checksums.declared_checksum(algorithm, kind) == declared


@pytest.mark.parametrize(
    ("algorithm", "kind"),
    [(None, "COMPOSITE"), ("SHA1", "FULL_OBJECT"), ("CRC64NVME", "COMPOSITE"), ("CRC32", "HALF"), ("SHA512", None)],
)
def test_what_it_may_not(algorithm, kind):
    with pytest.raises(ApiError, match="InvalidRequest"):
        multipart_checksums.declared_checksum(algorithm, kind)
