import asyncio
import json

from atoll.domain.caller import ANONYMOUS
from atoll.domain.message import Body
from atoll.domain.objects import Facts, Key
from atoll.node.authority import RecordAuthority
from atoll.node.region import authority_of
from atoll.rules.policy.public import PublicAccess
from atoll.services.s3.records import BUCKETS, BucketRecord, PublicAccessBlock
from s3world import ACCOUNT


def policy(**condition):
    row = {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::b/*"}
    return json.dumps({"Version": "2012-10-17", "Statement": [row | ({"Condition": condition} if condition else {})]})


TAGS = {"StringEquals": {"s3:ExistingObjectTag/a": "b"}}


def bucket(**more):
    return BucketRecord(name="b", region="eu-central-1", account=ACCOUNT, created_ms=1, **more)


def story(make, told):
    async def whole():
        made = await make()
        try:
            await told(made.shared, authority_of(made.shared))
        finally:
            made.shared.state.close()

    asyncio.run(whole())


async def put(shared, record):
    await shared.state.change(lambda change: change.put(BUCKETS, record.name, record))


def test_a_bucket_is_guarded_by_its_record(make):
    async def told(shared, authority):
        assert authority.bucket("b") is None
        await put(shared, bucket(policy=policy(), public_access_block=PublicAccessBlock(restrict_public_buckets=True)))
        guard = authority.bucket("b")
        assert (guard.account, guard.region, guard.policy.source) == (ACCOUNT, "eu-central-1", "bucket policy of b")
        assert guard.blocks == PublicAccess(restrict_public_buckets=True)

    story(make, told)


def test_a_bucket_without_policy_and_block_is_guarded_by_its_owner_alone(make):
    async def told(shared, authority):
        await put(shared, bucket(public_access_block=None))
        assert authority.bucket("b").policy is None
        assert authority.bucket("b").blocks == PublicAccess()

    story(make, told)


def test_a_policy_is_parsed_once_until_the_record_changes(make):
    async def told(shared, authority):
        await put(shared, bucket(policy=policy()))
        first = authority.bucket("b")
        assert authority.bucket("b") is first
        await put(shared, bucket())
        assert authority.bucket("b").policy is None

    story(make, told)


def test_tags_are_wanted_as_soon_as_any_policy_could_ask_for_them(make):
    async def told(shared, authority):
        await put(shared, bucket(policy=policy()))
        assert not authority.asks_for_tags(ANONYMOUS, "b", "")
        await put(shared, bucket(policy=policy(**TAGS)))
        assert authority.asks_for_tags(ANONYMOUS, "b", "")
        assert not authority.asks_for_tags(ANONYMOUS, "no-such-bucket", "")

    story(make, told)


def test_tags_are_those_of_the_version_that_is_asked_for(make):
    async def told(shared, authority):
        for version, tags in (("v1", {"a": "1"}), ("v2", {"a": "2"})):
            await shared.store.put(Key("b", "k"), Body.of(b""), lambda version=version, tags=tags: Facts(version=version, tags=tags))
        assert await authority.tags("b", "k", None) == {"a": "2"}
        assert await authority.tags("b", "k", "v1") == {"a": "1"}
        assert await authority.tags("b", "none", None) is None

    story(make, told)


def test_an_access_point_that_there_is_not_guards_nothing(make):
    async def told(shared, authority):
        assert isinstance(authority, RecordAuthority)
        assert authority.access_point(f"arn:aws:s3::{ACCOUNT}:accesspoint/mnone.mrap") is None

    story(make, told)
