import pytest

from s3world import World, scenario


@pytest.mark.parametrize(
    ("operation", "code"),
    [
        ("GetBucketCors", "NoSuchCORSConfiguration"),
        ("GetBucketEncryption", "ServerSideEncryptionConfigurationNotFoundError"),
        ("GetBucketLifecycleConfiguration", "NoSuchLifecycleConfiguration"),
        ("GetBucketWebsite", "NoSuchWebsiteConfiguration"),
        ("GetObjectLockConfiguration", "ObjectLockConfigurationNotFoundError"),
    ],
)
def test_what_cannot_be_set_is_not_found(operation, code):
    @scenario()
    async def steps(world: World):
        await world.bucket()
        error = await world.refused(operation, Bucket="bkt")
        assert (error.status, error.code) == (404, code)
        assert (await world.refused(operation, Bucket="none")).code == "NoSuchBucket"

    steps()


@pytest.mark.parametrize(
    ("operation", "members"),
    [
        ("GetBucketAccelerateConfiguration", {}),
        ("GetBucketLogging", {}),
        ("GetBucketNotificationConfiguration", {}),
        ("GetBucketRequestPayment", {"Payer": "BucketOwner"}),
    ],
)
def test_what_is_off_answers_so(operation, members):
    @scenario()
    async def steps(world: World):
        await world.bucket()
        assert (await world.execute(operation, Bucket="bkt")).members == members
        assert (await world.refused(operation, Bucket="none")).code == "NoSuchBucket"

    steps()


@pytest.mark.parametrize(
    "operation",
    ["GetBucketCors", "GetBucketEncryption", "GetBucketLifecycleConfiguration", "GetBucketLogging", "GetBucketRequestPayment"],
)
def test_what_is_not_set_is_told_only_of_a_bucket_here_and_to_who_names_its_owner(operation):
    @scenario()
    async def steps(world: World):
        await world.bucket()
        await world.region("eu-west-1").bucket("far")
        away = await world.refused(operation, Bucket="far")
        foreign = await world.refused(operation, Bucket="bkt", ExpectedBucketOwner="999999999999")
        assert (away.status, foreign.status) == (301, 403)

    steps()
