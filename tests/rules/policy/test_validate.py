import json

import pytest

from atoll.domain.errors import ApiError
from atoll.rules.policy.validate import (
    check_access_point_policy,
    check_bucket_policy,
    check_identity_policy,
    check_trust_policy,
    public_refused,
)

A = "111122223333"
USER = f"arn:aws:iam::{A}:user/ann"
POINT = f"arn:aws:s3::{A}:accesspoint/mabc.mrap"
GOOD = {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::demo/*"}


def text(*statements, **more):
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements) or [GOOD], **more})


def good(**changed):
    return {name: value for name, value in {**GOOD, **changed}.items() if value is not None}


def put(policy, principal_exists=lambda _: True):
    return check_bucket_policy(policy, "demo", principal_exists=principal_exists)


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param(text(), id="plain"),
        pytest.param(text(Id="demo"), id="with an Id"),
        pytest.param(json.dumps({"Statement": GOOD}), id="one statement, no version"),
        pytest.param(text(good(Sid="Read the files")), id="a Sid"),
        pytest.param(text(good(Action="s3:*")), id="all actions of S3"),
        pytest.param(text(good(Action="*")), id="all actions"),
        pytest.param(text(good(Action="S3:getobject")), id="an action in another case"),
        pytest.param(text(good(Action=["s3:GetObject", "s3:ListBucket"], Resource=["arn:aws:s3:::demo", "arn:aws:s3:::demo/*"])), id="both kinds"),
        pytest.param(text(good(Action="s3:ListBucket", Resource="arn:aws:s3:::demo")), id="bucket action on the bucket"),
        pytest.param(text(good(Resource="arn:aws:s3:::demo/a/${aws:username}/*")), id="a variable"),
        pytest.param(text(good(Resource="arn:aws:s3:::demo*")), id="a wider pattern"),
        pytest.param(text(good(Resource=None, NotResource="arn:aws:s3:::demo/secret/*", Effect="Deny")), id="NotResource"),
        pytest.param(text(good(Action=None, NotAction="s3:GetObject", Effect="Deny")), id="NotAction"),
        pytest.param(text(good(Principal={"AWS": [USER, A, f"arn:aws:iam::{A}:root"]})), id="principals of all shapes"),
        pytest.param(text(good(Principal={"AWS": f"arn:aws:sts::{A}:assumed-role/r/s"})), id="a session"),
        pytest.param(text(good(Principal={"Service": "cloudfront.amazonaws.com"})), id="a service"),
        pytest.param(text(good(Principal={"CanonicalUser": "a" * 64})), id="a canonical id"),
        pytest.param(text(good(Principal={"Federated": "cognito-identity.amazonaws.com"})), id="a provider"),
        pytest.param(text(good(Principal=None, NotPrincipal={"AWS": USER}, Effect="Deny")), id="deny everybody else"),
        pytest.param(text(good(Condition={"Bool": {"aws:SecureTransport": True}})), id="a JSON boolean"),
        pytest.param(text(good(Condition={"IpAddress": {"aws:SourceIp": ["10.0.0.0/8", "2001:db8::/32"]}})), id="addresses"),
        pytest.param(text(good(Action="s3:PutObject", Condition={"ForAnyValue:StringLikeIfExists": {"s3:RequestObjectTagKeys": "a*"}})), id="a full operator"),
        pytest.param(text(good(Action="s3:ListBucket", Resource="arn:aws:s3:::demo", Condition={"NumericLessThan": {"s3:max-keys": 10}})), id="a number"),
        pytest.param(text(good(Condition={"StringEquals": {"s3:ExistingObjectTag/cost center": "v"}})), id="a tag with a blank"),
    ],
)  # fmt: skip
def test_a_good_bucket_policy_is_read(policy):
    assert put(policy).statements


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param("", id="empty"),
        pytest.param(" " + text(), id="first byte is a blank"),
        pytest.param("hello", id="not JSON"),
        pytest.param("{", id="broken JSON"),
        pytest.param("{}", id="no Statement"),
        pytest.param('{"Statement": []}', id="empty Statement"),
        pytest.param(text("text"), id="Statement is a text"),
        pytest.param(text(good(Effect="Perhaps")), id="unknown Effect"),
        pytest.param(text(good(Effect=None)), id="no Effect"),
        pytest.param(text(Version="2020-01-01"), id="unknown Version"),
        pytest.param(text(Comment="x"), id="unknown element of the policy"),
        pytest.param(text(good(Comment="x")), id="unknown element of a statement"),
        pytest.param('{"Statement": [], ' + text()[1:], id="an element that stands twice"),
        pytest.param(text(good(Sid=7)), id="Sid is a number"),
        pytest.param(text(good(Sid="x"), good(Sid="x")), id="the same Sid twice"),
        pytest.param(text(good(Action="s3:GetNothing")), id="unknown action"),
        pytest.param(text(good(Action="s3:Fly*")), id="a pattern of unknown actions"),
        pytest.param(text(good(Action="ec2:RunInstances")), id="an action of another service"),
        pytest.param(text(good(Action="GetObject")), id="an action without service"),
        pytest.param(text(good(Action="")), id="empty action"),
        pytest.param(text(good(Action=[])), id="no action in the list"),
        pytest.param(text(good(Action=None)), id="no action"),
        pytest.param(text(good(Action=7)), id="action is a number"),
        pytest.param(text(good(NotAction="s3:PutObject")), id="Action and NotAction"),
        pytest.param(text(good(Action="s3:GetObject ")), id="a blank behind the action"),
        pytest.param(text(good(Principal=None)), id="no principal"),
        pytest.param(text(good(Principal="")), id="empty principal"),
        pytest.param(text(good(Principal={})), id="principal without entries"),
        pytest.param(text(good(Principal={"AWS": ""})), id="empty AWS principal"),
        pytest.param(text(good(Principal={"AWS": []})), id="no AWS principal"),
        pytest.param(text(good(Principal={"AWS": f"arn:aws:iam::{A}:user/*"})), id="a pattern of users"),
        pytest.param(text(good(Principal={"AWS": "12345"})), id="a short account"),
        pytest.param(text(good(Principal={"AWS": "ann"})), id="a bare name"),
        pytest.param(text(good(Principal=USER)), id="a bare ARN"),
        pytest.param(text(good(Principal={"Group": "g"})), id="unknown kind of principal"),
        pytest.param(text(good(Principal={"CanonicalUser": "abc"})), id="a short canonical id"),
        pytest.param(text(good(Principal={"Service": "cloudfront"})), id="a service without domain"),
        pytest.param(text(good(NotPrincipal="*")), id="Principal and NotPrincipal"),
        pytest.param(text(good(Principal=None, NotPrincipal={"AWS": USER})), id="allow with NotPrincipal"),
        pytest.param(text(good(Resource=None)), id="no resource"),
        pytest.param(text(good(Resource="")), id="empty resource"),
        pytest.param(text(good(Resource="arn:aws:s3:::other/*")), id="another bucket"),
        pytest.param(text(good(Resource="arn:aws:s3:::demo2/*")), id="a bucket whose name starts alike"),
        pytest.param(text(good(Resource="/demo/*")), id="starts with a slash"),
        pytest.param(text(good(Resource="demo/*")), id="not an ARN"),
        pytest.param(text(good(Resource="arn:aws:ec2:::demo/*")), id="wrong prefix"),
        pytest.param(text(good(Resource=["arn:aws:s3:::demo/*", "arn:aws:s3:::other"])), id="one inside, one outside"),
        pytest.param(text(good(Resource="arn:aws:s3:::demo")), id="object action on the bucket alone"),
        pytest.param(text(good(Action="s3:ListBucket")), id="bucket action on objects alone"),
        pytest.param(text(good(Action=["s3:GetObject", "s3:ListBucket"])), id="one of two actions has no resource"),
        pytest.param(text(good(Action="s3:ListAllMyBuckets", Resource="arn:aws:s3:::demo")), id="an action of the account"),
        pytest.param(text(good(Condition={"StringSounds": {"aws:username": "x"}})), id="unknown operator"),
        pytest.param(text(good(Condition={"NullIfExists": {"aws:username": "true"}})), id="NullIfExists"),
        pytest.param(text(good(Condition={"StringEquals": {}})), id="operator without keys"),
        pytest.param(text(good(Condition={"StringEquals": "x"})), id="operator with a text"),
        pytest.param(text(good(Condition={"StringEquals": {"aws:username": []}})), id="key without values"),
        pytest.param(text(good(Condition={"StringEquals": {"username": "x"}})), id="key without prefix"),
        pytest.param(text(good(Condition={"IpAddress": {"aws:SourceIp": "nowhere"}})), id="not an address"),
        pytest.param(text(good(Condition={"NumericEquals": {"s3:max-keys": "ten"}})), id="not a number"),
        pytest.param(text(good(Condition={"DateLessThan": {"aws:CurrentTime": "soon"}})), id="not a date"),
        pytest.param(text(good(Condition={"Bool": {"aws:SecureTransport": "yes"}})), id="not a boolean"),
        pytest.param(text(good(Condition="x")), id="condition is a text"),
        pytest.param(text(good(Resource=["arn:aws:s3:::demo/" + "x" * 1000] * 21)), id="larger than 20 KB"),
    ],
)  # fmt: skip
def test_a_bad_bucket_policy_is_malformed(policy):
    with pytest.raises(ApiError) as caught:
        put(policy)
    assert (caught.value.code, caught.value.status) == ("MalformedPolicy", 400)


DEMO, FILES = "arn:aws:s3:::demo", "arn:aws:s3:::demo/*"


def refused(**changed):
    with pytest.raises(ApiError) as caught:
        put(text(good(**changed)))
    assert caught.value.code == "MalformedPolicy"
    return caught.value.message, caught.value.details.get("Detail")


# cases/s3.md, S54
@pytest.mark.parametrize("name", ["Resource", "NotResource"])
@pytest.mark.parametrize(
    "resource",
    ["*", "arn:*", "arn:aws:s3:*", "arn:aws:s3:::*", "arn:aws:s3:::*/*", "arn:aws:s3:::dem*", "arn:aws:s3:::dem?/x", "arn:aws:s3:::${aws:username}/*", "arn:aws:s3:::other/*"],
)  # fmt: skip
def test_a_resource_names_its_bucket_and_no_pattern_of_buckets(name, resource):
    changed = {"Resource": None, "Effect": "Deny", name: resource}
    assert refused(**changed) == ("Policy has invalid resource", resource)


@pytest.mark.parametrize("resource", [DEMO + "*", DEMO + "/*", DEMO + "/a?b/${aws:username}", "arn:aws*:s3:::demo/*"])
def test_behind_the_name_of_the_bucket_a_resource_may_be_a_pattern(resource):
    assert put(text(good(Resource=resource))).statements


# cases/s3.md, S55
@pytest.mark.parametrize(
    ("action", "resource", "key"),
    [
        ("s3:GetObject", FILES, "s3:prefix"),
        ("s3:PutObject", FILES, "s3:max-keys"),
        ("s3:ListBucket", DEMO, "s3:x-amz-acl"),
        ("s3:GetObject", FILES, "s3:x-amz-server-side-encryption"),
        ("s3:GetObject", FILES, "s3:versionid"),
        ("s3:PutObject", FILES, "s3:ExistingObjectTag/team"),
        ("s3:GetObject", FILES, "s3:RequestObjectTag/team"),
        ("s3:ListBucketMultipartUploads", DEMO, "s3:prefix"),
        ("s3:Get*", FILES, "s3:prefix"),
        ("s3:*", FILES, "s3:prefix"),
        ("s3:*", DEMO, "s3:if-none-match"),
        (["s3:GetObject", "s3:ListBucket"], [DEMO, FILES], "s3:prefix"),
        (["s3:PutObject", "s3:DeleteObject"], FILES, "s3:x-amz-storage-class"),
    ],
)
def test_every_action_of_a_statement_carries_its_condition_keys(action, resource, key):
    message = "Conditions do not apply to combination of actions and resources in statement"
    value = "1" if key == "s3:max-keys" else "v"
    operator = "NumericEquals" if key == "s3:max-keys" else "StringEquals"
    assert refused(Action=action, Resource=resource, Condition={operator: {key: value}}) == (message, key.lower())


@pytest.mark.parametrize(
    ("action", "resource", "key"),
    [
        ("s3:ListBucket", DEMO, "s3:prefix"),
        (["s3:ListBucket", "s3:ListBucketVersions"], [DEMO, FILES], "S3:Prefix"),
        ("s3:List*", DEMO, "s3:delimiter"),
        ("s3:*", [DEMO, FILES], "s3:prefix"),
        ("*", DEMO, "s3:prefix"),
        ("s3:PutObject", FILES, "s3:x-amz-acl"),
        ("s3:PutBucketAcl", DEMO, "s3:x-amz-grant-read"),
        ("s3:GetObjectVersion", FILES, "s3:versionid"),
        ("s3:DeleteObject", FILES, "s3:if-match"),
        (["s3:GetObject", "s3:ListBucket"], [DEMO, FILES], "aws:Referer"),
        (["s3:GetObject", "s3:ListBucket"], [DEMO, FILES], "s3:authType"),
        ("s3:GetObject", FILES, "s3:DataAccessPointAccount"),
    ],
)
def test_a_key_that_its_actions_carry_may_be_asked_for(action, resource, key):
    assert put(text(good(Action=action, Resource=resource, Condition={"StringEquals": {key: "v"}}))).statements


def test_not_action_and_not_resource_leave_actions_that_carry_a_key():
    prefix = {"StringEquals": {"s3:prefix": "v"}}
    assert put(text(good(Action=None, NotAction="s3:GetObject", Effect="Deny", Condition=prefix))).statements
    assert put(text(good(Action="s3:ListBucket", Resource=None, NotResource=FILES, Effect="Deny", Condition=prefix))).statements


@pytest.mark.parametrize(
    ("changed", "message", "detail"),
    [
        ({"Action": "s3:GetNothing"}, "Policy has invalid action", "s3:GetNothing"),
        ({"Action": "ec2:RunInstances"}, "Policy has invalid action", "ec2:RunInstances"),
        ({"Action": ["s3:GetObject", "s3:ListBucket"]}, "Action does not apply to any resource(s) in statement", "s3:ListBucket"),
        ({"Action": "s3:GetObject", "Resource": DEMO}, "Action does not apply to any resource(s) in statement", "s3:GetObject"),
        ({"Action": "s3:ListBucket*"}, "Action does not apply to any resource(s) in statement", "s3:ListBucket*"),
    ],
)
def test_an_action_is_one_of_s3_that_acts_on_a_resource_of_its_statement(changed, message, detail):
    assert refused(**changed) == (message, detail)


def test_a_policy_of_exactly_twenty_kilobytes_is_read():
    policy = text(Id="")
    filled = text(Id="x" * (20 * 1024 - len(policy)))
    assert put(filled).statements


@pytest.mark.parametrize("who", [USER, "999999999999"])
def test_a_principal_that_does_not_exist_is_malformed(who):
    with pytest.raises(ApiError, match="MalformedPolicy"):
        put(text(good(Principal={"AWS": who})), principal_exists=lambda _: False)


def test_a_principal_that_is_none_is_named_where_s3_and_iam_name_it():
    assert refused(Principal={"AWS": "ann"}) == ("Invalid principal in policy", '"AWS" : "ann"')
    with pytest.raises(ApiError) as caught:
        check_trust_policy(text({**TRUST, "Principal": {"AWS": "ann"}}))
    assert caught.value.message == 'Invalid principal in policy: "AWS" : "ann"'


def test_star_and_services_need_not_exist():
    assert put(text(good(Principal={"AWS": "*", "Service": "s3.amazonaws.com"})), principal_exists=lambda _: False)


@pytest.mark.parametrize(
    ("action", "resource"),
    [("s3:GetObject", f"{POINT}/object/*"), ("s3:ListBucket", POINT), ("s3:*", [POINT, f"{POINT}/object/*"]), ("s3:*", f"{POINT}*")],
)
def test_a_good_access_point_policy_is_read(action, resource):
    assert check_access_point_policy(text(good(Action=action, Resource=resource)), POINT).statements


@pytest.mark.parametrize(
    ("action", "resource"),
    [("s3:GetObject", "arn:aws:s3:::demo/*"), ("s3:GetObject", POINT), ("s3:GetObject", f"{POINT}/a/*"), ("s3:ListBucket", f"{POINT}/object/*"), ("s3:GetObject", "*")],
)  # fmt: skip
def test_a_bad_access_point_policy_is_malformed(action, resource):
    with pytest.raises(ApiError, match="MalformedPolicy"):
        check_access_point_policy(text(good(Action=action, Resource=resource)), POINT)


MINE = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}


@pytest.mark.parametrize(
    "changed",
    [{}, {"Action": "ec2:RunInstances"}, {"Action": "*"}, {"Resource": "arn:aws:s3:::b/${aws:username}/*"}, {"Resource": "arn:aws:s3:*"}, {"Sid": "A1"}],
    ids=str,
)  # fmt: skip
def test_a_good_identity_policy_is_read(changed):
    assert check_identity_policy(text({**MINE, **changed})).statements


@pytest.mark.parametrize(
    "changed",
    [
        {"Principal": "*"}, {"Resource": "bucket"}, {"Resource": []}, {"Action": "GetObject"}, {"Action": []}, {"Effect": "x"},
        {"Action": "s3:Get Object"}, {"Condition": {"x": {"a:b": "c"}}}, {"Extra": "x"}, {"Resource": "arn:aws:s3"},
    ],
    ids=str,
)  # fmt: skip
def test_a_bad_identity_policy_is_malformed(changed):
    with pytest.raises(ApiError) as caught:
        check_identity_policy(text({**MINE, **changed}))
    assert (caught.value.code, caught.value.status) == ("MalformedPolicyDocument", 400)


def test_an_identity_policy_has_a_largest_size():
    with pytest.raises(ApiError, match="MalformedPolicyDocument"):
        check_identity_policy(text({**MINE, "Sid": "x" * 131_072}))


TRUST = {"Effect": "Allow", "Principal": {"AWS": A}, "Action": "sts:AssumeRole"}


@pytest.mark.parametrize(
    "changed",
    [{}, {"Principal": {"Service": "s3.amazonaws.com"}}, {"Action": ["sts:AssumeRole", "sts:TagSession"]}, {"Principal": "*"}, {"Action": "sts:*"}],
    ids=str,
)  # fmt: skip
def test_a_good_trust_policy_is_read(changed):
    assert check_trust_policy(text({**TRUST, **changed})).statements


@pytest.mark.parametrize(
    "changed",
    [{"Resource": "*"}, {"Action": "s3:GetObject"}, {"Action": "*"}, {"Principal": {}}, {"Principal": {"AWS": "ann"}}, {"Principal": "ann"}],
    ids=str,
)  # fmt: skip
def test_a_bad_trust_policy_is_malformed(changed):
    with pytest.raises(ApiError, match="MalformedPolicyDocument"):
        check_trust_policy(text({**TRUST, **changed}))


def test_a_public_policy_under_block_public_policy_is_refused_as_access_denied():
    assert (public_refused().code, public_refused().status) == ("AccessDenied", 403)
