import base64
import hashlib

import pytest

from atoll.domain.quotas import PART_MIN_BYTES
from s3world import World, scenario

HELLO_SHA = "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ="


async def _begin(world: World, **members) -> str:
    return (await world.execute("CreateMultipartUpload", Bucket="bkt", Key="k", **members)).members["UploadId"]


async def _part(world: World, upload: str, number: int = 1, body: bytes = b"hello", **members) -> dict:
    output = await world.execute("UploadPart", body, Bucket="bkt", Key="k", UploadId=upload, PartNumber=number, **members)
    return {"PartNumber": number, **output.members}


def _named(upload: str, *parts: dict) -> dict:
    return {"Bucket": "bkt", "Key": "k", "UploadId": upload, "MultipartUpload": {"Parts": list(parts)}}


@scenario()
async def test_the_composite_sum_of_the_object_can_be_stated_with_or_without_its_count(world: World):
    await world.bucket()
    upload = await _begin(world, ChecksumAlgorithm="SHA256")
    one = await _part(world, upload, headers={"x-amz-checksum-sha256": HELLO_SHA})
    whole = base64.b64encode(hashlib.sha256(hashlib.sha256(b"hello").digest()).digest()).decode()
    wrong = await world.refused("CompleteMultipartUpload", **_named(upload, one), ChecksumSHA256=HELLO_SHA)
    done = await world.execute("CompleteMultipartUpload", **_named(upload, one), ChecksumSHA256=f"{whole}-1", ChecksumType="COMPOSITE")
    assert (wrong.code, wrong.details) == ("BadDigest", {"ExpectedDigest": HELLO_SHA, "CalculatedDigest": f"{whole}-1"})
    assert done.members["ChecksumSHA256"] == f"{whole}-1"


@scenario()
async def test_a_refused_completion_leaves_the_upload_as_it_was(world: World):
    await world.bucket()
    upload = await _begin(world)
    one = await _part(world, upload)
    await world.refused("CompleteMultipartUpload", **_named(upload, one), MpuObjectSize=4)
    await world.refused("CompleteMultipartUpload", **_named(upload, one), ChecksumCRC64NVME="AAAAAAAAAAA=")
    await world.refused("CompleteMultipartUpload", **_named(upload, one), IfMatch='"other"')
    assert await world.keys() == []
    await world.execute("CompleteMultipartUpload", **_named(upload, one), ChecksumCRC64NVME="M3eFcAZSQlc=")
    assert await world.get("k") == b"hello"


@scenario()
async def test_parts_that_are_not_listed_are_not_in_the_object_and_are_gone(world: World):
    await world.bucket()
    upload = await _begin(world)
    await _part(world, upload, 1, b"left out")
    two = await _part(world, upload, 2)
    await world.execute("CompleteMultipartUpload", **_named(upload, two), MpuObjectSize=5)
    assert await world.get("k") == b"hello"
    assert not await world.store.scan("bkt!uploads")


@scenario()
async def test_a_part_of_a_full_object_upload_may_state_its_sum_in_the_list_and_then_it_counts(world: World):
    await world.bucket()
    upload = await _begin(world, ChecksumAlgorithm="CRC32", ChecksumType="FULL_OBJECT")
    one = await _part(world, upload)
    wrong = await world.refused("CompleteMultipartUpload", **_named(upload, {**one, "ChecksumCRC32": "AAAAAA=="}))
    foreign = await world.refused("CompleteMultipartUpload", **_named(upload, {**one, "ChecksumCRC32C": "mnG7TA=="}))
    await world.execute("CompleteMultipartUpload", **_named(upload, {**one, "ChecksumCRC32": "NhCmhg=="}))
    assert (wrong.code, wrong.details["PartNumber"], foreign.code) == ("InvalidPart", "1", "InvalidPart")
    assert await world.get("k") == b"hello"


@pytest.mark.parametrize("algorithm", ["CRC32", "CRC32C"])
def test_crcs_are_composite_unless_the_upload_says_otherwise(algorithm):
    @scenario()
    async def steps(world: World):
        await world.bucket()
        response = (await world.execute("CreateMultipartUpload", Bucket="bkt", Key="k", ChecksumAlgorithm=algorithm)).members
        bare = await world.refused("UploadPart", b"x", Bucket="bkt", Key="k", UploadId=response["UploadId"], PartNumber=1)
        assert (response["ChecksumAlgorithm"], response["ChecksumType"]) == (algorithm, "COMPOSITE")
        assert bare.code == "InvalidRequest"

    steps()


@scenario()
async def test_a_completion_with_less_parts_than_the_first_is_no_repetition_of_it(world: World):
    await world.bucket()
    upload = await _begin(world)
    one, two = await _part(world, upload, 1, b"a" * PART_MIN_BYTES), await _part(world, upload, 2)
    await world.execute("CompleteMultipartUpload", **_named(upload, one, two))
    error = await world.refused("CompleteMultipartUpload", **_named(upload, one))
    assert (error.status, error.code) == (404, "NoSuchUpload")


@scenario()
async def test_a_completion_makes_a_version_and_its_repetition_the_same(world: World):
    await world.bucket(versioning="Enabled")
    old = (await world.put("k", b"old"))["VersionId"]
    upload = await _begin(world)
    one = await _part(world, upload)
    first = await world.execute("CompleteMultipartUpload", **_named(upload, one))
    again = await world.execute("CompleteMultipartUpload", **_named(upload, one))
    rows = (await world.execute("ListObjectVersions", Bucket="bkt")).members["_entries"]
    assert first.members["VersionId"] == again.members["VersionId"] != old
    assert [row["VersionId"] for _, row in rows] == [first.members["VersionId"], old]


@pytest.mark.parametrize(
    ("conditions", "status"),
    [
        ({"IfNoneMatch": "*"}, 412),
        ({"IfNoneMatch": '"other"'}, 501),
        ({"IfMatch": "*"}, 501),
        ({"IfMatch": '"other"', "IfNoneMatch": "*"}, 501),
        ({"IfMatch": '"5d41402abc4b2a76b9719d911017c592"'}, 409),
    ],
)
def test_conditions_of_a_key_that_was_deleted_and_written_again_during_the_upload(conditions, status):
    @scenario()
    async def steps(world: World):
        await world.bucket()
        await world.put("k")
        upload = await _begin(world)
        one = await _part(world, upload)
        world.clock.seconds += 1
        await world.execute("DeleteObject", Bucket="bkt", Key="k")
        await world.put("k")
        assert (await world.refused("CompleteMultipartUpload", **_named(upload, one), **conditions)).status == status

    steps()


@scenario()
async def test_what_did_not_change_during_the_upload_may_be_a_condition(world: World):
    await world.bucket(versioning="Enabled")
    etag = (await world.put("k", b"old"))["ETag"]
    upload = await _begin(world)
    await world.execute("CompleteMultipartUpload", **_named(upload, await _part(world, upload)), IfMatch=etag)
    await world.execute("DeleteObject", Bucket="bkt", Key="k")
    second = await _begin(world)
    await world.execute("CompleteMultipartUpload", **_named(second, await _part(world, second, 1, b"2")), IfNoneMatch="*")
    assert await world.get("k") == b"2"


@pytest.mark.parametrize("versioning", ["", "Suspended", "Enabled"])
def test_a_key_that_was_deleted_during_the_upload_is_a_conflict_also_where_no_marker_is_left(versioning):
    @scenario()
    async def steps(world: World):
        await world.bucket(versioning=versioning)
        await world.put("k")
        upload = await _begin(world)
        one = await _part(world, upload)
        world.clock.seconds += 1
        await world.execute("DeleteObject", Bucket="bkt", Key="k")
        error = await world.refused("CompleteMultipartUpload", **_named(upload, one), IfNoneMatch="*")
        assert (error.status, error.code) == (409, "ConditionalRequestConflict")

    steps()
