from types import SimpleNamespace

import pytest

from atoll.domain.caller import ANONYMOUS, Authentication, Caller, ForwardedContext
from atoll.domain.errors import ApiError
from atoll.domain.http_message import Request
from atoll.gateway.authorize import Authorization, _LazyContext, authorize
from atoll.rules.policy.model import Attached
from atoll.rules.policy.parse import parse
from atoll.rules.policy.public_access import PublicAccess
from gateway.pipeline_setup import FakePolicyLookup, protection, statement

ACCOUNT, OTHER = "111122223333", "444455556666"
ADA = Caller("user", ACCOUNT, f"arn:aws:iam::{ACCOUNT}:user/ada", "AIDA", "ada")
STRANGER = Caller("user", OTHER, f"arn:aws:iam::{OTHER}:user/eve", "AIDE", "eve")
ROOT = Caller("root", ACCOUNT, f"arn:aws:iam::{ACCOUNT}:root")
KEY = "arn:aws:s3:::b/k"
POINT = f"arn:aws:s3::{ACCOUNT}:accesspoint/mabc.mrap"
OPEN_POINT = statement("Allow", "s3:GetObject", f"{POINT}/object/*")


def policies(*identity, buckets=None, mraps=None):
    import json

    attached = tuple(Attached(parse(json.dumps(_without_principal(one)), kind="identity"), "inline policy p") for one in identity)
    caller_policies = SimpleNamespace(identity=attached, boundary=None, session=())
    return FakePolicyLookup(SimpleNamespace(caller_policies=lambda caller: caller_policies if caller == ADA else SimpleNamespace(identity=(), boundary=None, session=())), None, buckets or {}, mraps or {})


def _without_principal(policy):
    return {**policy, "Statement": [{name: value for name, value in row.items() if name != "Principal"} for row in policy["Statement"]]}


def authorization(the_policies, caller=ADA, *, forwarded=None, operation="GetObject", params=None, headers=None):
    request = Request("GET", "/b/k", {"host": "127.0.0.1", **(headers or {})}, forwarded=forwarded)
    return Authorization(the_policies, request, caller, Authentication("REST-HEADER", "AWS4-HMAC-SHA256"), 1_800_000_000.0, "us-east-1", operation, params or {"Bucket": "b", "Key": "k"})


def refused(the_authorization, action="s3:GetObject", resource=KEY):
    with pytest.raises(ApiError) as caught:
        the_authorization.allow(action, resource)
    assert caught.value.code == "AccessDenied"
    return caught.value.message


def through(point=POINT, bucket="b"):
    return ForwardedContext("127.0.0.1", True, caller=ADA, access_point=point, access_point_account=ACCOUNT, bucket=bucket)


def test_the_root_user_may_all_that_is_hers():
    authorization(policies(buckets={"b": protection()}), ROOT).allow("s3:GetObject", KEY)


def test_a_user_without_a_policy_may_nothing_and_is_told_what_was_missing():
    message = refused(authorization(policies(buckets={"b": protection()})))
    assert ADA.arn in message
    assert "s3:GetObject on resource: arn:aws:s3:::b/k" in message


def test_an_identity_policy_is_enough_in_the_own_account():
    authorization(policies(statement("Allow", "s3:Get*", "arn:aws:s3:::b/*"), buckets={"b": protection()})).allow("s3:GetObject", KEY)


def test_a_deny_of_the_bucket_beats_an_allow_of_the_user_and_the_refusal_names_it():
    denies = protection(statement("Deny", "s3:GetObject", KEY))
    message = refused(authorization(policies(statement("Allow", "s3:*", "*"), buckets={"b": denies})))
    assert "explicit deny" in message
    assert 'bucket policy of b, statement "DenyIt"' in message


def test_a_stranger_is_not_told_why():
    assert refused(authorization(policies(buckets={"b": protection()}), STRANGER)) == "Access Denied"
    assert refused(authorization(policies(buckets={"b": protection()}), ANONYMOUS)) == "Access Denied"


def test_nobody_may_read_what_a_bucket_policy_opens_to_all():
    open_bucket = protection(statement("Allow", "s3:GetObject", "arn:aws:s3:::b/*"))
    authorization(policies(buckets={"b": open_bucket}), ANONYMOUS).allow("s3:GetObject", KEY)


def test_restrict_public_buckets_closes_it_again():
    shut = protection(statement("Allow", "s3:GetObject", "arn:aws:s3:::b/*"), blocks=PublicAccess(restrict_public_buckets=True))
    refused(authorization(policies(buckets={"b": shut}), ANONYMOUS))


def test_every_decision_is_kept_for_the_log():
    asked = authorization(policies(statement("Allow", "s3:GetObject", "*"), buckets={"b": protection()}))
    assert asked.may("s3:GetObject", KEY)
    assert not asked.may("s3:PutObject", KEY)
    assert [(one.action, one.outcome) for one in asked.decided] == [("s3:GetObject", "Allowed"), ("s3:PutObject", "ImplicitlyDenied")]
    assert asked.decided[0].statement == 'inline policy p, statement "AllowIt"'


# -- through an access point


def test_access_point_and_bucket_must_both_allow_each_under_its_own_arn():
    both = statement("Allow", "s3:GetObject", [f"{POINT}/object/*", "arn:aws:s3:::b/*"])
    authorization(policies(both, buckets={"b": protection()}, mraps={POINT: protection()}), forwarded=through()).allow("s3:GetObject", KEY)


@pytest.mark.parametrize("resource", [f"{POINT}/object/*", "arn:aws:s3:::b/*"])
def test_one_of_the_two_is_not_enough(resource):
    one = statement("Allow", "s3:GetObject", resource)
    refused(authorization(policies(one, buckets={"b": protection()}, mraps={POINT: protection()}), forwarded=through()))


def test_a_policy_of_the_access_point_denies_what_the_bucket_allows():
    allow = statement("Allow", "s3:GetObject", "*")
    point = protection(statement("Deny", "s3:GetObject", f"{POINT}/object/k"), source="policy of the access point")
    message = refused(authorization(policies(allow, buckets={"b": protection()}, mraps={POINT: point}), forwarded=through()))
    assert "policy of the access point" in message


def test_the_bucket_sees_the_access_point_in_its_conditions():
    allow = statement("Allow", "s3:GetObject", "*")
    bucket = protection(statement("Deny", "s3:GetObject", KEY, Condition={"StringEquals": {"s3:DataAccessPointArn": POINT}}))
    the_policies = policies(allow, buckets={"b": bucket}, mraps={POINT: protection()})
    refused(authorization(the_policies, forwarded=through()))
    authorization(the_policies).allow("s3:GetObject", KEY)


def test_the_stricter_of_the_two_public_access_blocks_counts():
    open_bucket = protection(statement("Allow", "s3:GetObject", "arn:aws:s3:::b/*"))
    shut_point = protection(OPEN_POINT, blocks=PublicAccess(restrict_public_buckets=True))
    the_policies = policies(buckets={"b": open_bucket}, mraps={POINT: shut_point})
    refused(authorization(the_policies, STRANGER, forwarded=through()))


def test_another_bucket_of_the_same_call_is_not_reached_through_the_access_point():
    allow = statement("Allow", "s3:GetObject", "arn:aws:s3:::source/*")
    the_policies = policies(allow, buckets={"b": protection(), "source": protection()}, mraps={POINT: protection()})
    authorization(the_policies, forwarded=through()).allow("s3:GetObject", "arn:aws:s3:::source/k")


def test_an_access_point_that_was_deleted_meanwhile_lets_nobody_through():
    with pytest.raises(ApiError, match="NoSuchMultiRegionAccessPoint"):
        authorization(policies(statement("Allow", "s3:*", "*"), buckets={"b": protection()}), forwarded=through()).allow("s3:GetObject", KEY)


# -- what an operation needs


def required_actions(the_authorization, **more):
    given = {"bucket": "b", "key": "k", "headers": {}, "source": None} | more
    authorize(the_authorization, "s3", **given)
    return [(one.action, one.resource) for one in the_authorization.decided]


def test_a_write_with_tags_needs_the_right_to_tag():
    allowed = policies(statement("Allow", "s3:PutObject", "*"), buckets={"b": protection()})
    assert required_actions(authorization(allowed, operation="PutObject")) == [("s3:PutObject", KEY)]
    with pytest.raises(ApiError, match="s3:PutObjectTagging"):
        required_actions(authorization(allowed, operation="PutObject", params={"Bucket": "b", "Key": "k", "Tagging": "a=b"}))


def test_a_copy_needs_the_right_to_read_its_source():
    allowed = policies(statement("Allow", "s3:*", "arn:aws:s3:::b/*"), buckets={"b": protection(), "secret": protection()})
    with pytest.raises(ApiError, match="arn:aws:s3:::secret/k"):
        required_actions(authorization(allowed, operation="CopyObject"), source=("secret", "k", ""))


def test_a_given_version_is_another_right():
    allowed = policies(statement("Allow", "s3:GetObject", "*"), buckets={"b": protection()})
    with pytest.raises(ApiError, match="s3:GetObjectVersion"):
        required_actions(authorization(allowed, params={"Bucket": "b", "Key": "k", "VersionId": "v"}))


# -- what conditions are told


def only_if(operator, key, value, action="s3:*"):
    return statement("Allow", action, "*", Condition={operator: {key: value}})


def test_the_facts_of_a_call_are_gathered_once_and_only_when_a_condition_asks():
    made = []

    class Telling:
        def context(self, action, resource, account):
            made.append((action, resource, account))
            return {"aws:username": "ada"}

    context = _LazyContext(Telling(), "s3:GetObject", KEY, ACCOUNT)
    assert made == []
    assert [context.get(key) for key in ("aws:username", "aws:userid", "aws:username")] == ["ada", None, "ada"]
    assert made == [("s3:GetObject", KEY, ACCOUNT)]


def test_whether_a_missing_key_may_be_called_missing_is_asked_as_a_listing_of_that_key():
    the_policies = policies(only_if("StringLike", "s3:prefix", "open/*", "s3:ListBucket"), buckets={"b": protection()})
    asked = [authorization(the_policies, params={"Bucket": "b", "Key": key}).may("s3:ListBucket", "arn:aws:s3:::b") for key in ("open/k", "secret/k")]
    assert asked == [True, False]


def test_a_listing_itself_is_judged_by_its_own_prefix():
    the_policies = policies(only_if("StringEquals", "s3:prefix", "open/", "s3:ListBucket"), buckets={"b": protection()})
    asked = [authorization(the_policies, operation="ListObjectsV2", params={"Bucket": "b", "Prefix": prefix}).may("s3:ListBucket", "arn:aws:s3:::b") for prefix in ("open/", "secret/")]
    assert asked == [True, False]


def test_the_tags_that_were_read_speak_for_the_object_that_has_them_and_for_no_other():
    asked = authorization(policies(only_if("StringEquals", "s3:ExistingObjectTag/team", "a"), buckets={"b": protection()}))
    assert not asked.may("s3:GetObject", KEY)
    asked.tagged, asked.existing_tags = KEY, {"team": "a"}
    assert [asked.may("s3:GetObject", resource) for resource in (KEY, f"{KEY}2")] == [True, False]


@pytest.mark.parametrize(("params", "held", "allowed"), [({}, "", False), ({}, "arn:limit", True), ({"PermissionsBoundary": "arn:limit"}, "", True), ({"PermissionsBoundary": "arn:other"}, "arn:limit", False)])
def test_the_boundary_that_a_call_gives_goes_before_the_one_that_its_user_has(params, held, allowed):
    asked = authorization(policies(only_if("StringEquals", "iam:PermissionsBoundary", "arn:limit", "iam:*")), operation="CreateUser", params={"UserName": "bob", **params})
    asked.boundary = held
    assert asked.may("iam:CreateUser", f"arn:aws:iam::{ACCOUNT}:user/bob") is allowed


def test_only_a_role_that_is_handed_over_has_somebody_it_is_handed_to():
    asked = authorization(policies(only_if("StringEquals", "iam:PassedToService", "s3.amazonaws.com", "iam:*")), operation="PutBucketReplication")
    role = f"arn:aws:iam::{ACCOUNT}:role/copier"
    assert [asked.may(action, role) for action in ("iam:PassRole", "iam:GetRole")] == [True, False]


# -- whose resource, and what else limits her


@pytest.mark.parametrize("limit", ["boundary", "session"])
def test_a_boundary_and_a_session_policy_take_away_what_the_own_policy_gives(limit):
    the_policies = policies(statement("Allow", "s3:*", "*"), buckets={"b": protection()})
    caller_policies = the_policies.identities.caller_policies(ADA)
    reading = parse('{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}}', kind="identity")
    setattr(caller_policies, limit, reading if limit == "boundary" else (reading,))
    asked = authorization(the_policies)
    assert [asked.may(action, KEY) for action in ("s3:GetObject", "s3:PutObject")] == [True, False]


def test_a_bucket_of_another_account_needs_both_sides():
    mine = statement("Allow", "s3:GetObject", "*")
    closed, opened = protection(account=OTHER), protection(statement("Allow", "s3:GetObject", "arn:aws:s3:::b/*"), account=OTHER)
    assert [authorization(policies(*own, buckets={"b": bucket})).may("s3:GetObject", KEY) for own, bucket in (([mine], closed), ([], opened), ([mine], opened))] == [False, False, True]


def test_a_bucket_that_there_is_not_is_judged_by_the_own_policy_alone():
    assert authorization(policies(statement("Allow", "s3:CreateBucket", "*"))).may("s3:CreateBucket", "arn:aws:s3:::new")
    assert not authorization(policies()).may("s3:CreateBucket", "arn:aws:s3:::new")


def test_a_refusal_is_kept_for_the_log_before_it_is_raised():
    asked = authorization(policies(buckets={"b": protection()}))
    refused(asked)
    assert [(one.action, one.resource, one.outcome) for one in asked.decided] == [("s3:GetObject", KEY, "ImplicitlyDenied")]


def test_the_first_need_that_is_refused_ends_the_questions():
    asked = authorization(policies(statement("Deny", "s3:PutObject", "*"), buckets={"b": protection()}), operation="PutObject", params={"Bucket": "b", "Key": "k", "Tagging": "a=b"})
    with pytest.raises(ApiError, match="explicit deny"):
        required_actions(asked)
    assert [one.action for one in asked.decided] == ["s3:PutObject"]
