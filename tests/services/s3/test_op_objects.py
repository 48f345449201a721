from datetime import UTC, datetime, timedelta

import pytest

from atoll.domain.caller import ANONYMOUS
from atoll.domain.errors import ApiError
from s3world import World, broken, read, scenario, slowly

NOW = datetime.fromtimestamp(1_800_000_000, UTC)
HELLO_MD5 = '"5d41402abc4b2a76b9719d911017c592"'


@scenario()
async def test_what_was_put_comes_back_with_its_headers(world: World):
    await world.bucket()
    put = await world.execute(
        "PutObject", b"hello", Bucket="bkt", Key="dir//a b+ü", ContentType="text/plain", CacheControl="no-store",
        Metadata={"Mtime": "1.5"}, headers={"expires": "soon"},
    )  # fmt: skip
    output = await world.execute("GetObject", Bucket="bkt", Key="dir//a b+ü")
    assert put.members == {"ETag": HELLO_MD5, "ChecksumCRC64NVME": "M3eFcAZSQlc=", "ChecksumType": "FULL_OBJECT"}
    assert await read(output) == b"hello"
    assert (output.status, output.members["ContentLength"], output.members["AcceptRanges"]) == (200, 5, "bytes")
    assert output.members["ContentType"] == "text/plain"
    assert (output.members["CacheControl"], output.members["Expires"]) == ("no-store", "soon")
    assert output.members["Metadata"] == {"mtime": "1.5"}
    assert output.members["ETag"] == HELLO_MD5
    assert "VersionId" not in output.members
    assert "ChecksumCRC64NVME" not in output.members
    assert "StorageClass" not in output.members


@scenario()
async def test_no_type_is_stored_as_binary_and_aws_chunked_is_never_stored(world: World):
    await world.bucket()
    await world.put("plain", ContentEncoding="aws-chunked")
    await world.put("front", ContentEncoding="gzip,aws-chunked")
    await world.put("back", ContentEncoding="aws-chunked, gzip")
    assert (await world.head("plain"))["ContentType"] == "binary/octet-stream"
    assert "ContentEncoding" not in await world.head("plain")
    assert [(await world.head(key))["ContentEncoding"] for key in ("front", "back")] == ["gzip", "gzip"]


@scenario()
async def test_a_body_of_unknown_length_is_measured_as_it_comes(world: World):
    await world.bucket()
    put = await world.execute("PutObject", slowly(b"he", b"llo"), Bucket="bkt", Key="k")
    assert put.members["ETag"] == HELLO_MD5
    assert (await world.head("k"))["ContentLength"] == 5


@scenario()
async def test_a_wrong_checksum_at_the_end_leaves_the_old_object(world: World):
    await world.bucket()
    await world.put("k", b"old")
    error = await world.refused("PutObject", broken(ApiError("BadDigest"), b"new"), Bucket="bkt", Key="k")
    assert error.code == "BadDigest"
    assert await world.get("k") == b"old"


@scenario()
async def test_the_asked_checksum_is_stored_and_shown_only_in_mode_enabled(world: World):
    await world.bucket()
    put = await world.execute("PutObject", b"hello", Bucket="bkt", Key="k", headers={"x-amz-checksum-crc32": "NhCmhg=="})
    assert (put.members["ChecksumCRC32"], put.members["ChecksumType"]) == ("NhCmhg==", "FULL_OBJECT")
    assert (await world.head("k", ChecksumMode="enabled"))["ChecksumCRC32"] == "NhCmhg=="
    assert "ChecksumCRC32" not in await world.head("k")


@scenario()
async def test_no_checksum_of_the_whole_goes_with_a_part_of_it(world: World):
    await world.bucket()
    await world.put("k")
    output = await world.execute("GetObject", Bucket="bkt", Key="k", Range="bytes=1-2", ChecksumMode="ENABLED")
    assert await read(output) == b"el"
    assert (output.status, output.members["ContentRange"]) == (206, "bytes 1-2/5")
    assert not [name for name in output.members if name.startswith("Checksum")]


@pytest.mark.parametrize(
    ("asked", "status", "body"),
    [
        ("bytes=3-99", 206, b"lo"),
        ("bytes=2-", 206, b"llo"),
        ("bytes=-2", 206, b"lo"),
        ("bytes=-99", 206, b"hello"),
        ("bytes=invalid", 200, b"hello"),
        ("bytes=33-10", 200, b"hello"),
        ("bytes=0-1,3-4", 200, b"hello"),
        ("lines=0-1", 200, b"hello"),
    ],
)
def test_ranges_are_clamped_or_ignored(asked, status, body):
    @scenario()
    async def steps(world: World):
        await world.bucket()
        await world.put("k")
        got = await world.execute("GetObject", Bucket="bkt", Key="k", Range=asked)
        head = await world.execute("HeadObject", Bucket="bkt", Key="k", Range=asked)
        assert (got.status, head.status) == (status, status)
        assert (await read(got), head.members["ContentLength"]) == (body, len(body))

    steps()


@pytest.mark.parametrize("asked", ["bytes=5-", "bytes=-0", "bytes=9-10"])
def test_a_range_behind_the_end_is_416(asked):
    @scenario()
    async def steps(world: World):
        await world.bucket()
        await world.put("k")
        error = await world.refused("GetObject", Bucket="bkt", Key="k", Range=asked)
        assert (error.status, error.code, error.headers["content-range"]) == (416, "InvalidRange", "bytes */5")
        assert error.details == {"RangeRequested": asked, "ActualObjectSize": "5"}

    steps()


@scenario()
async def test_an_object_in_one_piece_is_its_own_first_part(world: World):
    await world.bucket()
    await world.put("k")
    output = await world.execute("HeadObject", Bucket="bkt", Key="k", PartNumber=1, ChecksumMode="ENABLED")
    assert (output.status, output.members["ContentRange"]) == (206, "bytes 0-4/5")
    assert output.members["ChecksumCRC64NVME"] == "M3eFcAZSQlc="
    assert "PartsCount" not in output.members
    beyond = await world.refused("GetObject", Bucket="bkt", Key="k", PartNumber=2)
    both = await world.refused("GetObject", Bucket="bkt", Key="k", PartNumber=1, Range="bytes=0-1")
    assert (beyond.status, beyond.details) == (416, {"PartNumberRequested": "2", "ActualPartCount": "1"})
    assert both.code == "InvalidRequest"


@scenario()
async def test_an_empty_object_is_read_whole(world: World):
    await world.bucket()
    await world.put("k", b"")
    assert await world.get("k") == b""
    assert (await world.refused("GetObject", Bucket="bkt", Key="k", Range="bytes=0-0")).code == "InvalidRange"


@pytest.mark.parametrize(
    ("conditions", "code"),
    [
        ({"IfMatch": HELLO_MD5, "IfUnmodifiedSince": NOW - timedelta(days=1)}, ""),
        ({"IfMatch": '"other"'}, "PreconditionFailed"),
        ({"IfUnmodifiedSince": NOW - timedelta(seconds=1)}, "PreconditionFailed"),
        ({"IfUnmodifiedSince": NOW}, ""),
        ({"IfNoneMatch": HELLO_MD5, "IfModifiedSince": NOW - timedelta(days=1)}, "NotModified"),
        ({"IfNoneMatch": HELLO_MD5.strip('"')}, "NotModified"),
        ({"IfNoneMatch": '"other"', "IfModifiedSince": NOW}, ""),
        ({"IfModifiedSince": NOW}, "NotModified"),
        ({"IfModifiedSince": NOW - timedelta(seconds=1)}, ""),
    ],
)
def test_read_conditions_in_the_order_of_rfc_9110(conditions, code):
    @scenario()
    async def steps(world: World):
        await world.bucket()
        await world.put("k")
        outcome = await _code(world.execute("HeadObject", Bucket="bkt", Key="k", **conditions))
        assert outcome == code

    steps()


async def _code(doing) -> str:
    try:
        await doing
    except ApiError as error:
        return error.code
    return ""


@scenario()
async def test_304_carries_etag_and_date(world: World):
    await world.bucket()
    await world.put("k")
    error = await world.refused("GetObject", Bucket="bkt", Key="k", IfNoneMatch=HELLO_MD5)
    assert error.headers == {"etag": HELLO_MD5, "last-modified": "Fri, 15 Jan 2027 08:00:00 GMT"}


@pytest.mark.parametrize(
    ("there", "conditions", "status", "code"),
    [
        (True, {"IfNoneMatch": "*"}, 412, "PreconditionFailed"),
        (False, {"IfNoneMatch": "*"}, 0, ""),
        (True, {"IfNoneMatch": HELLO_MD5}, 501, "NotImplemented"),
        (True, {"IfMatch": HELLO_MD5}, 0, ""),
        (True, {"IfMatch": '"other"'}, 412, "PreconditionFailed"),
        (False, {"IfMatch": HELLO_MD5}, 404, "NoSuchKey"),
        (True, {"IfMatch": "*"}, 501, "NotImplemented"),
        (True, {"IfMatch": HELLO_MD5, "IfNoneMatch": "*"}, 501, "NotImplemented"),
    ],
)
def test_write_conditions(there, conditions, status, code):
    @scenario()
    async def steps(world: World):
        await world.bucket()
        await world.put("k" if there else "other")
        assert await _code(world.execute("PutObject", b"new", Bucket="bkt", Key="k", **conditions)) == code

    steps()


@scenario()
async def test_a_missing_object_is_404_only_for_who_may_list(world: World):
    await world.bucket()
    listing = await world.refused("GetObject", Bucket="bkt", Key="k")
    world.denied.add("s3:ListBucket arn:aws:s3:::bkt")
    blind = await world.refused("HeadObject", Bucket="bkt", Key="k")
    assert (listing.status, listing.code, listing.details) == (404, "NoSuchKey", {"Key": "k"})
    assert (blind.status, blind.code) == (403, "AccessDenied")


@scenario()
async def test_overrides_are_for_signed_calls_in_latin_1(world: World):
    await world.bucket()
    await world.put("k")
    assert (await world.head("k", ResponseContentType="text/x"))["ContentType"] == "text/x"
    unsigned = await world.refused("GetObject", Bucket="bkt", Key="k", caller=ANONYMOUS, ResponseContentType="text/x")
    exotic = await world.refused("GetObject", Bucket="bkt", Key="k", ResponseContentDisposition="名")
    assert (unsigned.code, exotic.code) == ("InvalidRequest", "InvalidArgument")


@scenario()
async def test_tags_come_with_the_object_and_are_counted_for_who_may_read_them(world: World):
    await world.bucket()
    await world.put("k", Tagging="a=1&b=%C3%BC")
    assert (await world.head("k"))["TagCount"] == 2
    world.denied.add("s3:GetObjectTagging")
    assert "TagCount" not in await world.head("k")


@scenario()
async def test_text_beyond_ascii_in_metadata_comes_back_as_an_encoded_word(world: World):
    await world.bucket()
    await world.put("k", Metadata={"name": "ü".encode().decode("latin-1")})
    assert (await world.head("k"))["Metadata"] == {"name": "=?UTF-8?B?w7w=?="}


@pytest.mark.parametrize(
    ("members", "code"),
    [
        ({"ACL": "public-read"}, "AccessControlListNotSupported"),
        ({"ACL": "nonsense"}, "InvalidArgument"),
        ({"StorageClass": "GLACIER"}, "NotImplemented"),
        ({"StorageClass": "CHEAP"}, "InvalidStorageClass"),
        ({"Tagging": "a=1&a=2"}, "InvalidArgument"),
        ({"Metadata": {"k": "x" * 2048}}, "MetadataTooLarge"),
    ],
)
def test_what_an_object_cannot_have_is_refused(members, code):
    @scenario()
    async def steps(world: World):
        await world.bucket()
        assert (await world.refused("PutObject", b"x", Bucket="bkt", Key="k", **members)).code == code
        assert await world.keys() == []

    steps()


@scenario()
async def test_keys_have_1024_bytes(world: World):
    await world.bucket()
    await world.put("ü" * 512, ACL="bucket-owner-full-control", StorageClass="STANDARD")
    assert (await world.refused("PutObject", b"", Bucket="bkt", Key="ü" * 513)).code == "KeyTooLongError"


@pytest.mark.parametrize("nothing", ["", '""', 'W/""'])
def test_an_if_match_that_names_nothing_matches_nothing(nothing):
    @scenario()
    async def steps(world: World):
        await world.bucket()
        await world.put("k")
        put = await world.refused("PutObject", b"new", Bucket="bkt", Key="k", IfMatch=nothing)
        gone = await world.refused("DeleteObject", Bucket="bkt", Key="k", IfMatch=nothing)
        assert (put.status, gone.status) == (412, 412)
        assert await world.get("k") == b"hello"

    steps()
