"""Attachments of managed policies."""

import pytest

from atoll.domain.errors import ApiError

TRUST = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"s3.amazonaws.com"},"Action":"sts:AssumeRole"}]}'
POLICY = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:*","Resource":"*"}]}'
ADMIN = "arn:aws:iam::aws:policy/AdministratorAccess"
READ_ONLY = "arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess"
BOTH = pytest.mark.parametrize(("kind", "who"), [("User", {"UserName": "x"}), ("Role", {"RoleName": "x"})])


@pytest.fixture(autouse=True)
def x(world):
    world.ask("CreateUser", UserName="x")
    world.ask("CreateRole", RoleName="x", AssumeRolePolicyDocument=TRUST)


def code(ask, *args, **members) -> str:
    with pytest.raises(ApiError) as caught:
        ask(*args, **members)
    return caught.value.code


def attached(world, kind, who, **members):
    return [policy["PolicyName"] for policy in world.ask(f"ListAttached{kind}Policies", **who, **members).members["AttachedPolicies"]]


@BOTH
def test_a_policy_is_attached_and_detached(world, kind, who):
    world.ask(f"Attach{kind}Policy", **who, PolicyArn=ADMIN)
    assert world.ask(f"ListAttached{kind}Policies", **who).members == {
        "AttachedPolicies": [{"PolicyName": "AdministratorAccess", "PolicyArn": ADMIN}],
        "IsTruncated": False,
    }
    world.ask(f"Detach{kind}Policy", **who, PolicyArn=ADMIN)
    assert attached(world, kind, who) == []


@BOTH
def test_attaching_twice_is_as_good_as_once(world, kind, who):
    world.ask(f"Attach{kind}Policy", **who, PolicyArn=ADMIN)
    world.ask(f"Attach{kind}Policy", **who, PolicyArn=ADMIN)
    assert attached(world, kind, who) == ["AdministratorAccess"]


@BOTH
def test_what_does_not_exist_is_not_attached(world, kind, who):
    missing = "arn:aws:iam::111122223333:policy/none"
    assert code(world.ask, f"Attach{kind}Policy", **who, PolicyArn=missing) == "NoSuchEntity"
    assert code(world.ask, f"Attach{kind}Policy", **dict.fromkeys(who, "nobody"), PolicyArn=ADMIN) == "NoSuchEntity"


@BOTH
def test_what_is_not_attached_is_not_detached(world, kind, who):
    assert code(world.ask, f"Detach{kind}Policy", **who, PolicyArn=ADMIN) == "NoSuchEntity"


@BOTH
def test_more_than_ten_policies_are_too_many(world, kind, who):
    arns = [world.ask("CreatePolicy", PolicyName=f"p{n}", PolicyDocument=POLICY).members["Policy"]["Arn"] for n in range(11)]
    for arn in arns[:10]:
        world.ask(f"Attach{kind}Policy", **who, PolicyArn=arn)
    assert code(world.ask, f"Attach{kind}Policy", **who, PolicyArn=arns[10]) == "LimitExceeded"


@BOTH
def test_attachments_are_listed_by_path_and_in_pages(world, kind, who):
    arn = world.ask("CreatePolicy", PolicyName="mine", Path="/team/", PolicyDocument=POLICY).members["Policy"]["Arn"]
    world.ask(f"Attach{kind}Policy", **who, PolicyArn=READ_ONLY)
    world.ask(f"Attach{kind}Policy", **who, PolicyArn=arn)
    assert attached(world, kind, who, PathPrefix="/team/") == ["mine"]
    page = world.ask(f"ListAttached{kind}Policies", **who, MaxItems=1).members
    assert [policy["PolicyName"] for policy in page["AttachedPolicies"]] == ["mine"]
    assert attached(world, kind, who, Marker=page["Marker"]) == ["AmazonS3ReadOnlyAccess"]
