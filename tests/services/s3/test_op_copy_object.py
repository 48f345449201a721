from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest

from s3world import World, scenario

NOW = datetime.fromtimestamp(1_800_000_000, UTC)
HELLO_MD5 = '"5d41402abc4b2a76b9719d911017c592"'


async def _source(world: World, versioning: str = "") -> str:
    await world.bucket(versioning=versioning)
    put = await world.put("src", ContentType="text/a", Metadata={"one": "1", "two": "2"}, Tagging="t=1")
    return put.get("VersionId", "")


@scenario()
async def test_a_copy_keeps_headers_metadata_and_tags(world: World):
    await _source(world)
    output = await world.execute("CopyObject", Bucket="bkt", Key="dst", CopySource="/bkt/src", ContentType="text/ignored")
    head = await world.head("dst")
    assert output.members["CopyObjectResult"]["ETag"] == HELLO_MD5
    assert (head["ContentType"], head["Metadata"], head["TagCount"]) == ("text/a", {"one": "1", "two": "2"}, 1)
    assert await world.get("dst") == b"hello"


@scenario()
async def test_replace_replaces_everything_and_does_not_merge(world: World):
    await _source(world)
    await world.execute("CopyObject", Bucket="bkt", Key="dst", CopySource="bkt/src", MetadataDirective="REPLACE", Metadata={"x": "y"})
    head = await world.head("dst")
    assert (head["Metadata"], head["ContentType"]) == ({"x": "y"}, "binary/octet-stream")


@scenario()
async def test_tags_stay_in_versioned_buckets_and_replaced_by_nothing_are_none(world: World):
    await _source(world, "Enabled")
    await world.execute("CopyObject", Bucket="bkt", Key="kept", CopySource="bkt/src")
    await world.execute("CopyObject", Bucket="bkt", Key="bare", CopySource="bkt/src", TaggingDirective="REPLACE")
    await world.execute("CopyObject", Bucket="bkt", Key="new", CopySource="bkt/src", TaggingDirective="REPLACE", Tagging="n=2")
    kept, bare, new = [(await world.execute("GetObjectTagging", Bucket="bkt", Key=key)).members for key in ("kept", "bare", "new")]
    assert kept["TagSet"] == [{"Key": "t", "Value": "1"}]
    assert bare["TagSet"] == []
    assert new["TagSet"] == [{"Key": "n", "Value": "2"}]


@scenario()
async def test_a_copy_onto_itself_must_change_something(world: World):
    await _source(world)
    same = await world.refused("CopyObject", Bucket="bkt", Key="src", CopySource="bkt/src", ACL="private")
    await world.execute(
        "CopyObject", Bucket="bkt", Key="src", CopySource="bkt/src", MetadataDirective="REPLACE", ContentDisposition="inline"
    )
    assert same.code == "InvalidRequest"
    assert (await world.head("src"))["ContentDisposition"] == "inline"
    assert await world.get("src") == b"hello"


@scenario()
async def test_an_older_version_may_be_copied_onto_its_key(world: World):
    first = await _source(world, "Enabled")
    await world.put("src", b"newer")
    output = await world.execute("CopyObject", Bucket="bkt", Key="src", CopySource=f"bkt/src?versionId={first}")
    assert await world.get("src") == b"hello"
    assert output.members["CopySourceVersionId"] == first
    assert output.members["VersionId"] != first


@scenario()
async def test_sources_that_are_not_there(world: World):
    await _source(world, "Enabled")
    marker = (await world.execute("DeleteObject", Bucket="bkt", Key="src")).members["VersionId"]
    hidden = await world.refused("CopyObject", Bucket="bkt", Key="dst", CopySource="bkt/src")
    named = await world.refused("CopyObject", Bucket="bkt", Key="dst", CopySource=f"bkt/src?versionId={marker}")
    absent = await world.refused("CopyObject", Bucket="bkt", Key="dst", CopySource="bkt/none")
    nowhere = await world.refused("CopyObject", Bucket="bkt", Key="dst", CopySource="none/none")
    assert [error.code for error in (hidden, named, absent, nowhere)] == [
        "NoSuchKey", "InvalidRequest", "NoSuchKey", "NoSuchBucket",
    ]  # fmt: skip


@scenario()
async def test_the_source_needs_its_own_permission(world: World):
    version = await _source(world, "Enabled")
    world.denied.add("s3:GetObjectVersion arn:aws:s3:::bkt/src")
    await world.execute("CopyObject", Bucket="bkt", Key="dst", CopySource="bkt/src")
    denied = await world.refused("CopyObject", Bucket="bkt", Key="dst", CopySource=f"bkt/src?versionId={version}")
    world.denied.add("s3:GetObjectTagging arn:aws:s3:::bkt/src")
    tags = await world.refused("CopyObject", Bucket="bkt", Key="dst", CopySource="bkt/src")
    assert (denied.code, tags.code) == ("AccessDenied", "AccessDenied")


@pytest.mark.parametrize(
    ("terms", "condition"),
    [
        ({"CopySourceIfMatch": '"other"'}, "x-amz-copy-source-If-Match"),
        ({"CopySourceIfNoneMatch": HELLO_MD5}, "x-amz-copy-source-If-None-Match"),
        ({"CopySourceIfModifiedSince": NOW}, "x-amz-copy-source-If-Modified-Since"),
        ({"CopySourceIfUnmodifiedSince": NOW - timedelta(days=1)}, "x-amz-copy-source-If-Unmodified-Since"),
    ],
)
def test_conditions_of_the_source_fail_with_412_and_their_name(terms, condition):
    @scenario()
    async def steps(world: World):
        await _source(world)
        error = await world.refused("CopyObject", Bucket="bkt", Key="dst", CopySource="bkt/src", **terms)
        assert (error.status, error.details["Condition"]) == (412, condition)

    steps()


@scenario()
async def test_a_true_if_match_hides_the_date_and_a_date_to_come_is_ignored(world: World):
    await _source(world)
    dates = {"CopySourceIfMatch": HELLO_MD5, "CopySourceIfUnmodifiedSince": NOW - timedelta(days=1)}
    await world.execute("CopyObject", Bucket="bkt", Key="a", CopySource="bkt/src", **dates)
    await world.execute("CopyObject", Bucket="bkt", Key="b", CopySource="bkt/src", CopySourceIfModifiedSince=NOW + timedelta(days=1))
    assert await world.keys() == ["a", "b", "src"]


@scenario()
async def test_a_copy_keeps_the_algorithm_unless_another_is_asked_for(world: World):
    await world.bucket()
    await world.execute("PutObject", b"hello", Bucket="bkt", Key="src", headers={"x-amz-checksum-sha1": "qvTGHdzF6KLavt4PO0gs2a6pQ00="})
    kept = await world.execute("CopyObject", Bucket="bkt", Key="a", CopySource="bkt/src")
    asked = await world.execute("CopyObject", Bucket="bkt", Key="b", CopySource="bkt/src", ChecksumAlgorithm="CRC32C")
    assert kept.members["CopyObjectResult"]["ChecksumSHA1"] == "qvTGHdzF6KLavt4PO0gs2a6pQ00="
    assert asked.members["CopyObjectResult"]["ChecksumCRC32C"] == "mnG7TA=="


@scenario()
async def test_a_source_in_another_region_or_behind_an_access_point_is_refused_by_name(world: World):
    await world.bucket()
    await world.region("eu-west-1").bucket("far")
    far = await world.refused("CopyObject", Bucket="bkt", Key="k", CopySource="far/k")
    arn = "arn%3Aaws%3As3%3A%3A111122223333%3Aaccesspoint/m.mrap/object/k"
    point = await world.refused("CopyObject", Bucket="bkt", Key="k", CopySource=arn)
    assert (far.code, point.code) == ("NotImplemented", "NotImplemented")
    assert "eu-west-1" in far.message


@scenario()
async def test_the_destination_can_have_conditions(world: World):
    await _source(world)
    await world.put("dst")
    error = await world.refused("CopyObject", Bucket="bkt", Key="dst", CopySource="bkt/src", IfNoneMatch="*")
    odd = await world.refused("CopyObject", Bucket="bkt", Key="dst", CopySource="bkt/src", MetadataDirective="MERGE")
    assert (error.code, odd.code) == ("PreconditionFailed", "InvalidArgument")


@pytest.mark.parametrize("key", ["what?versionId=x", "a b+c", "50%25", "a//b", "/lead", "dir/", "ü"])
def test_the_name_of_a_source_is_decoded_once(key):
    @scenario()
    async def steps(world: World):
        await world.bucket()
        await world.put(key)
        await world.execute("CopyObject", Bucket="bkt", Key="dst", CopySource=f"/bkt/{quote(key)}")
        assert await world.get("dst") == b"hello"

    steps()


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("bkt", "InvalidArgument"),
        ("bkt/", "InvalidArgument"),
        ("/", "InvalidArgument"),
        ("bkt/src?versionId=", "InvalidArgument"),
        ("bkt/src?versionId=short", "InvalidArgument"),
        (f"bkt/src?versionId={'x' * 32}", "NoSuchVersion"),
    ],
)
def test_sources_that_cannot_be(source, code):
    @scenario()
    async def steps(world: World):
        await _source(world, "Enabled")
        assert (await world.refused("CopyObject", Bucket="bkt", Key="dst", CopySource=source)).code == code
        assert await world.keys() == ["src"]

    steps()


@pytest.mark.parametrize(
    ("members", "status"),
    [
        ({"IfNoneMatch": "*"}, 412),
        ({"IfNoneMatch": '"other"'}, 501),
        ({"IfMatch": '"other"'}, 412),
        ({"IfMatch": "*"}, 501),
        ({"TaggingDirective": "MERGE"}, 400),
        ({"StorageClass": "CHEAP"}, 400),
        ({"ChecksumAlgorithm": "ROT13"}, 400),
        ({"ExpectedSourceBucketOwner": "999999999999"}, 403),
        ({"ExpectedBucketOwner": "999999999999"}, 403),
    ],
)
def test_a_refused_copy_leaves_the_destination(members, status):
    @scenario()
    async def steps(world: World):
        await _source(world)
        await world.put("dst", b"old")
        error = await world.refused("CopyObject", Bucket="bkt", Key="dst", CopySource="bkt/src", **members)
        assert error.status == status
        assert await world.get("dst") == b"old"

    steps()


@scenario()
async def test_a_destination_with_the_expected_etag_is_overwritten_and_a_missing_one_is_404(world: World):
    await _source(world)
    etag = (await world.put("dst", b"old"))["ETag"]
    await world.execute("CopyObject", Bucket="bkt", Key="dst", CopySource="bkt/src", IfMatch=etag)
    absent = await world.refused("CopyObject", Bucket="bkt", Key="none", CopySource="bkt/src", IfMatch=etag)
    assert await world.get("dst") == b"hello"
    assert (absent.status, absent.code) == (404, "NoSuchKey")


@scenario()
async def test_a_true_none_match_hides_the_date_of_the_source(world: World):
    await _source(world)
    terms = {"CopySourceIfNoneMatch": '"other"', "CopySourceIfModifiedSince": NOW}
    await world.execute("CopyObject", Bucket="bkt", Key="dst", CopySource="bkt/src", **terms)
    assert await world.get("dst") == b"hello"


@scenario()
async def test_a_copy_has_its_own_date_and_the_result_tells_it(world: World):
    await _source(world)
    world.clock.seconds += 60
    output = await world.execute("CopyObject", Bucket="bkt", Key="dst", CopySource="bkt/src")
    result = output.members["CopyObjectResult"]
    assert result["LastModified"].timestamp() == world.clock.seconds
    assert (await world.head("dst"))["LastModified"] == result["LastModified"]
    assert "VersionId" not in output.members


@scenario()
async def test_a_copy_between_buckets_shows_only_the_ids_that_each_of_them_has(world: World):
    first = await _source(world, "Enabled")
    await world.bucket("plain")
    out = await world.execute("CopyObject", Bucket="plain", Key="k", CopySource="bkt/src")
    back = await world.execute("CopyObject", Bucket="bkt", Key="back", CopySource="plain/k")
    assert (out.members["CopySourceVersionId"], "VersionId" in out.members) == (first, False)
    assert ("CopySourceVersionId" in back.members, len(back.members["VersionId"])) == (False, 32)
