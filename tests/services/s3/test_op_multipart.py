import asyncio
import base64
import hashlib
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from atoll.domain.quotas import PART_MIN_BYTES
from atoll.object_store.disk.disk_store import DiskStore
from atoll.rules import multipart_uploads
from atoll.rules.multipart_uploads import region_of_upload
from s3world import World, scenario, slowly

BIG = b"a" * PART_MIN_BYTES


async def _begin(world: World, key: str = "k", **members) -> str:
    await world.bucket()
    return (await world.execute("CreateMultipartUpload", Bucket="bkt", Key=key, **members)).members["UploadId"]


async def _part(world: World, upload: str, number: int, body: bytes, **members) -> dict:
    output = await world.execute("UploadPart", body, Bucket="bkt", Key="k", UploadId=upload, PartNumber=number, **members)
    sums = {name: value for name, value in output.members.items() if name.startswith("Checksum")}
    return {"PartNumber": number, "ETag": output.members["ETag"], **sums}


async def _complete(world: World, upload: str, *parts: dict, **members):
    return await world.execute(
        "CompleteMultipartUpload", Bucket="bkt", Key="k", UploadId=upload, MultipartUpload={"Parts": list(parts)}, **members
    )


async def _failure(world: World, upload: str, *parts: dict, **members):
    return await world.refused(
        "CompleteMultipartUpload", Bucket="bkt", Key="k", UploadId=upload, MultipartUpload={"Parts": list(parts)}, **members
    )


@scenario()
async def test_parts_in_any_order_make_one_object(world: World):
    upload = await _begin(world, ContentType="text/x", Metadata={"m": "1"}, Tagging="t=1")
    two = await _part(world, upload, 2, b"tail")
    one = await _part(world, upload, 1, BIG)
    world.clock.seconds += 60
    output = await _complete(world, upload, one, two)
    raw = hashlib.md5(BIG).digest() + hashlib.md5(b"tail").digest()
    head = await world.head("k", ChecksumMode="ENABLED")
    assert output.members["ETag"] == f'"{hashlib.md5(raw).hexdigest()}-2"'
    assert (output.members["Bucket"], output.members["Key"]) == ("bkt", "k")
    assert output.members["Location"] == "http://s3.test/b/k"
    assert (head["ContentType"], head["Metadata"], head["TagCount"]) == ("text/x", {"m": "1"}, 1)
    assert head["LastModified"].timestamp() == world.clock.seconds
    assert await world.get("k") == BIG + b"tail"
    assert not await world.store.scan("bkt!uploads")


@scenario()
async def test_one_part_of_the_object_can_be_read(world: World):
    upload = await _begin(world)
    one, two = await _part(world, upload, 1, BIG), await _part(world, upload, 2, b"tail")
    whole = await _complete(world, upload, one, two)
    output = await world.execute("GetObject", Bucket="bkt", Key="k", PartNumber=2, ChecksumMode="ENABLED")
    assert (output.status, output.members["PartsCount"], output.members["ContentLength"]) == (206, 2, 4)
    assert output.members["ETag"] == whole.members["ETag"]
    assert output.members["ContentRange"] == f"bytes {len(BIG)}-{len(BIG) + 3}/{len(BIG) + 4}"
    assert "ChecksumCRC64NVME" not in output.members
    assert (await world.refused("GetObject", Bucket="bkt", Key="k", PartNumber=3)).details["ActualPartCount"] == "2"


@scenario()
async def test_an_upload_without_algorithm_gets_the_crc64nvme_of_all_its_bytes(world: World):
    upload = await _begin(world)
    headers = {"x-amz-checksum-crc32": "NhCmhg=="}
    one = await _part(world, upload, 1, b"hello", headers=headers)
    listed = (await world.execute("ListParts", Bucket="bkt", Key="k", UploadId=upload)).members
    inside = await _failure(world, upload, one)
    output = await _complete(world, upload, {"PartNumber": 1, "ETag": one["ETag"]})
    assert one["ChecksumCRC32"] == "NhCmhg=="
    assert "ChecksumCRC32" not in listed["Parts"][0]
    assert inside.code == "InvalidPart"
    assert (output.members["ChecksumCRC64NVME"], output.members["ChecksumType"]) == ("M3eFcAZSQlc=", "FULL_OBJECT")


@scenario()
async def test_a_composite_checksum_is_the_checksum_of_checksums(world: World):
    upload = await _begin(world, ChecksumAlgorithm="CRC32C")
    one = await _part(world, upload, 1, b"test content 123", headers={"x-amz-checksum-crc32c": "fwuu0Q=="})
    without = await _failure(world, upload, {"PartNumber": 1, "ETag": one["ETag"]})
    wrong = await _failure(world, upload, {**one, "ChecksumCRC32C": "AAAAAA=="})
    other_type = await _failure(world, upload, one, ChecksumType="FULL_OBJECT")
    output = await _complete(world, upload, one)
    part = await world.head("k", ChecksumMode="ENABLED", PartNumber=1)
    assert (without.code, wrong.code, other_type.code) == ("InvalidRequest", "InvalidPart", "InvalidRequest")
    assert one["ChecksumCRC32C"] == "fwuu0Q=="
    assert (output.members["ChecksumCRC32C"], output.members["ChecksumType"]) == ("sZB91Q==-1", "COMPOSITE")
    assert output.members["ETag"] == '"b972025bc34adf8d76d6d51e93c035cc-1"'
    assert part["ChecksumCRC32C"] == "fwuu0Q=="


@scenario()
async def test_parts_must_speak_the_algorithm_of_their_upload(world: World):
    upload = await _begin(world, ChecksumAlgorithm="SHA256")
    other = await world.refused(
        "UploadPart", b"x", Bucket="bkt", Key="k", UploadId=upload, PartNumber=1, headers={"x-amz-checksum-crc32": "x"}
    )
    none = await world.refused("UploadPart", b"x", Bucket="bkt", Key="k", UploadId=upload, PartNumber=1)
    assert (other.code, none.code) == ("InvalidRequest", "InvalidRequest")


@scenario()
async def test_a_full_object_upload_computes_what_its_parts_do_not_say(world: World):
    upload = await _begin(world, ChecksumAlgorithm="CRC32", ChecksumType="FULL_OBJECT")
    output = await world.execute("UploadPart", slowly(b"hel", b"lo"), Bucket="bkt", Key="k", UploadId=upload, PartNumber=1)
    one = {"PartNumber": 1, "ETag": output.members["ETag"]}
    wrong = await _failure(world, upload, one, ChecksumCRC32="AAAAAA==")
    foreign = await _failure(world, upload, one, ChecksumSHA1="qvTGHdzF6KLavt4PO0gs2a6pQ00=")
    done = await _complete(world, upload, one, ChecksumCRC32="NhCmhg==", ChecksumType="FULL_OBJECT")
    assert (wrong.code, foreign.code) == ("BadDigest", "InvalidRequest")
    assert (done.members["ChecksumCRC32"], done.members["ChecksumType"]) == ("NhCmhg==", "FULL_OBJECT")


@scenario()
async def test_parts_of_a_full_object_upload_join_to_the_crc_of_the_whole(world: World):
    upload = await _begin(world, ChecksumAlgorithm="CRC64NVME")
    one, two = await _part(world, upload, 1, BIG), await _part(world, upload, 2, b"tail")
    done = await _complete(world, upload, one, two)
    await world.put("once", BIG + b"tail")
    assert done.members["ChecksumCRC64NVME"] == (await world.head("once", ChecksumMode="ENABLED"))["ChecksumCRC64NVME"]


@pytest.mark.parametrize(
    "members",
    [
        {"ChecksumAlgorithm": "SHA256", "ChecksumType": "FULL_OBJECT"},
        {"ChecksumAlgorithm": "CRC64NVME", "ChecksumType": "COMPOSITE"},
        {"ChecksumType": "FULL_OBJECT"},
        {"ChecksumAlgorithm": "ROT13"},
    ],
)
def test_pairs_of_algorithm_and_type_that_s3_has_not(members):
    @scenario()
    async def steps(world: World):
        await world.bucket()
        assert (await world.refused("CreateMultipartUpload", Bucket="bkt", Key="k", **members)).code == "InvalidRequest"

    steps()


@scenario()
async def test_the_list_of_parts_is_judged(world: World):
    upload = await _begin(world)
    one, two = await _part(world, upload, 1, b"small"), await _part(world, upload, 2, b"tail")
    assert (await _failure(world, upload, two, one)).code == "InvalidPartOrder"
    assert (await _failure(world, upload, one, one)).code == "InvalidPartOrder"
    assert (await _failure(world, upload)).code == "InvalidRequest"
    assert (await _failure(world, upload, {"PartNumber": 1})).code == "MalformedXML"
    small = await _failure(world, upload, one, two)
    etag = one["ETag"].strip('"')
    assert small.details == {"ProposedSize": "5", "MinSizeAllowed": str(PART_MIN_BYTES), "PartNumber": "1", "ETag": etag}
    unknown = await _failure(world, upload, {"PartNumber": 3, "ETag": '"abc"'})
    assert (unknown.code, unknown.details) == ("InvalidPart", {"UploadId": upload, "PartNumber": "3", "ETag": "abc"})
    assert (await _failure(world, upload, {**one, "ETag": '"abc"'})).code == "InvalidPart"
    assert (await _failure(world, upload, one, MpuObjectSize=6)).code == "InvalidRequest"
    assert (await _complete(world, upload, one, MpuObjectSize=5)).members["ETag"].endswith('-1"')


@pytest.mark.parametrize("form", ['"{}"', "{}", "&#34;{}&#34;", "&quot;{}&quot;"])
def test_etags_in_the_list_of_parts_come_in_every_dress(form):
    @scenario()
    async def steps(world: World):
        upload = await _begin(world)
        one = await _part(world, upload, 1, b"hello")
        await _complete(world, upload, {**one, "ETag": form.format(one["ETag"].strip('"'))})
        assert await world.get("k") == b"hello"

    steps()


@scenario()
async def test_numbers_may_have_gaps_unless_parts_carry_checksums(world: World):
    upload = await _begin(world)
    await _complete(world, upload, await _part(world, upload, 7, b"hello"))
    summed = await _begin(world, ChecksumAlgorithm="CRC64NVME")
    error = await _failure(world, summed, await _part(world, summed, 7, b"hello"))
    assert error.code == "InvalidPartOrder"


@scenario()
async def test_sending_a_number_again_replaces_the_part(world: World):
    upload = await _begin(world)
    old = await _part(world, upload, 1, b"old")
    new = await _part(world, upload, 1, b"new")
    assert (await _failure(world, upload, old)).code == "InvalidPart"
    await _complete(world, upload, new)
    assert await world.get("k") == b"new"


@scenario()
async def test_an_upload_is_known_only_by_its_id_and_key(world: World):
    upload = await _begin(world)
    codes = {
        (await world.refused("UploadPart", b"", Bucket="bkt", Key="k", UploadId="nonsense", PartNumber=1)).code,
        (await world.refused("UploadPart", b"", Bucket="bkt", Key="other", UploadId=upload, PartNumber=1)).code,
        (await world.refused("AbortMultipartUpload", Bucket="bkt", Key="other", UploadId=upload)).code,
        (await world.refused("ListParts", Bucket="bkt", Key="other", UploadId=upload)).code,
        (await _failure(world, "nonsense", {"PartNumber": 1, "ETag": "x"}, IfNoneMatch="*")).code,
    }
    assert codes == {"NoSuchUpload"}


@pytest.mark.parametrize("number", [0, 10_001, -1])
def test_part_numbers_go_from_1_to_10000(number):
    @scenario()
    async def steps(world: World):
        upload = await _begin(world)
        error = await world.refused("UploadPart", b"", Bucket="bkt", Key="k", UploadId=upload, PartNumber=number)
        assert (error.code, error.details["ArgumentName"]) == ("InvalidArgument", "partNumber")

    steps()


@scenario()
async def test_an_aborted_upload_is_gone_with_its_parts(world: World):
    upload = await _begin(world)
    await _part(world, upload, 1, b"x")
    output = await world.execute("AbortMultipartUpload", Bucket="bkt", Key="k", UploadId=upload)
    again = await world.execute("AbortMultipartUpload", Bucket="bkt", Key="k", UploadId=upload)
    parts = await world.refused("ListParts", Bucket="bkt", Key="k", UploadId=upload)
    assert (output.status, again.status, parts.code) == (204, 204, "NoSuchUpload")
    assert not await world.store.scan("bkt!uploads")


@scenario()
async def test_aborting_an_upload_that_was_completed_succeeds_and_leaves_the_object(world: World):
    upload = await _begin(world)
    await _complete(world, upload, await _part(world, upload, 1, b"x"))
    assert (await world.execute("AbortMultipartUpload", Bucket="bkt", Key="k", UploadId=upload)).status == 204
    assert await world.get("k") == b"x"


@pytest.mark.parametrize("upload_id", ["nonsense", multipart_uploads.upload_id("eu-west-1", bytes(24)), multipart_uploads.upload_id("us-east-1", bytes(23))])
def test_an_id_that_this_region_never_issued_cannot_be_aborted(upload_id):
    @scenario()
    async def steps(world: World):
        await world.bucket()
        error = await world.refused("AbortMultipartUpload", Bucket="bkt", Key="k", UploadId=upload_id)
        assert (error.code, error.status) == ("NoSuchUpload", 404)

    steps()


@scenario()
async def test_a_part_that_arrives_after_the_end_leaves_nothing_behind(world: World):
    from atoll.domain.http_message import Body

    upload = await _begin(world)

    async def late():
        yield b"x"
        await world.execute("AbortMultipartUpload", Bucket="bkt", Key="k", UploadId=upload)

    error = await world.refused("UploadPart", Body(late(), 1), Bucket="bkt", Key="k", UploadId=upload, PartNumber=1)
    assert error.code == "NoSuchUpload"
    assert not await world.store.scan("bkt!uploads")


@scenario()
async def test_a_repeated_complete_is_answered_alike_while_the_object_is_still_that_one(world: World):
    upload = await _begin(world)
    one = await _part(world, upload, 1, b"hello")
    first = await _complete(world, upload, one)
    second = await _complete(world, upload, one)
    await world.put("k", b"other")
    assert second.members == first.members
    assert (await _failure(world, upload, one)).code == "NoSuchUpload"
    assert (await world.refused("ListParts", Bucket="bkt", Key="k", UploadId=upload)).code == "NoSuchUpload"


@scenario()
async def test_conditions_at_completion_know_what_happened_during_the_upload(world: World):
    await world.bucket()
    etag = (await world.put("k", b"old"))["ETag"]
    upload = await _begin(world)
    one = await _part(world, upload, 1, b"hello")
    other = await _failure(world, upload, one, IfMatch='"other"')
    there = await _failure(world, upload, one, IfNoneMatch="*")
    world.clock.seconds += 1
    await world.put("k", b"old")
    during = await _failure(world, upload, one, IfMatch=etag)
    await world.execute("DeleteObject", Bucket="bkt", Key="k")
    deleted = await _failure(world, upload, one, IfMatch=etag)
    assert [error.status for error in (other, there, during, deleted)] == [412, 412, 409, 404]
    assert during.code == "ConditionalRequestConflict"


@scenario()
async def test_a_key_deleted_during_the_upload_is_a_conflict_for_if_none_match(world: World):
    await world.bucket(versioning="Enabled")
    await world.put("k", b"old")
    upload = await _begin(world)
    one = await _part(world, upload, 1, b"hello")
    world.clock.seconds += 1
    await world.execute("DeleteObject", Bucket="bkt", Key="k")
    assert (await _failure(world, upload, one, IfNoneMatch="*")).status == 409


@scenario(region="eu-west-1")
async def test_an_upload_id_carries_its_region(world: World):
    await world.bucket()
    upload = (await world.execute("CreateMultipartUpload", Bucket="bkt", Key="k")).members["UploadId"]
    assert region_of_upload(upload) == "eu-west-1"


@scenario()
async def test_a_part_can_be_copied_whole_or_in_part(world: World):
    upload = await _begin(world, ChecksumAlgorithm="SHA1")
    await world.put("src", b"hello world")
    whole = await world.execute("UploadPartCopy", Bucket="bkt", Key="k", UploadId=upload, PartNumber=1, CopySource="bkt/src")
    piece = await world.execute(
        "UploadPartCopy", Bucket="bkt", Key="k", UploadId=upload, PartNumber=1, CopySource="bkt/src",
        CopySourceRange="bytes=0-4",
    )  # fmt: skip
    result = piece.members["CopyPartResult"]
    assert whole.members["CopyPartResult"]["ETag"] == f'"{hashlib.md5(b"hello world").hexdigest()}"'
    assert result["ETag"] == '"5d41402abc4b2a76b9719d911017c592"'
    assert result["ChecksumSHA1"] == base64.b64encode(hashlib.sha1(b"hello").digest()).decode()
    await _complete(world, upload, {"PartNumber": 1, **{k: v for k, v in result.items() if k != "LastModified"}})
    assert await world.get("k") == b"hello"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("garbage", "InvalidArgument"),
        ("", "InvalidArgument"),
        ("bytes=4-0", "InvalidArgument"),
        ("bytes=1-", "InvalidArgument"),
        ("bytes=-1", "InvalidArgument"),
        ("bytes=0-5", "InvalidArgument"),
        ("bytes=5-6", "InvalidRequest"),
    ],
)
def test_a_range_of_a_copy_source_is_never_clamped(text, code):
    @scenario()
    async def steps(world: World):
        upload = await _begin(world)
        await world.put("src", b"hello")
        error = await world.refused(
            "UploadPartCopy", Bucket="bkt", Key="k", UploadId=upload, PartNumber=1, CopySource="bkt/src", CopySourceRange=text
        )
        assert (error.status, error.code) == (400, code)

    steps()


@scenario()
async def test_a_copy_of_a_multipart_object_is_a_single_object(world: World):
    upload = await _begin(world, ChecksumAlgorithm="SHA1")
    sha = base64.b64encode(hashlib.sha1(b"hello").digest()).decode()
    one = await _part(world, upload, 1, b"hello", headers={"x-amz-checksum-sha1": sha})
    await _complete(world, upload, one)
    output = await world.execute("CopyObject", Bucket="bkt", Key="dst", CopySource="bkt/k")
    result = output.members["CopyObjectResult"]
    assert result["ETag"] == '"5d41402abc4b2a76b9719d911017c592"'
    assert (result["ChecksumSHA1"], result["ChecksumType"]) == (sha, "FULL_OBJECT")


@scenario()
async def test_completes_that_meet_are_all_answered_alike(world: World):
    """On the disk engine, whose writes take a while: all of them have seen the upload before the first one ends it."""
    with TemporaryDirectory() as folder:
        disk = await DiskStore.open(Path(folder) / "store", origin_region="us-east-1", now_ms=lambda: 1_800_000_000_000)
        world.deps = replace(world.deps, store=disk)
        try:
            upload = await _begin(world)
            one = await _part(world, upload, 1, b"hello")
            async with asyncio.TaskGroup() as group:
                calls = [group.create_task(_complete(world, upload, one, IfNoneMatch="*")) for _ in range(4)]
            assert len({call.result().members["ETag"] for call in calls}) == 1
            assert len(await disk.scan("bkt", versions=True)) == 1
        finally:
            await disk.close()


@scenario()
async def test_a_copied_part_is_of_the_version_that_was_named_and_says_so(world: World):
    upload = await _begin(world)
    await world.versioning("Enabled")
    first = (await world.put("src", b"first"))["VersionId"]
    await world.put("src", b"second")
    named = {"Bucket": "bkt", "Key": "k", "UploadId": upload, "PartNumber": 1}
    output = await world.execute("UploadPartCopy", **named, CopySource=f"bkt/src?versionId={first}")
    marker = (await world.execute("DeleteObject", Bucket="bkt", Key="src")).members["VersionId"]
    hidden = await world.refused("UploadPartCopy", **named, CopySource="bkt/src")
    marked = await world.refused("UploadPartCopy", **named, CopySource=f"bkt/src?versionId={marker}")
    assert output.members["CopySourceVersionId"] == first
    assert output.members["CopyPartResult"]["ETag"] == f'"{hashlib.md5(b"first").hexdigest()}"'
    assert (hidden.code, marked.code) == ("NoSuchKey", "InvalidRequest")


@scenario()
async def test_a_copied_part_obeys_the_conditions_of_its_source_and_replaces_nothing_when_they_fail(world: World):
    upload = await _begin(world)
    kept = await _part(world, upload, 1, b"kept")
    etag = (await world.put("src"))["ETag"]
    named = {"Bucket": "bkt", "Key": "k", "UploadId": upload, "PartNumber": 1, "CopySource": "bkt/src"}
    error = await world.refused("UploadPartCopy", **named, CopySourceIfNoneMatch=etag)
    await _complete(world, upload, kept)
    assert (error.status, error.details["Condition"]) == (412, "x-amz-copy-source-If-None-Match")
    assert await world.get("k") == b"kept"
