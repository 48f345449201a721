import pytest

from atoll.rules.access_control_lists import canonical_id
from s3world import World, scenario

TAGS = {"TagSet": [{"Key": "a", "Value": "1"}]}


async def _tags(world: World, **members) -> dict:
    return (await world.execute("GetObjectTagging", Bucket="bkt", Key="k", **members)).members


@scenario()
async def test_tags_are_put_replaced_and_deleted(world: World):
    await world.bucket()
    await world.put("k", Tagging="old=1")
    await world.execute("PutObjectTagging", Bucket="bkt", Key="k", Tagging=TAGS)
    put = await _tags(world)
    gone = await world.execute("DeleteObjectTagging", Bucket="bkt", Key="k")
    assert put == TAGS
    assert gone.status == 204
    assert await _tags(world) == {"TagSet": []}


@scenario()
async def test_each_version_has_its_own_tags(world: World):
    await world.bucket(versioning="Enabled")
    first = (await world.put("k"))["VersionId"]
    second = (await world.put("k"))["VersionId"]
    output = await world.execute("PutObjectTagging", Bucket="bkt", Key="k", VersionId=first, Tagging=TAGS)
    assert output.members == {"VersionId": first}
    assert (await _tags(world, VersionId=first))["TagSet"] == TAGS["TagSet"]
    assert await _tags(world) == {"TagSet": [], "VersionId": second}


@scenario()
async def test_a_marker_has_no_tags(world: World):
    await world.bucket(versioning="Enabled")
    marker = (await world.execute("DeleteObject", Bucket="bkt", Key="k")).members["VersionId"]
    error = await world.refused("PutObjectTagging", Bucket="bkt", Key="k", VersionId=marker, Tagging=TAGS)
    assert (error.status, error.code) == (405, "MethodNotAllowed")
    assert (await world.refused("PutObjectTagging", Bucket="bkt", Key="k", Tagging=TAGS)).code == "NoSuchKey"
    assert (await world.refused("GetObjectAcl", Bucket="bkt", Key="k")).status == 404


@pytest.mark.parametrize(
    "tag_set",
    [
        [{"Key": "a", "Value": "1"}, {"Key": "a", "Value": "2"}],
        [{"Key": "aws:x", "Value": "1"}],
        [{"Key": "a!", "Value": "1"}],
        [{"Key": "a", "Value": "b;c"}],
    ],
)
def test_bad_tags_are_refused(tag_set):
    @scenario()
    async def steps(world: World):
        await world.bucket()
        await world.put("k")
        error = await world.refused("PutObjectTagging", Bucket="bkt", Key="k", Tagging={"TagSet": tag_set})
        assert error.code == "InvalidTag"

    steps()


@scenario()
async def test_a_change_of_tags_moves_their_time_and_keeps_the_object(world: World):
    await world.bucket()
    await world.put("k")
    before = await world.head("k")
    await world.execute("PutObjectTagging", Bucket="bkt", Key="k", Tagging=TAGS)
    after = await world.head("k")
    assert (after["ETag"], after["LastModified"]) == (before["ETag"], before["LastModified"])
    assert await world.get("k") == b"hello"


@scenario()
async def test_the_owner_has_full_control_of_an_object_and_nobody_else(world: World):
    await world.bucket()
    await world.put("k")
    output = (await world.execute("GetObjectAcl", Bucket="bkt", Key="k")).members
    (grant,) = output["Grants"]
    owner = canonical_id("111122223333")
    assert output["Owner"] == {"ID": owner}
    assert grant == {"Grantee": {"ID": owner, "Type": "CanonicalUser"}, "Permission": "FULL_CONTROL"}


@scenario()
async def test_only_lists_that_say_so_are_taken(world: World):
    await world.bucket()
    await world.put("k")
    named = await world.execute("GetObjectAcl", Bucket="bkt", Key="k")
    await world.execute("PutObjectAcl", Bucket="bkt", Key="k", ACL="private")
    await world.execute("PutObjectAcl", Bucket="bkt", Key="k", AccessControlPolicy=named.members)
    public = await world.refused("PutObjectAcl", Bucket="bkt", Key="k", ACL="public-read")
    listed = await world.refused("PutObjectAcl", Bucket="bkt", Key="k", AccessControlPolicy={"Grants": []})
    silent = await world.refused("PutObjectAcl", Bucket="bkt", Key="k")
    assert (public.code, listed.code) == ("AccessControlListNotSupported",) * 2
    assert (silent.code, silent.details) == ("MissingSecurityHeader", {"MissingHeaderName": "x-amz-acl"})


@scenario()
async def test_an_object_has_ten_tags_and_a_refused_set_changes_none(world: World):
    await world.bucket()
    await world.put("k")
    ten = [{"Key": f"k{n}", "Value": ""} for n in range(10)]
    await world.execute("PutObjectTagging", Bucket="bkt", Key="k", Tagging={"TagSet": ten})
    eleven = [*ten, {"Key": "k10", "Value": ""}]
    over = await world.refused("PutObjectTagging", Bucket="bkt", Key="k", Tagging={"TagSet": eleven})
    half = await world.refused("PutObjectTagging", Bucket="bkt", Key="k", Tagging={"TagSet": [{"Key": "a"}]})
    assert (over.status, over.code, half.code) == (400, "BadRequest", "MalformedXML")
    assert await _tags(world) == {"TagSet": ten}


@pytest.mark.parametrize("tag", [{"Key": "k" * 128, "Value": "v" * 256}, {"Key": "ключ é", "Value": "+-=._:/@ 1"}])
def test_the_longest_tags_and_letters_of_any_script_are_kept(tag):
    @scenario()
    async def steps(world: World):
        await world.bucket()
        await world.put("k")
        await world.execute("PutObjectTagging", Bucket="bkt", Key="k", Tagging={"TagSet": [tag]})
        assert (await _tags(world))["TagSet"] == [tag]

    steps()


@pytest.mark.parametrize(
    "tag",
    [
        {"Key": "k" * 129, "Value": ""},
        {"Key": "k", "Value": "v" * 257},
        {"Key": "", "Value": "v"},
        {"Key": "AWS:k", "Value": "v"},
    ],
)
def test_a_tag_that_is_too_long_or_of_the_system_is_named(tag):
    @scenario()
    async def steps(world: World):
        await world.bucket()
        await world.put("k")
        error = await world.refused("PutObjectTagging", Bucket="bkt", Key="k", Tagging={"TagSet": [tag]})
        assert (error.code, error.details["TagKey"]) == ("InvalidTag", tag["Key"])
        assert (await _tags(world))["TagSet"] == []

    steps()


@scenario()
async def test_tags_of_what_is_not_there(world: World):
    await world.bucket(versioning="Enabled")
    await world.put("k")
    for operation in ("GetObjectTagging", "DeleteObjectTagging"):
        absent = await world.refused(operation, Bucket="bkt", Key="none")
        version = await world.refused(operation, Bucket="bkt", Key="k", VersionId="x" * 32)
        nowhere = await world.refused(operation, Bucket="nope", Key="k")
        assert [error.code for error in (absent, version, nowhere)] == ["NoSuchKey", "NoSuchVersion", "NoSuchBucket"]


@scenario()
async def test_deleting_the_tags_of_one_version_leaves_those_of_the_other(world: World):
    await world.bucket(versioning="Enabled")
    first = (await world.put("k", Tagging="a=1"))["VersionId"]
    await world.put("k", Tagging="a=1")
    gone = await world.execute("DeleteObjectTagging", Bucket="bkt", Key="k", VersionId=first)
    assert gone.members == {"VersionId": first}
    assert (await _tags(world, VersionId=first))["TagSet"] == []
    assert (await _tags(world))["TagSet"] == TAGS["TagSet"]
