import json

import pytest

from atoll.domain.caller import Authentication, Caller
from atoll.domain.errors import ApiError
from atoll.domain.http_message import Request
from atoll.rules.policy.condition_keys import UNFILLED, UNFILLED_TAGS, check_filled, check_key
from atoll.rules.policy.context import FILLED, TAG_KEYS, request_context
from atoll.rules.policy.validate import check_bucket_policy, check_identity_policy, check_trust_policy


def refused(key):
    with pytest.raises(ApiError) as caught:
        check_key(key, "resource")
    return caught.value.code, caught.value.message


def denying(key, **more):
    statement = {"Effect": "Deny", "Action": "s3:GetObject", "Condition": {"StringEquals": {key: "v"}}, **more}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


@pytest.mark.parametrize("key", ["aws:TokenIssueTime", "s3:BucketTag/team", "aws:ResourceTag/team", "iam:AssociatedResourceArn"])
def test_a_key_that_aws_fills_and_we_do_not_is_not_implemented_and_named(key):
    with pytest.raises(ApiError, match=f"NotImplemented.*{key}"):
        check_filled(["aws:sourceip", key])


@pytest.mark.parametrize("key", ["s3:prefx", "aws:SourceIpp", "s3:ExistingObjectTags/team", "aws:PrincipalTags/team", "s3:prefix/team"])
def test_a_misspelt_key_in_a_resource_policy_is_refused(key):
    assert refused(key) == ("MalformedPolicy", f"Policy has an invalid condition key: {key}.")


@pytest.mark.parametrize(
    "key", ["AWS:sourceIP", "s3:ExistingObjectTag/a b", "s3:x-amz-meta-mine", "aws:SourceVpce", "aws:PrincipalOrgID", "saml:aud", "s3:Prefix", "ec2:ResourceTag/a", "aws:AssumedRoot"]
)
@pytest.mark.parametrize("kind", ["resource", "identity", "trust"])
def test_keys_that_we_fill_or_that_no_request_here_can_carry_may_be_used(key, kind):
    check_key(key, kind)
    check_filled([key])


def test_identity_policies_may_speak_of_other_services():
    check_key("ec2:Region", "identity")
    check_key("dynamodb:LeadingKeys", "identity")


def test_no_key_is_both_filled_and_not():
    assert not (FILLED & UNFILLED)
    assert not (TAG_KEYS & UNFILLED_TAGS)


def test_policies_are_asked_when_they_are_put():
    here = {"Resource": "arn:aws:s3:::demo/*", "Principal": "*"}
    with pytest.raises(ApiError, match="NotImplemented.*s3:buckettag/team"):
        check_bucket_policy(denying("s3:BucketTag/team", **here), "demo", principal_exists=lambda _: True)
    with pytest.raises(ApiError, match="NotImplemented"):
        check_identity_policy(denying("aws:TokenIssueTime", Resource="*"))
    with pytest.raises(ApiError, match="NotImplemented.*aws:resourcetag/team"):
        check_identity_policy(denying("aws:PrincipalTag/team", Resource="*").replace('"v"', '"${aws:ResourceTag/team}"'))
    with pytest.raises(ApiError, match="NotImplemented"):
        check_bucket_policy(denying("aws:username", **{**here, "Resource": "arn:aws:s3:::demo/${aws:TokenIssueTime}"}), "demo", principal_exists=lambda _: True)
    trust = {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole", "Condition": {"StringEquals": {"aws:ResourceTag/a": "b"}}}
    with pytest.raises(ApiError, match="NotImplemented"):
        check_trust_policy(json.dumps({"Version": "2012-10-17", "Statement": [trust]}))


def asked(caller, key):
    return request_context(
        request=Request("GET", "/", {}), caller=caller, authentication=Authentication(), now=0.0, region="us-east-1", resource_account="", params={}, operation="GetObject"
    ).get(key)


@pytest.mark.parametrize(
    ("caller", "factor", "via"),
    [
        (Caller("user", "1", access_key="AKIA1"), None, "false"),
        (Caller("user", "1", access_key="ASIA1"), "false", "false"),
        (Caller("role", "1", access_key="ASIA1"), "false", "false"),
        (Caller("role", "1"), "false", "false"),
        (Caller("anonymous"), None, None),
    ],
)
def test_nobody_has_a_second_factor_and_temporary_credentials_say_so(caller, factor, via):
    assert asked(caller, "aws:multifactorauthpresent") == factor
    assert asked(caller, "aws:viaawsservice") == via
