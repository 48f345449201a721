import pytest

from atoll.rules.owners import canonical_id
from s3world import World, story

TAGS = {"TagSet": [{"Key": "a", "Value": "1"}]}


async def _tags(world: World, **members) -> dict:
    return (await world.do("GetObjectTagging", Bucket="bkt", Key="k", **members)).members


@story()
async def test_tags_are_put_replaced_and_deleted(world: World):
    await world.bucket()
    await world.put("k", Tagging="old=1")
    await world.do("PutObjectTagging", Bucket="bkt", Key="k", Tagging=TAGS)
    put = await _tags(world)
    gone = await world.do("DeleteObjectTagging", Bucket="bkt", Key="k")
    assert put == TAGS
    assert gone.status == 204
    assert await _tags(world) == {"TagSet": []}


@story()
async def test_each_version_has_its_own_tags(world: World):
    await world.bucket(versioning="Enabled")
    first = (await world.put("k"))["VersionId"]
    second = (await world.put("k"))["VersionId"]
    answer = await world.do("PutObjectTagging", Bucket="bkt", Key="k", VersionId=first, Tagging=TAGS)
    assert answer.members == {"VersionId": first}
    assert (await _tags(world, VersionId=first))["TagSet"] == TAGS["TagSet"]
    assert await _tags(world) == {"TagSet": [], "VersionId": second}


@story()
async def test_a_marker_has_no_tags(world: World):
    await world.bucket(versioning="Enabled")
    marker = (await world.do("DeleteObject", Bucket="bkt", Key="k")).members["VersionId"]
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
    @story()
    async def told(world: World):
        await world.bucket()
        await world.put("k")
        error = await world.refused("PutObjectTagging", Bucket="bkt", Key="k", Tagging={"TagSet": tag_set})
        assert error.code == "InvalidTag"

    told()


@story()
async def test_a_change_of_tags_moves_their_time_and_keeps_the_object(world: World):
    await world.bucket()
    await world.put("k")
    before = await world.head("k")
    await world.do("PutObjectTagging", Bucket="bkt", Key="k", Tagging=TAGS)
    after = await world.head("k")
    assert (after["ETag"], after["LastModified"]) == (before["ETag"], before["LastModified"])
    assert await world.get("k") == b"hello"


@story()
async def test_the_owner_has_full_control_of_an_object_and_nobody_else(world: World):
    await world.bucket()
    await world.put("k")
    answer = (await world.do("GetObjectAcl", Bucket="bkt", Key="k")).members
    (grant,) = answer["Grants"]
    owner = canonical_id("111122223333")
    assert answer["Owner"] == {"ID": owner}
    assert grant == {"Grantee": {"ID": owner, "Type": "CanonicalUser"}, "Permission": "FULL_CONTROL"}


@story()
async def test_only_lists_that_say_so_are_taken(world: World):
    await world.bucket()
    await world.put("k")
    named = await world.do("GetObjectAcl", Bucket="bkt", Key="k")
    await world.do("PutObjectAcl", Bucket="bkt", Key="k", ACL="private")
    await world.do("PutObjectAcl", Bucket="bkt", Key="k", AccessControlPolicy=named.members)
    public = await world.refused("PutObjectAcl", Bucket="bkt", Key="k", ACL="public-read")
    listed = await world.refused("PutObjectAcl", Bucket="bkt", Key="k", AccessControlPolicy={"Grants": []})
    silent = await world.refused("PutObjectAcl", Bucket="bkt", Key="k")
    assert (public.code, listed.code) == ("AccessControlListNotSupported",) * 2
    assert (silent.code, silent.details) == ("MissingSecurityHeader", {"MissingHeaderName": "x-amz-acl"})


@story()
async def test_an_object_has_ten_tags_and_a_refused_set_changes_none(world: World):
    await world.bucket()
    await world.put("k")
    ten = [{"Key": f"k{n}", "Value": ""} for n in range(10)]
    await world.do("PutObjectTagging", Bucket="bkt", Key="k", Tagging={"TagSet": ten})
    eleven = [*ten, {"Key": "k10", "Value": ""}]
    over = await world.refused("PutObjectTagging", Bucket="bkt", Key="k", Tagging={"TagSet": eleven})
    half = await world.refused("PutObjectTagging", Bucket="bkt", Key="k", Tagging={"TagSet": [{"Key": "a"}]})
    assert (over.status, over.code, half.code) == (400, "BadRequest", "MalformedXML")
    assert await _tags(world) == {"TagSet": ten}


@pytest.mark.parametrize("tag", [{"Key": "k" * 128, "Value": "v" * 256}, {"Key": "ключ é", "Value": "+-=._:/@ 1"}])
def test_the_longest_tags_and_letters_of_any_script_are_kept(tag):
    @story()
    async def told(world: World):
        await world.bucket()
        await world.put("k")
        await world.do("PutObjectTagging", Bucket="bkt", Key="k", Tagging={"TagSet": [tag]})
        assert (await _tags(world))["TagSet"] == [tag]

    told()


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
    @story()
    async def told(world: World):
        await world.bucket()
        await world.put("k")
        error = await world.refused("PutObjectTagging", Bucket="bkt", Key="k", Tagging={"TagSet": [tag]})
        assert (error.code, error.details["TagKey"]) == ("InvalidTag", tag["Key"])
        assert (await _tags(world))["TagSet"] == []

    told()


@story()
async def test_tags_of_what_is_not_there(world: World):
    await world.bucket(versioning="Enabled")
    await world.put("k")
    for operation in ("GetObjectTagging", "DeleteObjectTagging"):
        absent = await world.refused(operation, Bucket="bkt", Key="none")
        version = await world.refused(operation, Bucket="bkt", Key="k", VersionId="x" * 32)
        nowhere = await world.refused(operation, Bucket="nope", Key="k")
        assert [error.code for error in (absent, version, nowhere)] == ["NoSuchKey", "NoSuchVersion", "NoSuchBucket"]


@story()
async def test_deleting_the_tags_of_one_version_leaves_those_of_the_other(world: World):
    await world.bucket(versioning="Enabled")
    first = (await world.put("k", Tagging="a=1"))["VersionId"]
    await world.put("k", Tagging="a=1")
    gone = await world.do("DeleteObjectTagging", Bucket="bkt", Key="k", VersionId=first)
    assert gone.members == {"VersionId": first}
    assert (await _tags(world, VersionId=first))["TagSet"] == []
    assert (await _tags(world))["TagSet"] == TAGS["TagSet"]
