import pytest

from atoll.domain.errors import ApiError
from s3world import World, scenario


def _named(*keys: str) -> dict:
    return {"Objects": [{"Key": key} for key in keys]}


@scenario()
async def test_a_checksum_instead_of_content_md5_is_enough(world: World):
    await world.bucket()
    await world.put("k")
    headers = {"x-amz-checksum-crc32": "AAAAAA=="}
    output = await world.execute("DeleteObjects", Bucket="bkt", Delete=_named("k"), headers=headers)
    assert output.members == {"Deleted": [{"Key": "k"}]}
    assert (await world.refused("DeleteObjects", Bucket="bkt", Delete=_named("k"), headers={})).code == "InvalidRequest"


@scenario()
async def test_every_key_has_its_own_result_in_order_and_a_missing_key_counts_as_deleted(world: World):
    await world.bucket()
    await world.put("a")
    await world.put("c")
    world.denied.add("s3:DeleteObject arn:aws:s3:::bkt/c")
    output = await world.execute("DeleteObjects", Bucket="bkt", Delete=_named("b", "a", "c"))
    assert output.members["Deleted"] == [{"Key": "b"}, {"Key": "a"}]
    assert [(row["Key"], row["Code"]) for row in output.members["Errors"]] == [("c", "AccessDenied")]
    assert await world.keys() == ["c"]


@scenario()
async def test_quiet_hides_the_successes(world: World):
    await world.bucket()
    await world.put("a")
    output = await world.execute("DeleteObjects", Bucket="bkt", Delete={**_named("a"), "Quiet": True})
    assert output.members == {}
    assert await world.keys() == []


@scenario()
async def test_markers_come_and_go_with_their_ids(world: World):
    await world.bucket(versioning="Enabled")
    await world.put("k")
    (made,) = (await world.execute("DeleteObjects", Bucket="bkt", Delete=_named("k"))).members["Deleted"]
    back = {"Objects": [{"Key": "k", "VersionId": made["DeleteMarkerVersionId"]}]}
    (gone,) = (await world.execute("DeleteObjects", Bucket="bkt", Delete=back)).members["Deleted"]
    assert made["DeleteMarker"] is True
    assert gone == {**made, "VersionId": made["DeleteMarkerVersionId"]}
    assert await world.keys() == ["k"]


@scenario()
async def test_a_version_that_is_not_there_counts_as_deleted(world: World):
    await world.bucket(versioning="Enabled")
    version = (await world.put("k"))["VersionId"]
    never, gone = {"Key": "k", "VersionId": "x" * 32}, {"Key": "k", "VersionId": version}
    first = await world.execute("DeleteObjects", Bucket="bkt", Delete={"Objects": [gone, never, gone]})
    again = await world.execute("DeleteObjects", Bucket="bkt", Delete={"Objects": [gone, {"Key": "no", "VersionId": "null"}]})
    assert first.members == {"Deleted": [gone, never, gone]}
    assert again.members == {"Deleted": [gone, {"Key": "no", "VersionId": "null"}]}


@scenario()
async def test_deleting_a_version_again_succeeds_and_names_it(world: World):
    await world.bucket(versioning="Enabled")
    version = (await world.put("k"))["VersionId"]
    answers = [await world.execute("DeleteObject", Bucket="bkt", Key="k", VersionId=version) for _ in range(2)]
    never = await world.execute("DeleteObject", Bucket="bkt", Key="k", VersionId="x" * 32)
    assert [(output.status, output.members) for output in answers] == [(204, {"VersionId": version})] * 2
    assert (never.status, never.members) == (204, {"VersionId": "x" * 32})


@scenario()
async def test_an_id_that_no_version_can_have_is_refused(world: World):
    await world.bucket(versioning="Enabled")
    alone = await world.refused("DeleteObject", Bucket="bkt", Key="k", VersionId="malformed")
    wanted = {"Objects": [{"Key": "k", "VersionId": "malformed"}]}
    (error,) = (await world.execute("DeleteObjects", Bucket="bkt", Delete=wanted)).members["Errors"]
    assert (alone.code, alone.details["ArgumentName"]) == ("InvalidArgument", "versionId")
    assert (error["Key"], error["VersionId"], error["Code"]) == ("k", "malformed", "NoSuchVersion")


@scenario(compat="strict")
async def test_where_compat_is_strict_a_bypass_of_governance_without_object_lock_is_refused(world: World):
    await world.bucket()
    await world.put("k")
    one = await world.refused("DeleteObject", Bucket="bkt", Key="k", BypassGovernanceRetention=True)
    many = await world.refused("DeleteObjects", Bucket="bkt", Delete=_named("k"), BypassGovernanceRetention=True)
    for error in (one, many):
        assert (error.code, error.status) == ("InvalidArgument", 400)
        assert error.message == "x-amz-bypass-governance-retention is only applicable to Object Lock enabled buckets."
    assert await world.keys() == ["k"]
    await world.execute("DeleteObject", Bucket="bkt", Key="k", BypassGovernanceRetention=False)
    assert await world.keys() == []


@scenario(compat="lenient")
async def test_where_compat_is_lenient_a_bypass_of_governance_has_no_effect(world: World):
    await world.bucket()
    await world.put("a")
    await world.put("b")
    assert (await world.execute("DeleteObject", Bucket="bkt", Key="a", BypassGovernanceRetention=True)).status == 204
    output = await world.execute("DeleteObjects", Bucket="bkt", Delete=_named("b"), BypassGovernanceRetention=True)
    assert output.members == {"Deleted": [{"Key": "b"}]}


@scenario(compat="lenient")
async def test_a_bypass_needs_its_permission_for_every_key(world: World):
    await world.bucket()
    await world.put("a")
    await world.put("b")
    world.denied.add("s3:BypassGovernanceRetention arn:aws:s3:::bkt/a")
    output = await world.execute("DeleteObjects", Bucket="bkt", Delete=_named("a", "b"), BypassGovernanceRetention=True)
    assert output.members["Deleted"] == [{"Key": "b"}]
    assert [(row["Key"], row["Code"]) for row in output.members["Errors"]] == [("a", "AccessDenied")]
    assert await world.keys() == ["a"]


@scenario()
async def test_a_version_needs_its_own_permission(world: World):
    await world.bucket(versioning="Enabled")
    version = (await world.put("k"))["VersionId"]
    world.denied.add("s3:DeleteObjectVersion")
    wanted = {"Objects": [{"Key": "k", "VersionId": version}]}
    (error,) = (await world.execute("DeleteObjects", Bucket="bkt", Delete=wanted)).members["Errors"]
    assert error["Code"] == "AccessDenied"


@scenario()
async def test_an_etag_is_a_condition_and_what_directory_buckets_ask_is_refused(world: World):
    await world.bucket()
    await world.put("a")
    wanted = {"Objects": [{"Key": "a", "ETag": '"other"'}, {"Key": "a", "Size": 5}]}
    errors = (await world.execute("DeleteObjects", Bucket="bkt", Delete=wanted)).members["Errors"]
    assert [row["Code"] for row in errors] == ["PreconditionFailed", "NotImplemented"]


@scenario()
async def test_one_to_a_thousand_keys(world: World):
    await world.bucket()
    many = _named(*(f"{n}" for n in range(1000)))
    assert len((await world.execute("DeleteObjects", Bucket="bkt", Delete=many)).members["Deleted"]) == 1000
    over = await world.refused("DeleteObjects", Bucket="bkt", Delete=_named(*(f"{n}" for n in range(1001))))
    none = await world.refused("DeleteObjects", Bucket="bkt", Delete={"Objects": []})
    assert (over.code, none.code) == ("MalformedXML", "MalformedXML")
    with pytest.raises(ApiError):
        await world.execute("DeleteObjects", Bucket="nowhere", Delete=_named("k"))
