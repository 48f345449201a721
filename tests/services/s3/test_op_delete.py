import pytest

from atoll.domain.errors import ApiError
from s3world import World, story


def _named(*keys: str) -> dict:
    return {"Objects": [{"Key": key} for key in keys]}


@story()
async def test_a_checksum_instead_of_content_md5_is_enough(world: World):
    await world.bucket()
    await world.put("k")
    headers = {"x-amz-checksum-crc32": "AAAAAA=="}
    answer = await world.do("DeleteObjects", Bucket="bkt", Delete=_named("k"), headers=headers)
    assert answer.members == {"Deleted": [{"Key": "k"}]}
    assert (await world.refused("DeleteObjects", Bucket="bkt", Delete=_named("k"), headers={})).code == "InvalidRequest"


@story()
async def test_every_key_has_its_own_result_in_order_and_a_missing_key_counts_as_deleted(world: World):
    await world.bucket()
    await world.put("a")
    await world.put("c")
    world.denied.add("s3:DeleteObject arn:aws:s3:::bkt/c")
    answer = await world.do("DeleteObjects", Bucket="bkt", Delete=_named("b", "a", "c"))
    assert answer.members["Deleted"] == [{"Key": "b"}, {"Key": "a"}]
    assert [(row["Key"], row["Code"]) for row in answer.members["Errors"]] == [("c", "AccessDenied")]
    assert await world.keys() == ["c"]


@story()
async def test_quiet_hides_the_successes(world: World):
    await world.bucket()
    await world.put("a")
    answer = await world.do("DeleteObjects", Bucket="bkt", Delete={**_named("a"), "Quiet": True})
    assert answer.members == {}
    assert await world.keys() == []


@story()
async def test_markers_come_and_go_with_their_ids(world: World):
    await world.bucket(versioning="Enabled")
    await world.put("k")
    (made,) = (await world.do("DeleteObjects", Bucket="bkt", Delete=_named("k"))).members["Deleted"]
    back = {"Objects": [{"Key": "k", "VersionId": made["DeleteMarkerVersionId"]}]}
    (gone,) = (await world.do("DeleteObjects", Bucket="bkt", Delete=back)).members["Deleted"]
    assert made["DeleteMarker"] is True
    assert gone == {**made, "VersionId": made["DeleteMarkerVersionId"]}
    assert await world.keys() == ["k"]


@pytest.mark.parametrize("version", ["malformed", "x" * 32])
def test_a_version_that_is_not_there_is_an_error_of_its_key(version):
    @story()
    async def told(world: World):
        await world.bucket(versioning="Enabled")
        wanted = {"Objects": [{"Key": "k", "VersionId": version}]}
        (error,) = (await world.do("DeleteObjects", Bucket="bkt", Delete=wanted)).members["Errors"]
        assert (error["Key"], error["VersionId"], error["Code"]) == ("k", version, "NoSuchVersion")

    told()


@story()
async def test_a_version_needs_its_own_permission(world: World):
    await world.bucket(versioning="Enabled")
    version = (await world.put("k"))["VersionId"]
    world.denied.add("s3:DeleteObjectVersion")
    wanted = {"Objects": [{"Key": "k", "VersionId": version}]}
    (error,) = (await world.do("DeleteObjects", Bucket="bkt", Delete=wanted)).members["Errors"]
    assert error["Code"] == "AccessDenied"


@story()
async def test_an_etag_is_a_condition_and_what_directory_buckets_ask_is_refused(world: World):
    await world.bucket()
    await world.put("a")
    wanted = {"Objects": [{"Key": "a", "ETag": '"other"'}, {"Key": "a", "Size": 5}]}
    errors = (await world.do("DeleteObjects", Bucket="bkt", Delete=wanted)).members["Errors"]
    assert [row["Code"] for row in errors] == ["PreconditionFailed", "NotImplemented"]


@story()
async def test_one_to_a_thousand_keys(world: World):
    await world.bucket()
    many = _named(*(f"{n}" for n in range(1000)))
    assert len((await world.do("DeleteObjects", Bucket="bkt", Delete=many)).members["Deleted"]) == 1000
    over = await world.refused("DeleteObjects", Bucket="bkt", Delete=_named(*(f"{n}" for n in range(1001))))
    none = await world.refused("DeleteObjects", Bucket="bkt", Delete={"Objects": []})
    assert (over.code, none.code) == ("MalformedXML", "MalformedXML")
    with pytest.raises(ApiError):
        await world.do("DeleteObjects", Bucket="nowhere", Delete=_named("k"))
