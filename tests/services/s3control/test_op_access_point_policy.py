import asyncio
import json

import pytest

from services.s3control.points_world import ACCOUNT, OTHER


def policy(arn, **changes):
    statement = {"Effect": "Allow", "Principal": {"AWS": OTHER}, "Action": "s3:GetObject", "Resource": f"{arn}/object/*", **changes}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def put(world, **changes):
    """Outcome of putting a policy, and whether it was proposed."""

    async def conversation():
        mrap = await world.made(PublicAccessBlock={"BlockPublicPolicy": changes.pop("blocked", False)})
        text = changes.pop("text", None) or policy(mrap.arn, **changes)
        arn = await world.put_policy(text)
        world.clock.advance(1)
        await world.settle()
        return await world.outcome(arn), world.mrap()

    return asyncio.run(conversation())


def test_a_text_comes_back_byte_for_byte(world):
    async def conversation():
        mrap = await world.made()
        text = policy(mrap.arn, Sid="Odd", Condition={"StringEquals": {"aws:UserAgent": 'a<b>&"c" \u00e9\u6771'}}) + "\n\n  "
        arn = await world.put_policy(text)
        world.clock.advance(1)
        await world.settle()
        assert await world.outcome(arn) == ("SUCCEEDED", "")
        return (await world.ask("GetMultiRegionAccessPointPolicy", Name="demo")).members["Policy"]["Established"]["Policy"], text

    came_back, text = asyncio.run(conversation())
    assert came_back == text


@pytest.mark.parametrize(
    "changes",
    [
        {"text": "not json"},
        {"text": "{}"},
        {"Resource": "arn:aws:s3:::bucket/*"},
        {"Resource": f"arn:aws:s3::{ACCOUNT}:accesspoint/mother.mrap/object/*"},
        {"Action": "iam:GetUser"},
        {"Action": "s3:ListBucket"},
        {"Principal": {"AWS": "arn:aws:iam::111122223333:user/nobody"}},
    ],
)
def test_a_malformed_policy_fails_through_the_token_and_is_not_proposed(world, changes):
    outcome, mrap = put(world, **changes)
    assert outcome == ("FAILED", "MalformedPolicy")
    assert mrap.proposed is mrap.established is None


def test_a_public_policy_fails_where_it_is_blocked(world):
    outcome, mrap = put(world, blocked=True, Principal="*")
    assert outcome == ("FAILED", "AccessDenied")
    assert mrap.proposed is None


def test_a_public_policy_is_taken_where_it_is_not_blocked_and_the_status_says_so(world):
    outcome, _ = put(world, Principal="*")
    assert outcome == ("SUCCEEDED", "")
    output = asyncio.run(world.ask("GetMultiRegionAccessPointPolicyStatus", Name="demo"))
    assert output.members == {"Established": {"IsPublic": True}}


def test_cloudfront_with_a_source_arn_is_not_public(world):
    source = f"arn:aws:cloudfront::{ACCOUNT}:distribution/E1"
    outcome, _ = put(
        world, blocked=True, Principal={"Service": "cloudfront.amazonaws.com"}, Condition={"StringEquals": {"aws:SourceArn": source}}
    )
    assert outcome == ("SUCCEEDED", "")
    output = asyncio.run(world.ask("GetMultiRegionAccessPointPolicyStatus", Name="demo"))
    assert output.members == {"Established": {"IsPublic": False}}


def test_a_policy_that_was_never_set_is_an_empty_answer_and_not_public(world):
    async def conversation():
        await world.made()
        return (
            (await world.ask("GetMultiRegionAccessPointPolicy", Name="demo")).members,
            (await world.ask("GetMultiRegionAccessPointPolicyStatus", Name="demo")).members,
        )

    assert asyncio.run(conversation()) == ({"Policy": {}}, {"Established": {"IsPublic": False}})


@pytest.mark.parametrize(
    ("name", "code"), [("elsewhere", "NoSuchMultiRegionAccessPoint"), ("demo", "MultiRegionAccessPointNotReady")]
)
def test_a_point_that_is_not_there_or_not_ready_takes_no_policy(world, name, code):
    async def conversation():
        await world.create()
        arn = await world.put_policy(policy("arn"), name)
        world.clock.advance(1)
        await world.settle()
        assert await world.outcome(arn) == ("FAILED", code)

    asyncio.run(conversation())
