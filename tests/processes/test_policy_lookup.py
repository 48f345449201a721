import asyncio
import json

from atoll.domain.caller import ANONYMOUS
from atoll.domain.http_message import Body
from atoll.domain.objects import Key, ObjectMetadata
from atoll.processes.build_region import policy_lookup_of
from atoll.processes.policy_lookup import RecordPolicyLookup
from atoll.rules.policy.public_access import PublicAccess
from atoll.services.s3.records import BUCKETS, BucketRecord, PublicAccessBlock
from s3world import ACCOUNT


def policy(**condition):
    row = {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::b/*"}
    return json.dumps({"Version": "2012-10-17", "Statement": [row | ({"Condition": condition} if condition else {})]})


TAGS = {"StringEquals": {"s3:ExistingObjectTag/a": "b"}}


def bucket(**more):
    return BucketRecord(name="b", region="eu-central-1", account=ACCOUNT, created_ms=1, **more)


def scenario(make, steps):
    async def whole():
        made = await make()
        try:
            await steps(made.shared, policy_lookup_of(made.shared))
        finally:
            made.shared.state.close()

    asyncio.run(whole())


async def put(shared, record):
    await shared.state.transact(lambda transaction: transaction.put(BUCKETS, record.name, record))


def test_a_bucket_is_guarded_by_its_record(make):
    async def steps(shared, policy_lookup):
        assert policy_lookup.bucket("b") is None
        await put(shared, bucket(policy=policy(), public_access_block=PublicAccessBlock(restrict_public_buckets=True)))
        protection = policy_lookup.bucket("b")
        assert (protection.account, protection.region, protection.policy.source) == (ACCOUNT, "eu-central-1", "bucket policy of b")
        assert protection.blocks == PublicAccess(restrict_public_buckets=True)

    scenario(make, steps)


def test_a_bucket_without_policy_and_block_is_guarded_by_its_owner_alone(make):
    async def steps(shared, policy_lookup):
        await put(shared, bucket(public_access_block=None))
        assert policy_lookup.bucket("b").policy is None
        assert policy_lookup.bucket("b").blocks == PublicAccess()

    scenario(make, steps)


def test_a_policy_is_parsed_once_until_the_record_changes(make):
    async def steps(shared, policy_lookup):
        await put(shared, bucket(policy=policy()))
        first = policy_lookup.bucket("b")
        assert policy_lookup.bucket("b") is first
        await put(shared, bucket())
        assert policy_lookup.bucket("b").policy is None

    scenario(make, steps)


def test_tags_are_wanted_as_soon_as_any_policy_could_ask_for_them(make):
    async def steps(shared, policy_lookup):
        await put(shared, bucket(policy=policy()))
        assert not policy_lookup.asks_for_tags(ANONYMOUS, "b", "")
        await put(shared, bucket(policy=policy(**TAGS)))
        assert policy_lookup.asks_for_tags(ANONYMOUS, "b", "")
        assert not policy_lookup.asks_for_tags(ANONYMOUS, "no-such-bucket", "")

    scenario(make, steps)


def test_tags_are_those_of_the_version_that_is_asked_for(make):
    async def steps(shared, policy_lookup):
        for version, tags in (("v1", {"a": "1"}), ("v2", {"a": "2"})):
            await shared.store.put(Key("b", "k"), Body.of(b""), lambda version=version, tags=tags: ObjectMetadata(version=version, tags=tags))
        assert await policy_lookup.tags("b", "k", None) == {"a": "2"}
        assert await policy_lookup.tags("b", "k", "v1") == {"a": "1"}
        assert await policy_lookup.tags("b", "none", None) is None

    scenario(make, steps)


def test_an_access_point_that_there_is_not_guards_nothing(make):
    async def steps(shared, policy_lookup):
        assert isinstance(policy_lookup, RecordPolicyLookup)
        assert policy_lookup.access_point(f"arn:aws:s3::{ACCOUNT}:accesspoint/mnone.mrap") is None

    scenario(make, steps)
