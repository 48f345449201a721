import pytest

from atoll.rules.policy.required_actions import required

A = "111122223333"
ME = f"arn:aws:iam::{A}:user/me"
POINT = f"arn:aws:s3::{A}:accesspoint/mabc.mrap"
TOKEN = f"arn:aws:s3:us-west-2:{A}:async-request/mrap/create/tok"


def required_actions(service, operation, params, **more):
    return [(required_action.action, required_action.resource) for required_action in required(service, operation, params, account=A, **more)]


@pytest.mark.parametrize(
    ("operation", "params", "resource"),
    [
        ("CreateUser", {"UserName": "ann"}, f"arn:aws:iam::{A}:user/ann"),
        ("CreateUser", {"UserName": "ann", "Path": "/team/"}, f"arn:aws:iam::{A}:user/team/ann"),
        ("PutUserPolicy", {"UserName": "ann", "PolicyName": "p"}, f"arn:aws:iam::{A}:user/ann"),
        ("AttachUserPolicy", {"UserName": "ann", "PolicyArn": "arn:aws:iam::aws:policy/X"}, f"arn:aws:iam::{A}:user/ann"),
        ("AddUserToGroup", {"UserName": "ann", "GroupName": "g"}, f"arn:aws:iam::{A}:group/g"),
        ("CreateRole", {"RoleName": "r", "Path": "/"}, f"arn:aws:iam::{A}:role/r"),
        ("GetRole", {"RoleName": "r"}, f"arn:aws:iam::{A}:role/r"),
        ("AddRoleToInstanceProfile", {"RoleName": "r", "InstanceProfileName": "i"}, f"arn:aws:iam::{A}:instance-profile/i"),
        ("CreatePolicy", {"PolicyName": "p"}, f"arn:aws:iam::{A}:policy/p"),
        ("CreatePolicy", {"PolicyName": "p", "Path": "/x/"}, f"arn:aws:iam::{A}:policy/x/p"),
        ("DeletePolicy", {"PolicyArn": f"arn:aws:iam::{A}:policy/p"}, f"arn:aws:iam::{A}:policy/p"),
        ("ListUsers", {}, "*"),
        ("ListRoles", {"PathPrefix": "/"}, "*"),
        ("CreateAccessKey", {}, ME),
        ("CreateAccessKey", {"UserName": "ann"}, f"arn:aws:iam::{A}:user/ann"),
        ("GetUser", {}, ME),
        ("GetAccountSummary", {}, "*"),
    ],
)
def test_iam_calls(operation, params, resource):
    assert required_actions("iam", operation, params, caller_arn=ME) == [(f"iam:{operation}", resource)]


def test_a_call_about_oneself_without_a_known_caller_needs_everything():
    assert required_actions("iam", "GetUser", {}) == [("iam:GetUser", "*")]


@pytest.mark.parametrize(
    "operation", ["GetCallerIdentity", "GetSessionToken", "AssumeRole", "AssumeRoleWithWebIdentity", "AssumeRoleWithSAML"]
)
def test_sts_calls_that_need_nothing_beforehand(operation):
    assert required_actions("sts", operation, {"RoleArn": "arn:aws:iam::1:role/r"}) == []


def test_other_sts_calls():
    assert required_actions("sts", "GetFederationToken", {"Name": "n"}) == [("sts:GetFederationToken", f"arn:aws:sts::{A}:federated-user/n")]
    assert required_actions("sts", "DecodeAuthorizationMessage", {}) == [("sts:DecodeAuthorizationMessage", "*")]


@pytest.mark.parametrize(
    ("operation", "params", "resource"),
    [
        ("CreateMultiRegionAccessPoint", {"Details": {"Name": "world"}}, f"arn:aws:s3::{A}:accesspoint/world"),
        ("DeleteMultiRegionAccessPoint", {"Details": {"Name": "world"}}, f"arn:aws:s3::{A}:accesspoint/world"),
        ("GetMultiRegionAccessPoint", {"Name": "world"}, f"arn:aws:s3::{A}:accesspoint/world"),
        ("GetMultiRegionAccessPointRoutes", {"Mrap": POINT}, POINT),
        ("SubmitMultiRegionAccessPointRoutes", {"Mrap": POINT}, POINT),
        ("DescribeMultiRegionAccessPointOperation", {"RequestTokenARN": TOKEN}, TOKEN),
        ("ListMultiRegionAccessPoints", {}, "*"),
    ],
)
def test_s3_control_calls(operation, params, resource):
    assert required_actions("s3control", operation, params) == [(f"s3:{operation}", resource)]


def test_an_access_point_whose_alias_is_known_is_named_by_it():
    assert required_actions("s3control", "GetMultiRegionAccessPoint", {"Name": "world"}, access_point=POINT)[0][1] == POINT


@pytest.mark.parametrize(
    ("operation", "action"),
    [("GetPublicAccessBlock", "GetAccountPublicAccessBlock"), ("DeletePublicAccessBlock", "PutAccountPublicAccessBlock")],
)
def test_the_accounts_public_access_block(operation, action):
    assert required_actions("s3control", operation, {"AccountId": A}) == [(f"s3:{action}", "*")]
