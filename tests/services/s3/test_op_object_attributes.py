import base64
import hashlib

import pytest

from atoll.domain.quotas import PART_MIN_BYTES
from s3world import World, scenario

ALL = ["ETag", "Checksum", "ObjectParts", "StorageClass", "ObjectSize"]


def _sha(body: bytes) -> str:
    return base64.b64encode(hashlib.sha256(body).digest()).decode()


async def _attributes(world: World, *names: str, **members) -> dict:
    return (await world.execute("GetObjectAttributes", Bucket="bkt", Key="k", ObjectAttributes=list(names), **members)).members


@scenario()
async def test_an_object_in_one_piece_has_no_parts_and_its_etag_no_quotes(world: World):
    await world.bucket(versioning="Enabled")
    version = (await world.put("k"))["VersionId"]
    output = await _attributes(world, *ALL)
    assert (output["ETag"], output["ObjectSize"]) == ("5d41402abc4b2a76b9719d911017c592", 5)
    assert output["Checksum"] == {"ChecksumCRC64NVME": "M3eFcAZSQlc=", "ChecksumType": "FULL_OBJECT"}
    assert (output["StorageClass"], output["VersionId"]) == ("STANDARD", version)
    assert "ObjectParts" not in output


@scenario()
async def test_only_what_was_asked_for_comes_and_blanks_after_commas_do_not_matter(world: World):
    await world.bucket()
    await world.put("k")
    assert set(await _attributes(world, "ETag, ObjectSize")) == {"LastModified", "ETag", "ObjectSize"}


@scenario()
async def test_parts_of_a_composite_object_are_listed_in_pages(world: World):
    await world.bucket()
    big = b"a" * PART_MIN_BYTES
    upload = (await world.execute("CreateMultipartUpload", Bucket="bkt", Key="k", ChecksumAlgorithm="SHA256")).members["UploadId"]
    parts = []
    for number, body in ((1, big), (2, b"tail")):
        headers = {"x-amz-checksum-sha256": _sha(body)}
        got = await world.execute("UploadPart", body, Bucket="bkt", Key="k", UploadId=upload, PartNumber=number, headers=headers)
        parts.append({"PartNumber": number, **got.members})
    await world.execute("CompleteMultipartUpload", Bucket="bkt", Key="k", UploadId=upload, MultipartUpload={"Parts": parts})
    output = await _attributes(world, "ObjectParts", "Checksum", MaxParts=1)
    rest = await _attributes(world, "ObjectParts", PartNumberMarker=1)
    whole = hashlib.sha256(hashlib.sha256(big).digest() + hashlib.sha256(b"tail").digest()).digest()
    page = output["ObjectParts"]
    assert output["Checksum"] == {"ChecksumSHA256": base64.b64encode(whole).decode(), "ChecksumType": "COMPOSITE"}
    assert (page["TotalPartsCount"], page["IsTruncated"], page["NextPartNumberMarker"]) == (2, True, 1)
    assert page["Parts"] == [{"PartNumber": 1, "Size": PART_MIN_BYTES, "ChecksumSHA256": _sha(big)}]
    assert [part["PartNumber"] for part in rest["ObjectParts"]["Parts"]] == [2]


@scenario()
async def test_a_full_object_upload_tells_only_how_many_parts_it_had(world: World):
    await world.bucket()
    upload = (await world.execute("CreateMultipartUpload", Bucket="bkt", Key="k")).members["UploadId"]
    part = await world.execute("UploadPart", b"x", Bucket="bkt", Key="k", UploadId=upload, PartNumber=1)
    listed = {"Parts": [{"PartNumber": 1, "ETag": part.members["ETag"]}]}
    await world.execute("CompleteMultipartUpload", Bucket="bkt", Key="k", UploadId=upload, MultipartUpload=listed)
    assert (await _attributes(world, "ObjectParts"))["ObjectParts"] == {"TotalPartsCount": 1}


@pytest.mark.parametrize("names", [[], ["Colour"]])
def test_unknown_attributes_are_refused(names):
    @scenario()
    async def steps(world: World):
        await world.bucket()
        await world.put("k")
        error = await world.refused("GetObjectAttributes", Bucket="bkt", Key="k", ObjectAttributes=names)
        assert error.code == "InvalidArgument"

    steps()


@scenario()
async def test_a_marker_and_a_missing_key_have_none(world: World):
    await world.bucket(versioning="Enabled")
    marker = (await world.execute("DeleteObject", Bucket="bkt", Key="k")).members["VersionId"]
    named = await world.refused("GetObjectAttributes", Bucket="bkt", Key="k", ObjectAttributes=ALL, VersionId=marker)
    current = await world.refused("GetObjectAttributes", Bucket="bkt", Key="k", ObjectAttributes=ALL)
    assert (named.status, current.status) == (405, 404)


async def _composite(world: World, *bodies: bytes) -> None:
    await world.bucket()
    upload = (await world.execute("CreateMultipartUpload", Bucket="bkt", Key="k", ChecksumAlgorithm="SHA256")).members["UploadId"]
    parts = []
    for number, body in enumerate(bodies, 1):
        headers = {"x-amz-checksum-sha256": _sha(body)}
        got = await world.execute("UploadPart", body, Bucket="bkt", Key="k", UploadId=upload, PartNumber=number, headers=headers)
        parts.append({"PartNumber": number, **got.members})
    await world.execute("CompleteMultipartUpload", Bucket="bkt", Key="k", UploadId=upload, MultipartUpload={"Parts": parts})


@scenario()
async def test_the_pages_of_parts_end_and_a_page_behind_the_end_is_empty(world: World):
    await _composite(world, b"a" * PART_MIN_BYTES, b"tail")
    whole = (await _attributes(world, "ObjectParts", MaxParts=2, PartNumberMarker=""))["ObjectParts"]
    behind = (await _attributes(world, "ObjectParts", PartNumberMarker=2))["ObjectParts"]
    assert (whole["IsTruncated"], whole["PartNumberMarker"], whole["NextPartNumberMarker"]) == (False, 0, 2)
    assert [part["PartNumber"] for part in whole["Parts"]] == [1, 2]
    assert (behind["Parts"], behind["IsTruncated"], behind["TotalPartsCount"]) == ([], False, 2)


@scenario()
async def test_the_etag_of_a_multipart_object_keeps_its_count_and_its_checksum_loses_it(world: World):
    await _composite(world, b"hello")
    output = await _attributes(world, "ETag", "Checksum", "ObjectSize")
    raw = hashlib.sha256(hashlib.sha256(b"hello").digest()).digest()
    assert output["ETag"] == hashlib.md5(hashlib.md5(b"hello").digest()).hexdigest() + "-1"
    assert output["Checksum"] == {"ChecksumSHA256": base64.b64encode(raw).decode(), "ChecksumType": "COMPOSITE"}
    assert output["ObjectSize"] == 5


@pytest.mark.parametrize(
    ("members", "argument"),
    [({"MaxParts": -1}, "max-parts"), ({"PartNumberMarker": "x"}, "part-number-marker"), ({"VersionId": "short"}, "versionId")],
)
def test_attributes_name_the_argument_that_makes_no_sense(members, argument):
    @scenario()
    async def steps(world: World):
        await world.bucket(versioning="Enabled")
        await world.put("k")
        error = await world.refused("GetObjectAttributes", Bucket="bkt", Key="k", ObjectAttributes=ALL, **members)
        assert (error.code, error.details["ArgumentName"]) == ("InvalidArgument", argument)

    steps()


@scenario()
async def test_attributes_are_of_the_version_that_is_named(world: World):
    await world.bucket(versioning="Enabled")
    first = (await world.put("k", b"first one"))["VersionId"]
    await world.put("k")
    output = await _attributes(world, "ObjectSize", VersionId=first)
    assert (output["ObjectSize"], output["VersionId"]) == (9, first)
