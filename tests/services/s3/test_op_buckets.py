import asyncio

import pytest

from atoll.domain.caller import ForwardedContext
from atoll.domain.errors import ApiError
from atoll.domain.objects import Key
from atoll.services.s3.records import BUCKETS, BucketRecord
from s3world import World, scenario


@scenario()
async def test_a_new_bucket_has_a_location_no_lists_and_no_public_access(world: World):
    output = await world.execute("CreateBucket", Bucket="bkt", ACL="private")
    record = world.deps.bucket_record("bkt")
    assert output.members["Location"] == "/bkt"
    assert (record.region, record.ownership, record.versioning) == ("us-east-1", "BucketOwnerEnforced", "")
    assert record.public_access_block.block_public_policy


@scenario()
async def test_us_east_1_creates_buckets_in_every_region(world: World):
    await world.execute("CreateBucket", Bucket="far", CreateBucketConfiguration={"LocationConstraint": "EU"})
    assert world.deps.bucket_record("far").region == "eu-west-1"


@scenario()
async def test_us_east_1_takes_neither_its_own_name_nor_an_unknown_one_as_constraint(world: World):
    own = await world.refused("CreateBucket", Bucket="bkt", CreateBucketConfiguration={"LocationConstraint": "us-east-1"})
    unknown = await world.refused("CreateBucket", Bucket="bkt", CreateBucketConfiguration={"LocationConstraint": "mars-1"})
    assert (own.code, unknown.code) == ("InvalidLocationConstraint", "InvalidLocationConstraint")


@scenario(region="eu-west-1")
async def test_other_regions_want_their_own_name_as_constraint(world: World):
    missing = await world.refused("CreateBucket", Bucket="bkt")
    other = await world.refused("CreateBucket", Bucket="bkt", CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    await world.bucket()
    assert (missing.code, other.code) == ("IllegalLocationConstraintException",) * 2
    assert world.deps.bucket_record("bkt").region == "eu-west-1"


@scenario()
async def test_a_second_create_by_the_owner_in_us_east_1_is_200_but_not_with_tags(world: World):
    await world.bucket()
    await world.bucket()
    tagged = {"Tags": [{"Key": "a", "Value": "b"}]}
    error = await world.refused("CreateBucket", Bucket="bkt", CreateBucketConfiguration=tagged)
    assert error.code == "BucketAlreadyOwnedByYou"


@scenario(region="eu-west-1")
async def test_a_second_create_elsewhere_is_409_in_a_strict_world(world: World):
    await world.bucket()
    error = await world.refused("CreateBucket", Bucket="bkt", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    assert (error.status, error.code) == (409, "BucketAlreadyOwnedByYou")


@scenario(region="eu-west-1", compat="lenient")
async def test_rclone_may_create_its_bucket_before_every_copy_in_a_lenient_world(world: World):
    await world.bucket()
    assert (await world.execute("CreateBucket", Bucket="bkt")).members["Location"] == "/bkt"


@scenario(compat="lenient")
async def test_a_second_create_from_another_region_is_a_conflict(world: World):
    await world.bucket()
    error = await world.region("eu-west-1").refused("CreateBucket", Bucket="bkt")
    assert error.code == "BucketAlreadyOwnedByYou"


@scenario()
async def test_a_name_that_another_account_owns_is_taken(world: World):
    record = BucketRecord(name="theirs", region="us-east-1", account="999999999999", created_ms=0)
    await world.state.transact(lambda transaction: transaction.put(BUCKETS, "theirs", record))
    assert (await world.refused("CreateBucket", Bucket="theirs")).code == "BucketAlreadyExists"


@scenario()
async def test_bad_names_lists_and_locks_are_refused_by_name(world: World):
    assert (await world.refused("CreateBucket", Bucket="UPPER")).code == "InvalidBucketName"
    public = await world.refused("CreateBucket", Bucket="bkt", ACL="public-read")
    assert public.code == "InvalidBucketAclWithObjectOwnership"
    assert (await world.refused("CreateBucket", Bucket="bkt", ObjectOwnership="Nobody")).code == "InvalidArgument"
    assert (await world.refused("CreateBucket", Bucket="bkt", ObjectOwnership="ObjectWriter")).code == "NotImplemented"
    assert (await world.refused("CreateBucket", Bucket="bkt", ObjectLockEnabledForBucket=True)).code == "NotImplemented"
    odd = await world.refused("CreateBucket", Bucket="bkt", CreateBucketConfiguration={"Bucket": {"Type": "Directory"}})
    assert odd.code == "NotImplemented"


@scenario()
async def test_tags_can_be_given_at_birth(world: World):
    tagged = {"Tags": [{"Key": "team", "Value": "sea"}]}
    await world.execute("CreateBucket", Bucket="bkt", CreateBucketConfiguration=tagged)
    output = await world.execute("GetBucketTagging", Bucket="bkt")
    assert output.members["TagSet"] == [{"Key": "team", "Value": "sea"}]


@scenario()
async def test_head_tells_the_region(world: World):
    await world.bucket()
    assert (await world.execute("HeadBucket", Bucket="bkt")).members["BucketRegion"] == "us-east-1"
    assert (await world.refused("HeadBucket", Bucket="none")).code == "NoSuchBucket"


@scenario()
async def test_head_through_an_access_point_does_not_tell_the_region(world: World):
    await world.bucket()
    forwarded = ForwardedContext("127.0.0.1", False, access_point="arn:aws:s3::111122223333:accesspoint/m.mrap", bucket="bkt")
    assert "BucketRegion" not in (await world.execute("HeadBucket", Bucket="bkt", forwarded=forwarded)).members


@scenario()
async def test_a_bucket_of_another_region_is_a_301_that_names_its_region(world: World):
    await world.region("eu-west-1").bucket("far")
    error = await world.refused("ListObjectsV2", Bucket="far")
    assert (error.status, error.code) == (301, "PermanentRedirect")
    assert error.headers == {"x-amz-bucket-region": "eu-west-1"}
    assert error.details == {"Endpoint": "far.s3.eu-west-1.amazonaws.com", "Bucket": "far"}


@scenario()
async def test_the_expected_owner_is_checked(world: World):
    await world.bucket()
    await world.execute("HeadBucket", Bucket="bkt", ExpectedBucketOwner="111122223333")
    other = await world.refused("HeadBucket", Bucket="bkt", ExpectedBucketOwner="999999999999")
    broken = await world.refused("HeadBucket", Bucket="bkt", ExpectedBucketOwner="me")
    assert (other.code, broken.code) == ("AccessDenied", "InvalidBucketOwnerAWSAccountID")


@scenario()
async def test_location_is_empty_for_us_east_1_and_us_east_1_knows_all_others(world: World):
    await world.bucket()
    await world.region("eu-west-1").bucket("far")
    assert (await world.execute("GetBucketLocation", Bucket="bkt")).members == {"LocationConstraint": ""}
    assert (await world.execute("GetBucketLocation", Bucket="far")).members == {"LocationConstraint": "eu-west-1"}
    assert (await world.region("ap-southeast-2").refused("GetBucketLocation", Bucket="far")).code == "PermanentRedirect"


@scenario(compat="lenient")
async def test_location_is_answered_everywhere_in_a_lenient_world(world: World):
    await world.region("eu-west-1").bucket("far")
    output = await world.region("ap-southeast-2").execute("GetBucketLocation", Bucket="far")
    assert output.members == {"LocationConstraint": "eu-west-1"}


@scenario()
async def test_only_an_empty_bucket_goes(world: World):
    await world.bucket(versioning="Enabled")
    version = (await world.put("k"))["VersionId"]
    marker = (await world.execute("DeleteObject", Bucket="bkt", Key="k")).members["VersionId"]
    full = await world.refused("DeleteBucket", Bucket="bkt")
    await world.execute("DeleteObject", Bucket="bkt", Key="k", VersionId=version)
    marked = await world.refused("DeleteBucket", Bucket="bkt")
    await world.execute("DeleteObject", Bucket="bkt", Key="k", VersionId=marker)
    await world.execute("DeleteBucket", Bucket="bkt")
    assert (full.code, marked.code) == ("BucketNotEmpty", "BucketNotEmpty")
    assert (await world.refused("DeleteBucket", Bucket="bkt")).code == "NoSuchBucket"


@scenario()
async def test_uploads_in_progress_go_with_their_bucket(world: World):
    await world.bucket()
    await world.execute("CreateMultipartUpload", Bucket="bkt", Key="k")
    await world.execute("DeleteBucket", Bucket="bkt")
    await world.bucket()
    assert "Uploads" not in (await world.execute("ListMultipartUploads", Bucket="bkt")).members
    assert not await world.store.scan("bkt!uploads")


@scenario()
async def test_a_member_of_an_access_point_stays(world: World):
    await world.bucket()
    world.attached.add("bkt")
    error = await world.refused("DeleteBucket", Bucket="bkt")
    assert (error.status, error.code) == (400, "BucketHasAccessPointsAttached")


@scenario()
async def test_buckets_are_listed_by_prefix_region_and_page(world: World):
    await world.bucket("aa-one")
    await world.bucket("aa-two")
    await world.region("eu-west-1").bucket("bb-far")
    everything = (await world.execute("ListBuckets")).members
    first = (await world.execute("ListBuckets", MaxBuckets=2)).members
    second = (await world.execute("ListBuckets", MaxBuckets=2, ContinuationToken=first["ContinuationToken"])).members
    far = (await world.execute("ListBuckets", BucketRegion="eu-west-1")).members
    some = (await world.execute("ListBuckets", Prefix="aa-")).members
    assert [row["Name"] for row in everything["Buckets"]] == ["aa-one", "aa-two", "bb-far"]
    assert "ContinuationToken" not in everything
    assert [row["Name"] for row in first["Buckets"]] == ["aa-one", "aa-two"]
    assert [row["Name"] for row in second["Buckets"]] == ["bb-far"]
    assert [row["BucketRegion"] for row in far["Buckets"]] == ["eu-west-1"]
    assert [row["Name"] for row in some["Buckets"]] == ["aa-one", "aa-two"]


@pytest.mark.parametrize(
    "members", [{"BucketRegion": "mars-1"}, {"MaxBuckets": 0}, {"MaxBuckets": 10_001}, {"ContinuationToken": "%%%"}]
)
def test_bad_filters_of_a_list_of_buckets_are_refused(members):
    @scenario()
    async def steps(world: World):
        assert (await world.refused("ListBuckets", **members)).code == "InvalidArgument"

    steps()


@scenario()
async def test_an_object_cannot_land_in_a_bucket_that_went_meanwhile(world: World):
    await world.bucket()

    async def chunks():
        yield b"he"
        await world.execute("DeleteBucket", Bucket="bkt")
        yield b"llo"

    from atoll.domain.http_message import Body

    error = await world.refused("PutObject", Body(chunks(), 5), Bucket="bkt", Key="k")
    assert error.code == "NoSuchBucket"
    assert await world.store.head(Key("bkt", "k")) is None


async def outcome(doing):
    try:
        await doing
    except ApiError as error:
        return error.code
    return "done"


@scenario()
async def test_a_bucket_that_goes_takes_no_acknowledged_write_with_it(world: World):
    """Whatever the order in which the two meet, one of them is refused."""
    for turn in range(40):
        await world.bucket()
        async with asyncio.TaskGroup() as group:
            gone = group.create_task(outcome(world.execute("DeleteBucket", Bucket="bkt")))
            await asyncio.sleep(turn / 10_000)
            put = group.create_task(outcome(world.put("k")))
            began = group.create_task(outcome(world.execute("CreateMultipartUpload", Bucket="bkt", Key="k")))
        assert (gone.result(), put.result()) in {
            ("done", "OperationAborted"), ("done", "NoSuchBucket"), ("OperationAborted", "done"), ("BucketNotEmpty", "done"),
        }  # fmt: skip
        await world.bucket()
        assert await world.keys() == (["k"] if put.result() == "done" else [])
        uploads = (await world.execute("ListMultipartUploads", Bucket="bkt")).members.get("Uploads", ())
        assert bool(uploads) == (began.result() == "done" and gone.result() != "done")
        await world.execute("DeleteObject", Bucket="bkt", Key="k")
        await world.execute("DeleteBucket", Bucket="bkt")


@scenario()
async def test_a_bucket_is_deleted_once_at_a_time_and_after_a_refusal_it_is_as_before(world: World):
    await world.bucket()
    world.deps.leaving.add("bkt")
    assert (await world.refused("DeleteBucket", Bucket="bkt")).code == "OperationAborted"
    assert (await world.refused("PutObject", b"x", Bucket="bkt", Key="k")).code == "OperationAborted"
    world.deps.leaving.clear()
    await world.put("k")
    assert (await world.refused("DeleteBucket", Bucket="bkt")).code == "BucketNotEmpty"
    await world.put("k2")
