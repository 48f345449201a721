"""STS: who asks, and who else they may be. IAM stands behind it, as in a node."""

import asyncio
import inspect
from datetime import UTC, datetime

import botocore.session
import pytest

from atoll.domain.caller import ANONYMOUS, Caller
from atoll.domain.errors import ApiError
from atoll.rules.policy.validate import check_identity_policy
from atoll.services.sts.dependencies import Dependencies
from atoll.services.sts.operations import OPERATIONS
from services.iam.iam_world import NOW, World

A = "111122223333"
ROLE = f"arn:aws:iam::{A}:role/r"
POLICY = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:*","Resource":"*"}]}'
DENY_ALL = '{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Action":"*","Resource":"*"}]}'
MODEL = botocore.session.get_session().get_service_model("sts")
LATER = {
    "AssumeRole": {
        "MinimumSessionTokenSize",
        "PolicyArns",
        "ProvidedContexts",
        "SerialNumber",
        "SourceIdentity",
        "TokenCode",
        "TransitiveTagKeys",
    },
    "GetSessionToken": {"MinimumSessionTokenSize", "SerialNumber", "TokenCode"},
}


class Sts(World):
    """The world, asked through STS; `iam` asks its IAM."""

    def __init__(self) -> None:
        super().__init__()
        self.sts = Dependencies(
            role=self.identities.role,
            may_assume=self.identities.may_assume,
            context=lambda call: {"aws:sourceip": "192.0.2.1"},
            encrypt_session=self.identities.encrypt_session,
            random_bytes=self.random_bytes,
            check_session_policy=check_identity_policy,
        )

    def get(self, operation: str, caller: Caller, **members: object):
        return asyncio.run(OPERATIONS[operation](self.sts, self.call(operation, caller), **members)).members

    def assume(self, caller: Caller, **members: object):
        return self.get("AssumeRole", caller, **{"RoleArn": ROLE, "RoleSessionName": "session", **members})

    def holder(self, credentials) -> Caller:
        key = self.identities.key(credentials["AccessKeyId"], credentials["SessionToken"], NOW)
        assert key.secret == credentials["SecretAccessKey"]
        return key.caller

    def role(self, principal: str, condition: str = "", action: str = '["sts:AssumeRole","sts:TagSession"]', **members) -> None:
        text = (
            '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"'
            + principal + '"},"Action":' + action + condition + "}]}"
        )  # fmt: skip
        self.ask("CreateRole", RoleName="r", AssumeRolePolicyDocument=text, **members)


@pytest.fixture
def world():
    world = Sts()
    yield world
    world.state.close()


@pytest.fixture
def alice(world):
    """A user whom the role r trusts."""
    alice = world.user("alice")
    world.role(alice.arn)
    return alice


def code(ask, *args, **members) -> str:
    with pytest.raises(ApiError) as caught:
        ask(*args, **members)
    return caught.value.code


# GetCallerIdentity


def test_the_root_user_is_told_who_it_is(world):
    assert world.get("GetCallerIdentity", world.root) == {"UserId": A, "Account": A, "Arn": f"arn:aws:iam::{A}:root"}


def test_a_user_is_told_who_it_is(world):
    alice = world.user("alice", Path="/dev/")
    assert world.get("GetCallerIdentity", alice) == {
        "UserId": alice.user_id,
        "Account": A,
        "Arn": f"arn:aws:iam::{A}:user/dev/alice",
    }


def test_a_session_is_told_who_it_is(world, alice):
    caller = world.holder(world.assume(alice)["Credentials"])
    identity = world.get("GetCallerIdentity", caller)
    assert identity["Arn"] == f"arn:aws:sts::{A}:assumed-role/r/session"
    assert identity["UserId"] == f"{world.identities.role(ROLE).id}:session"


@pytest.mark.parametrize("operation", ["GetCallerIdentity", "GetSessionToken"])
def test_whoever_signed_nothing_is_nobody(world, operation):
    assert code(world.get, operation, ANONYMOUS) == "MissingAuthenticationToken"
    assert code(world.assume, ANONYMOUS) == "MissingAuthenticationToken"


# AssumeRole


def test_an_assumed_role_has_credentials_that_work(world, alice):
    output = world.assume(alice)
    assert output["Credentials"]["AccessKeyId"].startswith("ASIA")
    assert len(output["Credentials"]["SecretAccessKey"]) == 40
    assert output["Credentials"]["Expiration"] == datetime.fromtimestamp(1_800_003_600, UTC)
    assert output["AssumedRoleUser"] == {
        "AssumedRoleId": f"{world.identities.role(ROLE).id}:session",
        "Arn": f"arn:aws:sts::{A}:assumed-role/r/session",
    }
    caller = world.holder(output["Credentials"])
    assert (caller.kind, caller.arn, caller.role_arn) == ("role", output["AssumedRoleUser"]["Arn"], ROLE)


def test_every_session_has_a_key_of_its_own(world, alice):
    assert world.assume(alice)["Credentials"]["AccessKeyId"] != world.assume(alice)["Credentials"]["AccessKeyId"]


def test_credentials_expire_when_they_say(world, alice):
    credentials = world.assume(alice, DurationSeconds=900)["Credentials"]
    assert credentials["Expiration"] == datetime.fromtimestamp(1_800_000_900, UTC)
    assert (
        code(world.identities.key, credentials["AccessKeyId"], credentials["SessionToken"], 1_800_000_900.0) == "ExpiredToken"
    )


def test_whom_the_role_does_not_trust_is_refused(world, alice):
    assert code(world.assume, world.user("bob")) == "AccessDenied"


def test_a_role_that_is_not_there_is_refused_like_any_other(world, alice):
    assert code(world.assume, alice, RoleArn=ROLE + "x") == "AccessDenied"
    assert code(world.assume, alice, RoleArn="arn:aws:iam::999999999999:role/r") == "AccessDenied"


def test_a_refusal_names_caller_action_and_role(world, alice):
    with pytest.raises(ApiError, match=r"User: arn:aws:iam::\d+:user/bob .* sts:AssumeRole on resource: arn:aws:iam::\d+:role/r"):
        world.assume(world.user("bob"))


def test_the_root_user_assumes_no_role(world):
    world.role(A)
    assert code(world.assume, world.root) == "AccessDenied"


def test_a_role_that_trusts_the_account_leaves_it_to_identity_policies(world):
    bob = world.user("bob")
    world.role(A)
    assert code(world.assume, bob) == "AccessDenied"
    world.ask("PutUserPolicy", UserName="bob", PolicyName="p", PolicyDocument=POLICY.replace("s3:*", "sts:AssumeRole"))
    assert world.assume(bob)["AssumedRoleUser"]["Arn"].endswith("r/session")


def test_an_explicit_deny_stands_above_trust(world, alice):
    world.ask("PutUserPolicy", UserName="alice", PolicyName="p", PolicyDocument=DENY_ALL)
    assert code(world.assume, alice) == "AccessDenied"
    assert world.get("GetCallerIdentity", alice)["Account"] == A


def test_an_external_id_is_asked_for_by_the_trust_policy(world):
    bob = world.user("bob")
    world.role(bob.arn, ',"Condition":{"StringEquals":{"sts:ExternalId":"open/sesame"}}')
    assert code(world.assume, bob) == "AccessDenied"
    assert code(world.assume, bob, ExternalId="wrong") == "AccessDenied"
    assert "Credentials" in world.assume(bob, ExternalId="open/sesame")


def test_a_session_name_may_be_asked_for_by_the_trust_policy(world):
    bob = world.user("bob")
    world.role(bob.arn, ',"Condition":{"StringEquals":{"sts:RoleSessionName":"${aws:username}"}}')
    assert code(world.assume, bob) == "AccessDenied"


def test_the_request_itself_may_be_asked_for_by_the_trust_policy(world):
    bob = world.user("bob")
    world.role(bob.arn, ',"Condition":{"IpAddress":{"aws:SourceIp":"192.0.2.0/24"}}')
    assert "Credentials" in world.assume(bob)


def test_session_tags_become_principal_tags(world, alice):
    caller = world.holder(world.assume(alice, Tags=[{"Key": "Team", "Value": "a b"}])["Credentials"])
    assert caller.tags == {"Team": "a b"}


def test_session_tags_want_a_permission_of_their_own(world):
    bob = world.user("bob")
    world.role(bob.arn, action='"sts:AssumeRole"')
    assert "Credentials" in world.assume(bob)
    assert code(world.assume, bob, Tags=[{"Key": "team", "Value": "a"}]) == "AccessDenied"


def test_session_tags_may_be_asked_for_by_the_trust_policy(world):
    bob = world.user("bob")
    world.role(bob.arn, ',"Condition":{"StringEquals":{"aws:RequestTag/team":"a"}}')
    assert code(world.assume, bob, Tags=[{"Key": "team", "Value": "b"}]) == "AccessDenied"
    assert "Credentials" in world.assume(bob, Tags=[{"Key": "team", "Value": "a"}])


def test_a_session_policy_travels_with_the_session(world, alice):
    output = world.assume(alice, Policy=POLICY)
    assert world.holder(output["Credentials"]).session_policy == POLICY
    assert 0 < output["PackedPolicySize"] <= 100


def test_a_session_policy_must_be_a_policy(world, alice):
    assert code(world.assume, alice, Policy="{}") == "MalformedPolicyDocument"
    assert code(world.assume, alice, Policy="{" + " " * 2048 + POLICY[1:]) == "ValidationError"


def test_policy_and_tags_share_the_room_in_a_token(world, alice):
    tags = [{"Key": f"key-{n}", "Value": "v" * 256} for n in range(20)]
    assert code(world.assume, alice, Tags=tags) == "PackedPolicyTooLarge"


@pytest.mark.parametrize("name", ["", "a", "a b", "x" * 65, "a/b", "ü2"])
def test_a_session_name_follows_the_rule(world, alice, name):
    assert code(world.assume, alice, RoleSessionName=name) == "ValidationError"


@pytest.mark.parametrize("seconds", [899, 43_201])
def test_a_session_lasts_a_quarter_of_an_hour_to_twelve_hours(world, alice, seconds):
    assert code(world.assume, alice, DurationSeconds=seconds) == "ValidationError"


def test_a_session_lasts_no_longer_than_its_role_allows(world):
    bob = world.user("bob")
    world.role(bob.arn, MaxSessionDuration=7200)
    assert code(world.assume, bob, DurationSeconds=7201) == "ValidationError"
    assert world.assume(bob, DurationSeconds=7200)["Credentials"]["Expiration"] == datetime.fromtimestamp(1_800_007_200, UTC)


def test_a_chained_session_lasts_an_hour_at_most(world):
    world.role(ROLE, MaxSessionDuration=43_200)
    bob = world.user("bob")
    trust_bob = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"AWS":"%s"},"Action":"sts:AssumeRole"}]}'
    world.ask("CreateRole", RoleName="first", AssumeRolePolicyDocument=trust_bob % bob.arn)
    first = world.holder(world.assume(bob, RoleArn=f"arn:aws:iam::{A}:role/first")["Credentials"])
    world.ask("UpdateAssumeRolePolicy", RoleName="r", PolicyDocument=trust_bob % f"arn:aws:iam::{A}:role/first")
    assert code(world.assume, first, DurationSeconds=3601) == "ValidationError"
    assert "Credentials" in world.assume(first, DurationSeconds=3600)


@pytest.mark.parametrize("external_id", ["x", "a b", "x" * 1225])
def test_an_external_id_follows_the_rule(world, alice, external_id):
    assert code(world.assume, alice, ExternalId=external_id) == "ValidationError"


@pytest.mark.parametrize(
    "tags",
    [
        [{"Key": "", "Value": "v"}],
        [{"Value": "v"}],
        [{"Key": "k"}],
        [{"Key": "k" * 129, "Value": "v"}],
        [{"Key": "k", "Value": "v" * 257}],
        [{"Key": "k", "Value": "<"}],
        [{"Key": "k", "Value": "1"}, {"Key": "K", "Value": "2"}],
        [{"Key": f"k{n}", "Value": ""} for n in range(51)],
    ],
)
def test_tags_follow_the_rule(world, alice, tags):
    assert code(world.assume, alice, Tags=tags) == "ValidationError"


# GetSessionToken


def test_a_user_gets_temporary_credentials_of_its_own(world, alice):
    credentials = world.get("GetSessionToken", alice)["Credentials"]
    caller = world.holder(credentials)
    assert (caller.kind, caller.arn, caller.user_id) == ("user", alice.arn, alice.user_id)
    assert credentials["AccessKeyId"].startswith("ASIA")
    assert credentials["Expiration"] == datetime.fromtimestamp(1_800_043_200, UTC)


def test_the_root_user_gets_an_hour_whatever_it_asks_for(world):
    assert world.holder(world.get("GetSessionToken", world.root)["Credentials"]).kind == "root"
    credentials = world.get("GetSessionToken", world.root, DurationSeconds=129_600)["Credentials"]
    assert credentials["Expiration"] == datetime.fromtimestamp(1_800_003_600, UTC)


@pytest.mark.parametrize("seconds", [899, 129_601])
def test_temporary_credentials_last_up_to_a_day_and_a_half(world, alice, seconds):
    assert code(world.get, "GetSessionToken", alice, DurationSeconds=seconds) == "ValidationError"


def test_temporary_credentials_get_no_further_ones(world, alice):
    temporary = world.holder(world.get("GetSessionToken", alice)["Credentials"])
    assert code(world.get, "GetSessionToken", temporary) == "AccessDenied"
    in_role = world.holder(world.assume(alice)["Credentials"])
    assert code(world.get, "GetSessionToken", in_role) == "AccessDenied"


# the support matrix


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_an_operation_is_called_as_aws_calls_it_and_takes_its_members(name):
    taken = {
        parameter.name: parameter.default is parameter.empty
        for parameter in inspect.signature(OPERATIONS[name]).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY
    }
    shape = MODEL.operation_model(name).input_shape
    assert OPERATIONS[name].__name__ == name
    assert {member for member, needed in taken.items() if needed} == set(shape.required_members)
    assert set(shape.members) - set(taken) == LATER.get(name, set())
    assert set(taken) <= set(shape.members)
