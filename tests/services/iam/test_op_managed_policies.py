"""Managed policies, of the world and of AWS."""

import json
from urllib.parse import unquote

import pytest

from atoll.domain.errors import ApiError

POLICY = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:*","Resource":"*"}]}'
ADMIN = "arn:aws:iam::aws:policy/AdministratorAccess"


def code(ask, *args, **members) -> str:
    with pytest.raises(ApiError) as caught:
        ask(*args, **members)
    return caught.value.code


def create(world, name="p", **members):
    return world.ask("CreatePolicy", PolicyName=name, PolicyDocument=POLICY, **members).members["Policy"]


def names(world, **members):
    return [policy["PolicyName"] for policy in world.ask("ListPolicies", **members).members["Policies"]]


def test_a_new_policy_is_shown_with_all_that_was_said_of_it(world):
    policy = create(world, "Read", Path="/team/", Description="reads", Tags=[{"Key": "k", "Value": "v"}])
    assert policy["Arn"] == "arn:aws:iam::111122223333:policy/team/Read"
    assert policy["PolicyId"].startswith("ANPA")
    assert (policy["DefaultVersionId"], policy["AttachmentCount"], policy["IsAttachable"]) == ("v1", 0, True)
    assert (policy["Description"], policy["Tags"]) == ("reads", [{"Key": "k", "Value": "v"}])
    assert world.ask("GetPolicy", PolicyArn=policy["Arn"]).members["Policy"] == policy


def test_the_document_is_its_first_version_and_comes_url_encoded(world):
    arn = create(world)["Arn"]
    version = world.ask("GetPolicyVersion", PolicyArn=arn, VersionId="v1").members["PolicyVersion"]
    assert unquote(version["Document"]) == POLICY
    assert (version["VersionId"], version["IsDefaultVersion"]) == ("v1", True)
    assert code(world.ask, "GetPolicyVersion", PolicyArn=arn, VersionId="v2") == "NoSuchEntity"


def test_names_are_unique_whatever_path_and_case(world):
    create(world, "p")
    assert code(create, world, "P", Path="/team/") == "EntityAlreadyExists"


def test_an_arn_is_only_right_with_its_path(world):
    create(world, "p", Path="/team/")
    assert code(world.ask, "GetPolicy", PolicyArn="arn:aws:iam::111122223333:policy/p") == "NoSuchEntity"


def test_a_text_that_is_no_policy_is_refused(world):
    assert code(world.ask, "CreatePolicy", PolicyName="p", PolicyDocument="{}") == "MalformedPolicyDocument"


def test_a_policy_has_a_quota_of_characters(world):
    long = POLICY.replace('"Effect"', '"Sid":"' + "a" * 6144 + '","Effect"')
    assert code(world.ask, "CreatePolicy", PolicyName="p", PolicyDocument=long) == "LimitExceeded"


def test_attachments_and_boundaries_are_counted(world):
    arn = create(world)["Arn"]
    world.ask("CreateUser", UserName="a", PermissionsBoundary=arn)
    world.ask("CreateUser", UserName="b")
    world.ask("AttachUserPolicy", UserName="b", PolicyArn=arn)
    policy = world.ask("GetPolicy", PolicyArn=arn).members["Policy"]
    assert (policy["AttachmentCount"], policy["PermissionsBoundaryUsageCount"]) == (1, 1)


def test_a_policy_in_use_is_not_deleted(world):
    arn = create(world)["Arn"]
    world.ask("CreateUser", UserName="a", PermissionsBoundary=arn)
    assert code(world.ask, "DeletePolicy", PolicyArn=arn) == "DeleteConflict"
    world.ask("DeleteUserPermissionsBoundary", UserName="a")
    world.ask("AttachUserPolicy", UserName="a", PolicyArn=arn)
    assert code(world.ask, "DeletePolicy", PolicyArn=arn) == "DeleteConflict"
    world.ask("DetachUserPolicy", UserName="a", PolicyArn=arn)
    world.ask("DeletePolicy", PolicyArn=arn)
    assert code(world.ask, "GetPolicy", PolicyArn=arn) == "NoSuchEntity"
    assert code(world.ask, "DeletePolicy", PolicyArn=arn) == "NoSuchEntity"


def test_policies_of_aws_are_there_and_stay(world):
    assert world.ask("GetPolicy", PolicyArn=ADMIN).members["Policy"]["PolicyName"] == "AdministratorAccess"
    version = world.ask("GetPolicyVersion", PolicyArn=ADMIN, VersionId="v1").members["PolicyVersion"]
    assert json.loads(unquote(version["Document"]))["Statement"] == [{"Effect": "Allow", "Action": "*", "Resource": "*"}]
    assert code(world.ask, "DeletePolicy", PolicyArn=ADMIN) == "AccessDenied"


def test_a_policy_of_this_world_may_have_a_name_of_aws(world):
    own = create(world, "AdministratorAccess")["Arn"]
    world.ask("DeletePolicy", PolicyArn=own)
    assert world.ask("GetPolicy", PolicyArn=ADMIN).members["Policy"]["Arn"] == ADMIN


def test_policies_are_listed_by_scope_path_and_use(world):
    arn = create(world, "mine", Path="/team/")["Arn"]
    create(world, "idle")
    aws = ["AdministratorAccess", "AmazonS3FullAccess", "AmazonS3ReadOnlyAccess"]
    assert names(world) == ["idle", "mine", *aws]
    assert names(world, Scope="AWS") == aws
    assert names(world, Scope="Local") == ["idle", "mine"]
    assert names(world, PathPrefix="/team/") == ["mine"]
    world.ask("CreateUser", UserName="a")
    world.ask("AttachUserPolicy", UserName="a", PolicyArn=arn)
    assert names(world, OnlyAttached=True) == ["mine"]


def test_a_scope_that_iam_does_not_know_is_refused(world):
    assert code(world.ask, "ListPolicies", Scope="Everything") == "ValidationError"


def test_policies_are_listed_in_pages(world):
    page = world.ask("ListPolicies", MaxItems=2).members
    assert page["IsTruncated"] is True
    rest = world.ask("ListPolicies", MaxItems=2, Marker=page["Marker"]).members
    assert [policy["PolicyName"] for policy in rest["Policies"]] == ["AmazonS3ReadOnlyAccess"]
