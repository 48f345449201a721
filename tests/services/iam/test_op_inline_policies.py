"""Inline policies of users and roles."""

from urllib.parse import unquote

import pytest

from atoll.domain.errors import ApiError

TRUST = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"s3.amazonaws.com"},"Action":"sts:AssumeRole"}]}'
POLICY = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:GetObject","Resource":"arn:aws:s3:::b/*"}]}'
ROLE, USER = {"RoleName": "x"}, {"UserName": "x"}
BOTH = pytest.mark.parametrize(("kind", "who"), [("User", USER), ("Role", ROLE)])


@pytest.fixture(autouse=True)
def x(world):
    world.ask("CreateUser", UserName="x")
    world.ask("CreateRole", RoleName="x", AssumeRolePolicyDocument=TRUST)


def code(ask, *args, **members) -> str:
    with pytest.raises(ApiError) as caught:
        ask(*args, **members)
    return caught.value.code


def padded(size: int) -> str:
    """A policy with about that many characters."""
    return POLICY.replace('"Effect"', '"Sid":"' + "a" * (size - len(POLICY)) + '","Effect"')


@BOTH
def test_a_policy_comes_back_url_encoded_and_unchanged(world, kind, who):
    world.ask(f"Put{kind}Policy", **who, PolicyName="p", PolicyDocument=POLICY)
    output = world.ask(f"Get{kind}Policy", **who, PolicyName="p").members
    assert "{" not in output["PolicyDocument"]
    assert unquote(output.pop("PolicyDocument")) == POLICY
    assert output == {**who, "PolicyName": "p"}


@BOTH
def test_putting_again_replaces(world, kind, who):
    world.ask(f"Put{kind}Policy", **who, PolicyName="p", PolicyDocument=POLICY)
    world.ask(f"Put{kind}Policy", **who, PolicyName="p", PolicyDocument=POLICY.replace("Get", "Put"))
    assert "PutObject" in world.ask(f"Get{kind}Policy", **who, PolicyName="p").members["PolicyDocument"]


@BOTH
def test_policies_are_listed_in_order_and_in_pages(world, kind, who):
    world.ask(f"Put{kind}Policy", **who, PolicyName="b", PolicyDocument=POLICY)
    world.ask(f"Put{kind}Policy", **who, PolicyName="a", PolicyDocument=POLICY)
    assert world.ask(f"List{kind}Policies", **who).members == {"PolicyNames": ["a", "b"], "IsTruncated": False}
    page = world.ask(f"List{kind}Policies", **who, MaxItems=1).members
    assert page == {"PolicyNames": ["a"], "IsTruncated": True, "Marker": "a"}
    assert world.ask(f"List{kind}Policies", **who, Marker="a").members["PolicyNames"] == ["b"]


@BOTH
def test_a_deleted_policy_is_gone(world, kind, who):
    world.ask(f"Put{kind}Policy", **who, PolicyName="p", PolicyDocument=POLICY)
    world.ask(f"Delete{kind}Policy", **who, PolicyName="p")
    assert code(world.ask, f"Get{kind}Policy", **who, PolicyName="p") == "NoSuchEntity"
    assert code(world.ask, f"Delete{kind}Policy", **who, PolicyName="p") == "NoSuchEntity"


@BOTH
@pytest.mark.parametrize("operation", ["Get{}Policy", "Delete{}Policy"])
def test_whoever_is_not_there_has_no_policies(world, kind, who, operation):
    nobody = dict.fromkeys(who, "nobody")
    assert code(world.ask, operation.format(kind), **nobody, PolicyName="p") == "NoSuchEntity"
    assert code(world.ask, f"List{kind}Policies", **nobody) == "NoSuchEntity"
    assert code(world.ask, f"Put{kind}Policy", **nobody, PolicyName="p", PolicyDocument=POLICY) == "NoSuchEntity"


@BOTH
@pytest.mark.parametrize(
    "text", ["no json", "{}", '{"Version":"2012-10-17","Statement":[]}', TRUST, POLICY.replace("2012", "2013")]
)
def test_a_text_that_is_no_identity_policy_is_refused(world, kind, who, text):
    assert code(world.ask, f"Put{kind}Policy", **who, PolicyName="p", PolicyDocument=text) == "MalformedPolicyDocument"


@BOTH
def test_a_policy_name_follows_the_rule(world, kind, who):
    assert code(world.ask, f"Put{kind}Policy", **who, PolicyName="a b", PolicyDocument=POLICY) == "ValidationError"


@BOTH
def test_a_document_has_only_characters_that_iam_takes(world, kind, who):
    text = POLICY.replace("b/*", "\u2603/*")
    assert code(world.ask, f"Put{kind}Policy", **who, PolicyName="p", PolicyDocument=text) == "ValidationError"


def test_all_inline_policies_of_a_user_share_one_quota(world):
    world.ask("PutUserPolicy", UserName="x", PolicyName="a", PolicyDocument=padded(1500))
    assert code(world.ask, "PutUserPolicy", UserName="x", PolicyName="b", PolicyDocument=padded(1000)) == "LimitExceeded"
    world.ask("PutUserPolicy", UserName="x", PolicyName="a", PolicyDocument=padded(2000))


def test_a_role_has_room_for_more(world):
    world.ask("PutRolePolicy", RoleName="x", PolicyName="a", PolicyDocument=padded(9000))
    assert code(world.ask, "PutRolePolicy", RoleName="x", PolicyName="b", PolicyDocument=padded(2000)) == "LimitExceeded"
