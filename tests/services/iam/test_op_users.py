"""IAM users."""

from datetime import UTC, datetime

import pytest

from atoll.domain.caller import Caller
from atoll.domain.errors import ApiError

POLICY = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:*","Resource":"*"}]}'
ADMIN = "arn:aws:iam::aws:policy/AdministratorAccess"
READ_ONLY = "arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess"
SERVICE = Caller("service", service="s3.amazonaws.com", name="s3-replication")
TRUST = (
    '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"s3.amazonaws.com"},"Action":"sts:AssumeRole"}]}'
)


def code(ask, *args, **members) -> str:
    with pytest.raises(ApiError) as caught:
        ask(*args, **members)
    return caught.value.code


def test_a_new_user_is_shown_with_all_that_was_said_of_it(world):
    user = world.ask(
        "CreateUser", UserName="Alice", Path="/dev/", PermissionsBoundary=ADMIN, Tags=[{"Key": "team", "Value": "a"}]
    ).members["User"]
    assert user["UserName"] == "Alice"
    assert user["Path"] == "/dev/"
    assert user["Arn"] == "arn:aws:iam::111122223333:user/dev/Alice"
    assert user["UserId"].startswith("AIDA")
    assert len(user["UserId"]) == 20
    assert user["CreateDate"] == datetime.fromtimestamp(1_800_000_000, UTC)
    assert user["Tags"] == [{"Key": "team", "Value": "a"}]
    assert user["PermissionsBoundary"]["PermissionsBoundaryArn"] == ADMIN
    assert world.ask("GetUser", UserName="Alice").members["User"] == user


def test_names_do_not_differ_by_case_alone(world):
    world.ask("CreateUser", UserName="alice")
    assert code(world.ask, "CreateUser", UserName="Alice") == "EntityAlreadyExists"
    assert code(world.ask, "GetUser", UserName="Alice") == "NoSuchEntity"


def test_who_names_nobody_means_himself(world):
    bob = world.user("bob")
    assert world.ask("GetUser", bob).members["User"]["UserName"] == "bob"


def test_the_root_user_has_neither_name_nor_path(world):
    user = world.ask("GetUser").members["User"]
    assert user == {
        "UserId": "111122223333",
        "Arn": "arn:aws:iam::111122223333:root",
        "CreateDate": datetime.fromtimestamp(1_800_000_000, UTC),
    }


def test_a_role_has_no_user_to_show(world):
    world.ask("CreateRole", RoleName="r", AssumeRolePolicyDocument=TRUST)
    role = world.identities.assume("arn:aws:iam::111122223333:role/r", principal=SERVICE)
    assert code(world.ask, "GetUser", role) == "ValidationError"


@pytest.mark.parametrize("name", ["", "a b", "a/b", "x" * 65, "ü", "a\n"])
def test_a_name_that_iam_does_not_take_is_refused(world, name):
    assert code(world.ask, "CreateUser", UserName=name) == "ValidationError"


@pytest.mark.parametrize("path", ["", "dev/", "/dev", "/a b/", "/" + "x" * 512 + "/"])
def test_a_path_begins_and_ends_with_a_slash(world, path):
    assert code(world.ask, "CreateUser", UserName="a", Path=path) == "ValidationError"


def test_tag_keys_differ_by_more_than_case(world):
    tags = [{"Key": "Team", "Value": "a"}, {"Key": "team", "Value": "b"}]
    assert code(world.ask, "CreateUser", UserName="a", Tags=tags) == "InvalidInput"


def test_more_than_fifty_tags_are_too_many(world):
    tags = [{"Key": f"k{n}", "Value": ""} for n in range(51)]
    assert code(world.ask, "CreateUser", UserName="a", Tags=tags) == "LimitExceeded"


@pytest.mark.parametrize(
    "tag",
    [
        {"Key": "", "Value": "v"},
        {"Key": "k" * 129, "Value": "v"},
        {"Key": "k", "Value": "v" * 257},
        {"Key": "k!", "Value": "v"},
        {"Key": "k", "Value": "<v>"},
        {"Key": "k"},
        {"Value": "v"},
    ],
)
def test_a_tag_that_iam_does_not_take_is_refused(world, tag):
    assert code(world.ask, "CreateUser", UserName="a", Tags=[tag]) == "ValidationError"


def test_a_boundary_must_exist(world):
    missing = "arn:aws:iam::111122223333:policy/none"
    assert code(world.ask, "CreateUser", UserName="a", PermissionsBoundary=missing) == "NoSuchEntity"
    assert code(world.ask, "GetUser", UserName="a") == "NoSuchEntity"


def test_a_boundary_is_set_and_taken_away(world):
    world.ask("CreateUser", UserName="a")
    world.ask("PutUserPermissionsBoundary", UserName="a", PermissionsBoundary=READ_ONLY)
    boundary = world.ask("GetUser", UserName="a").members["User"]["PermissionsBoundary"]
    assert boundary["PermissionsBoundaryArn"] == READ_ONLY
    world.ask("DeleteUserPermissionsBoundary", UserName="a")
    assert "PermissionsBoundary" not in world.ask("GetUser", UserName="a").members["User"]


def test_a_boundary_wants_a_user_and_a_policy(world):
    assert code(world.ask, "PutUserPermissionsBoundary", UserName="a", PermissionsBoundary=ADMIN) == "NoSuchEntity"
    world.ask("CreateUser", UserName="a")
    missing = "arn:aws:iam::111122223333:policy/none"
    assert code(world.ask, "PutUserPermissionsBoundary", UserName="a", PermissionsBoundary=missing) == "NoSuchEntity"
    assert code(world.ask, "DeleteUserPermissionsBoundary", UserName="b") == "NoSuchEntity"


def test_users_are_listed_in_order_and_by_path(world):
    world.ask("CreateUser", UserName="zoe")
    world.ask("CreateUser", UserName="Adam", Path="/dev/")
    world.ask("CreateUser", UserName="ben", Path="/dev/x/")
    assert names(world.ask("ListUsers")) == ["Adam", "ben", "zoe"]
    assert names(world.ask("ListUsers", PathPrefix="/dev/")) == ["Adam", "ben"]
    assert world.ask("ListUsers").members["IsTruncated"] is False


def test_a_list_comes_in_pages(world):
    world.ask("CreateUser", UserName="A")
    world.ask("CreateUser", UserName="b")
    world.ask("CreateUser", UserName="c")
    first = world.ask("ListUsers", MaxItems=2)
    assert (names(first), first.members["IsTruncated"]) == (["A", "b"], True)
    second = world.ask("ListUsers", MaxItems=2, Marker=first.members["Marker"])
    assert (names(second), second.members["IsTruncated"]) == (["c"], False)
    assert "Marker" not in second.members


@pytest.mark.parametrize("most", [0, 1001])
def test_a_page_has_one_to_a_thousand_items(world, most):
    assert code(world.ask, "ListUsers", MaxItems=most) == "ValidationError"


def test_a_deleted_user_is_gone_and_a_namesake_is_somebody_else(world):
    before = world.ask("CreateUser", UserName="a").members["User"]["UserId"]
    world.ask("DeleteUser", UserName="a")
    assert code(world.ask, "GetUser", UserName="a") == "NoSuchEntity"
    assert code(world.ask, "DeleteUser", UserName="a") == "NoSuchEntity"
    assert world.ask("CreateUser", UserName="a").members["User"]["UserId"] != before


def test_a_user_with_keys_or_policies_is_not_deleted(world):
    world.ask("CreateUser", UserName="a")
    key = world.ask("CreateAccessKey", UserName="a").members["AccessKey"]["AccessKeyId"]
    assert code(world.ask, "DeleteUser", UserName="a") == "DeleteConflict"
    world.ask("DeleteAccessKey", UserName="a", AccessKeyId=key)
    world.ask("PutUserPolicy", UserName="a", PolicyName="p", PolicyDocument=POLICY)
    assert code(world.ask, "DeleteUser", UserName="a") == "DeleteConflict"
    world.ask("DeleteUserPolicy", UserName="a", PolicyName="p")
    world.ask("AttachUserPolicy", UserName="a", PolicyArn=ADMIN)
    assert code(world.ask, "DeleteUser", UserName="a") == "DeleteConflict"
    world.ask("DetachUserPolicy", UserName="a", PolicyArn=ADMIN)
    world.ask("DeleteUser", UserName="a")


def names(output):
    return [user["UserName"] for user in output.members["Users"]]
