import json

from s3world import World, scenario


def _policy(principal: object, resource: str = "arn:aws:s3:::bkt/*") -> str:
    statement = {"Effect": "Allow", "Principal": principal, "Action": "s3:GetObject", "Resource": resource}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]}, indent=2)


OWN = _policy({"AWS": "arn:aws:iam::111122223333:role/reader"})
PUBLIC = _policy("*")


@scenario()
async def test_a_policy_comes_back_byte_for_byte(world: World):
    await world.bucket()
    unset = await world.refused("GetBucketPolicy", Bucket="bkt")
    put = await world.execute("PutBucketPolicy", Bucket="bkt", Policy=OWN)
    kept = (await world.execute("GetBucketPolicy", Bucket="bkt")).members["Policy"]
    await world.execute("DeleteBucketPolicy", Bucket="bkt")
    assert (unset.status, unset.code, put.status) == (404, "NoSuchBucketPolicy", 204)
    assert kept == OWN
    assert (await world.refused("GetBucketPolicy", Bucket="bkt")).code == "NoSuchBucketPolicy"


@scenario()
async def test_what_is_no_policy_of_this_bucket_is_malformed(world: World):
    await world.bucket()
    texts = ["", "no json", " " + OWN, "[]", _policy({"AWS": "*"}, "arn:aws:s3:::other/*"), _policy("*") + " " * 20_480]
    codes = {(await world.refused("PutBucketPolicy", Bucket="bkt", Policy=text)).code for text in texts}
    assert codes == {"MalformedPolicy"}


@scenario()
async def test_a_public_policy_is_refused_while_it_is_blocked(world: World):
    await world.bucket()
    error = await world.refused("PutBucketPolicy", Bucket="bkt", Policy=PUBLIC)
    await world.execute("DeletePublicAccessBlock", Bucket="bkt")
    await world.execute("PutBucketPolicy", Bucket="bkt", Policy=PUBLIC)
    assert error.code == "AccessDenied"


@scenario()
async def test_the_status_tells_whether_strangers_may_come_in(world: World):
    await world.bucket()
    unset = await world.refused("GetBucketPolicyStatus", Bucket="bkt")
    await world.execute("PutBucketPolicy", Bucket="bkt", Policy=OWN)
    closed = (await world.execute("GetBucketPolicyStatus", Bucket="bkt")).members
    await world.execute("DeletePublicAccessBlock", Bucket="bkt")
    await world.execute("PutBucketPolicy", Bucket="bkt", Policy=PUBLIC.encode())
    assert unset.code == "NoSuchBucketPolicy"
    assert closed == {"PolicyStatus": {"IsPublic": False}}
    assert (await world.execute("GetBucketPolicyStatus", Bucket="bkt")).members == {"PolicyStatus": {"IsPublic": True}}
