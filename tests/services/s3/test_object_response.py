from datetime import UTC, datetime, timedelta

import pytest

from atoll.domain.errors import ApiError
from atoll.domain.quotas import PART_MIN_BYTES
from s3world import World, read, scenario

NOW = datetime.fromtimestamp(1_800_000_000, UTC)
HELLO_MD5 = '"5d41402abc4b2a76b9719d911017c592"'


async def _hello(world: World) -> None:
    await world.bucket()
    await world.put("k")


async def _joined(world: World, *parts: tuple[int, bytes], **members) -> None:
    """Object k of bucket bkt, made of these parts."""
    await world.bucket()
    upload = (await world.execute("CreateMultipartUpload", Bucket="bkt", Key="k", **members)).members["UploadId"]
    listed = []
    for number, body in parts:
        got = await world.execute("UploadPart", body, Bucket="bkt", Key="k", UploadId=upload, PartNumber=number)
        listed.append({"PartNumber": number, "ETag": got.members["ETag"]})
    await world.execute("CompleteMultipartUpload", Bucket="bkt", Key="k", UploadId=upload, MultipartUpload={"Parts": listed})


@pytest.mark.parametrize("asked", ["bytes=-1-", "bytes=", "bytes=-", "bytes=a-b", "bytes 0-1", "0-1", ""])
def test_what_is_no_range_gets_the_whole_object_and_its_checksum(asked):
    @scenario()
    async def steps(world: World):
        await _hello(world)
        output = await world.execute("GetObject", Bucket="bkt", Key="k", Range=asked, ChecksumMode="ENABLED")
        assert (output.status, await read(output)) == (200, b"hello")
        assert output.members["ChecksumCRC64NVME"] == "M3eFcAZSQlc="
        assert "ContentRange" not in output.members

    steps()


@pytest.mark.parametrize("asked", ["bytes=0-0", "bytes=0-", "bytes=-1", "bytes=-0"])
def test_no_byte_of_an_empty_object_can_be_asked_for(asked):
    @scenario()
    async def steps(world: World):
        await world.bucket()
        await world.put("k", b"")
        error = await world.refused("GetObject", Bucket="bkt", Key="k", Range=asked)
        assert (error.status, error.headers["content-range"]) == (416, "bytes */0")
        assert error.details["ActualObjectSize"] == "0"

    steps()


@scenario()
async def test_a_range_may_cross_the_border_of_two_parts(world: World):
    await _joined(world, (1, b"a" * PART_MIN_BYTES), (2, b"tail"))
    size = PART_MIN_BYTES + 4
    asked = f"bytes={PART_MIN_BYTES - 2}-{PART_MIN_BYTES + 1}"
    output = await world.execute("GetObject", Bucket="bkt", Key="k", Range=asked, ChecksumMode="ENABLED")
    assert await read(output) == b"aata"
    assert output.members["ContentRange"] == f"bytes {PART_MIN_BYTES - 2}-{PART_MIN_BYTES + 1}/{size}"
    assert not {"PartsCount", "ChecksumCRC64NVME", "ChecksumType"} & output.members.keys()


@scenario()
async def test_a_part_is_read_by_the_number_it_was_sent_with(world: World):
    await _joined(world, (3, b"a" * PART_MIN_BYTES), (9, b"tail"))
    head = await world.head("k", PartNumber=3)
    absent = await world.refused("GetObject", Bucket="bkt", Key="k", PartNumber=1)
    assert await world.get("k", PartNumber=9) == b"tail"
    assert (head["ContentLength"], head["PartsCount"]) == (PART_MIN_BYTES, 2)
    assert (absent.status, absent.code) == (416, "InvalidPartNumber")
    assert absent.details == {"PartNumberRequested": "1", "ActualPartCount": "2"}


@scenario()
async def test_the_only_part_of_a_full_object_upload_has_the_checksum_of_the_whole(world: World):
    await _joined(world, (1, b"hello"), ChecksumAlgorithm="CRC32", ChecksumType="FULL_OBJECT")
    part = await world.head("k", PartNumber=1, ChecksumMode="ENABLED")
    assert (part["ChecksumCRC32"], part["ChecksumType"], part["PartsCount"]) == ("NhCmhg==", "FULL_OBJECT", 1)
    assert not [name for name in await world.head("k", PartNumber=1) if name.startswith("Checksum")]


@pytest.mark.parametrize("number", [0, -1, 10_001])
def test_no_part_has_such_a_number(number):
    @scenario()
    async def steps(world: World):
        await _hello(world)
        error = await world.refused("HeadObject", Bucket="bkt", Key="k", PartNumber=number)
        assert (error.code, error.details["ArgumentName"]) == ("InvalidArgument", "partNumber")

    steps()


@pytest.mark.parametrize(
    ("conditions", "status"),
    [
        ({"IfMatch": f'"other", {HELLO_MD5}'}, 206),
        ({"IfMatch": "*"}, 206),
        ({"IfMatch": '"other"', "IfUnmodifiedSince": NOW}, 412),
        ({"IfMatch": '"other"', "IfNoneMatch": HELLO_MD5}, 412),
        ({"IfMatch": HELLO_MD5, "IfNoneMatch": HELLO_MD5}, 304),
        ({"IfMatch": HELLO_MD5, "IfModifiedSince": NOW}, 304),
        ({"IfNoneMatch": f'"other", W/{HELLO_MD5}'}, 304),
        ({"IfNoneMatch": "*"}, 304),
        ({"IfUnmodifiedSince": NOW, "IfModifiedSince": NOW}, 304),
        ({"IfUnmodifiedSince": NOW - timedelta(days=1), "IfNoneMatch": HELLO_MD5}, 412),
    ],
)
def test_conditions_are_judged_in_their_order_and_then_the_range_is_cut(conditions, status):
    @scenario()
    async def steps(world: World):
        await _hello(world)
        assert await _status(world, Range="bytes=0-1", **conditions) == status

    steps()


@scenario()
async def test_a_condition_that_fails_goes_before_a_range_that_cannot_be(world: World):
    await _hello(world)
    assert await _status(world, Range="bytes=9-", IfNoneMatch=HELLO_MD5) == 304
    assert await _status(world, Range="bytes=9-", IfMatch='"other"') == 412
    assert await _status(world, Range="bytes=9-", IfMatch=HELLO_MD5) == 416


@scenario()
async def test_a_condition_on_a_key_that_is_not_there_is_404(world: World):
    await _hello(world)
    absent = await world.refused("GetObject", Bucket="bkt", Key="none", IfMatch=HELLO_MD5)
    matching = await world.refused("HeadObject", Bucket="bkt", Key="none", IfNoneMatch="*")
    assert (absent.status, matching.status) == (404, 404)


@scenario()
async def test_the_condition_is_judged_of_the_version_that_is_asked_for(world: World):
    await world.bucket(versioning="Enabled")
    first = (await world.put("k"))["VersionId"]
    await world.put("k", b"newer")
    assert await _status(world, IfMatch=HELLO_MD5) == 412
    assert await _status(world, IfMatch=HELLO_MD5, VersionId=first) == 200
    assert await _status(world, IfNoneMatch=HELLO_MD5, VersionId=first) == 304


async def _status(world: World, **members) -> int:
    try:
        return (await world.execute("GetObject", Bucket="bkt", Key="k", **members)).status
    except ApiError as error:
        return error.status


@scenario()
async def test_overrides_go_over_what_is_stored_and_are_not_kept(world: World):
    await world.bucket()
    await world.put("k", ContentType="text/a", CacheControl="no-store", ContentLanguage="de")
    seen = await world.head("k", ResponseCacheControl="max-age=1", ResponseContentDisposition="attachment", ResponseContentLanguage="fr")
    stored = await world.head("k")
    assert (seen["CacheControl"], seen["ContentDisposition"], seen["ContentLanguage"]) == ("max-age=1", "attachment", "fr")
    assert seen["ContentType"] == "text/a"
    assert (stored["CacheControl"], stored["ContentLanguage"], "ContentDisposition" in stored) == ("no-store", "de", False)
