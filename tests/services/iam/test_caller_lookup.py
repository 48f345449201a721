"""Keys, callers and their policies, as the gateway asks for them."""

import asyncio

import pytest

from atoll.control_store import ControlStore
from atoll.domain.caller import ANONYMOUS, Caller
from atoll.domain.errors import ApiError
from atoll.rules.session_token import Session
from atoll.services.iam.caller_lookup import CACHED_MAX, Identities
from atoll.services.iam.records import USERS

NOW = 1_800_000_000.5
A = "111122223333"
ROLE = f"arn:aws:iam::{A}:role/r"
ADMIN = "arn:aws:iam::aws:policy/AdministratorAccess"
READ_ONLY = "arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess"
POLICY = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:*","Resource":"*"}]}'
S3 = Caller("service", service="s3.amazonaws.com", name="s3-replication", source_arn="arn:aws:s3:::b")


def trust(principal: str, extra: str = "", action: str = '"sts:AssumeRole"') -> str:
    return (
        '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":' + principal + ',"Action":' + action + extra + "}]}"
    )


S3_TRUST = trust('{"Service":"s3.amazonaws.com"}')


def code(ask, *args, **members) -> str:
    with pytest.raises(ApiError) as caught:
        ask(*args, **members)
    return caught.value.code


def session(world, *, expires=2_000_000_000, **fields) -> tuple[Session, str]:
    made = Session(access_key="ASIAAAAAAAAAAAAAAAAA", secret="s", issued=0, expires=expires, **fields)
    return made, world.identities.encrypt_session(made)


def role(world, text: str = S3_TRUST, **members) -> str:
    return world.ask("CreateRole", RoleName="r", AssumeRolePolicyDocument=text, **members).members["Role"]["RoleId"]


def allows(world, caller: Caller, arn: str = ROLE, **context) -> bool:
    return world.identities.may_assume(caller, arn, context).allowed


# keys


def test_the_root_key_belongs_to_the_root_user(world):
    key = world.identities.key(world.root_record.access_key, "", NOW)
    assert key.secret == world.root_record.secret
    assert key.caller == Caller("root", A, f"arn:aws:iam::{A}:root", A, access_key=world.root_record.access_key)
    assert (key.active, key.expires, key.token) == (True, 0.0, "")


def test_a_key_that_nobody_has_is_unknown(world):
    assert world.identities.key("AKIAIOSFODNN7EXAMPLE", "", NOW) is None
    assert world.identities.key("", "", NOW) is None


def test_a_users_key_tells_who_it_is(world):
    alice = world.user("alice", Path="/dev/", Tags=[{"Key": "team", "Value": "a"}])
    assert (alice.kind, alice.account, alice.name) == ("user", A, "alice")
    assert alice.arn == f"arn:aws:iam::{A}:user/dev/alice"
    assert alice.user_id.startswith("AIDA")
    assert alice.tags == {"team": "a"}


def test_the_same_caller_is_returned_until_something_changes(world):
    alice = world.user("alice")
    assert world.identities.key(alice.access_key, "", NOW).caller is world.identities.key(alice.access_key, "", NOW).caller


def test_a_deleted_key_is_unknown_at_once(world):
    alice = world.user("alice")
    world.ask("DeleteAccessKey", UserName="alice", AccessKeyId=alice.access_key)
    assert world.identities.key(alice.access_key, "", NOW) is None


def test_a_lasting_key_has_no_session_token(world):
    assert code(world.identities.key, world.root_record.access_key, "token", NOW) == "InvalidToken"


def test_a_secret_does_not_get_into_a_log(world):
    assert world.root_record.secret not in repr(world.identities.key(world.root_record.access_key, "", NOW))


def test_strangers_push_no_key_out_of_memory(world):
    alice = world.user("alice")
    kept = world.identities.key(alice.access_key, "", NOW)
    for n in range(CACHED_MAX + 1):
        world.identities.key(f"AKIA{n:016}", "", NOW)
    assert world.identities.key(alice.access_key, "", NOW) is kept


# temporary keys


def test_a_role_session_is_known_by_its_token_alone(world):
    made, token = session(
        world, kind="role", user_id=role(world), name="r", session="alice", session_policy=POLICY, tags={"k": "v"}
    )
    key = world.identities.key(made.access_key, token, NOW)
    assert (key.secret, key.token, key.expires, key.active) == ("s", token, 2_000_000_000.0, True)
    caller = key.caller
    assert (caller.kind, caller.name, caller.role_arn) == ("role", "r", ROLE)
    assert caller.arn == f"arn:aws:sts::{A}:assumed-role/r/alice"
    assert caller.user_id == f"{made.user_id}:alice"
    assert (caller.session_policy, caller.tags, caller.access_key) == (POLICY, {"k": "v"}, made.access_key)


def test_another_process_of_the_world_knows_the_token_too(world):
    made, token = session(world, kind="root", user_id=A)
    elsewhere = Identities(world.state, world.random_bytes)
    assert elsewhere.key(made.access_key, token, NOW).caller.kind == "root"


def test_session_tags_win_over_the_tags_of_the_role(world):
    identity = role(world, Tags=[{"Key": "k", "Value": "role"}, {"Key": "own", "Value": "x"}])
    made, token = session(world, kind="role", user_id=identity, name="r", session="s", tags={"k": "session"})
    assert world.identities.key(made.access_key, token, NOW).caller.tags == {"k": "session", "own": "x"}


def test_a_session_of_a_user_is_the_user(world):
    alice = world.user("alice")
    made, token = session(world, kind="user", user_id=alice.user_id, name="alice")
    caller = world.identities.key(made.access_key, token, NOW).caller
    assert (caller.kind, caller.arn, caller.user_id) == ("user", alice.arn, alice.user_id)


def test_a_temporary_key_without_its_token_is_unknown(world):
    session(world, kind="root", user_id=A)
    assert world.identities.key("ASIAAAAAAAAAAAAAAAAA", "", NOW) is None


def test_a_token_belongs_to_one_key(world):
    _, token = session(world, kind="root", user_id=A)
    assert code(world.identities.key, "ASIABBBBBBBBBBBBBBBB", token, NOW) == "InvalidToken"
    assert code(world.identities.key, "ASIAAAAAAAAAAAAAAAAA", "x" + token[1:], NOW) == "InvalidToken"


def test_a_token_expires_to_the_second(world):
    made, token = session(world, kind="root", user_id=A, expires=1_800_000_010)
    assert world.identities.key(made.access_key, token, 1_800_000_009.99) is not None
    assert code(world.identities.key, made.access_key, token, 1_800_000_010.0) == "ExpiredToken"


def test_a_session_ends_with_its_role_and_a_namesake_does_not_inherit_it(world):
    made, token = session(world, kind="role", user_id=role(world), name="r", session="s")
    world.ask("DeleteRole", RoleName="r")
    assert world.identities.key(made.access_key, token, NOW) is None
    role(world)
    assert world.identities.key(made.access_key, token, NOW) is None


def test_a_session_ends_with_its_user(world):
    alice = world.user("alice")
    made, token = session(world, kind="user", user_id=alice.user_id, name="alice")
    world.ask("DeleteAccessKey", UserName="alice", AccessKeyId=alice.access_key)
    world.ask("DeleteUser", UserName="alice")
    assert world.identities.key(made.access_key, token, NOW) is None


# policies


def test_inline_and_attached_policies_are_a_users_own(world):
    alice = world.user("alice")
    world.ask("PutUserPolicy", UserName="alice", PolicyName="mine", PolicyDocument=POLICY)
    world.ask("AttachUserPolicy", UserName="alice", PolicyArn=ADMIN)
    assert [attached.source for attached in world.identities.policies(alice)] == ["inline policy mine", f"policy {ADMIN}"]


def test_a_policy_is_parsed_once_until_its_text_changes(world):
    alice = world.user("alice")
    world.ask("PutUserPolicy", UserName="alice", PolicyName="p", PolicyDocument=POLICY)
    before = world.identities.policies(alice)[0].policy
    world.ask("CreateUser", UserName="somebody-else")
    assert world.identities.policies(alice)[0].policy is before
    world.ask("PutUserPolicy", UserName="alice", PolicyName="p", PolicyDocument=POLICY.replace("s3:*", "s3:Get*"))
    assert world.identities.policies(alice)[0].policy is not before


def test_a_change_of_policies_holds_at_once(world):
    alice = world.user("alice")
    assert world.identities.policies(alice) == ()
    world.ask("AttachUserPolicy", UserName="alice", PolicyArn=ADMIN)
    assert len(world.identities.policies(alice)) == 1
    world.ask("DetachUserPolicy", UserName="alice", PolicyArn=ADMIN)
    assert world.identities.policies(alice) == ()


def test_a_session_has_the_policies_of_its_role(world):
    role(world)
    world.ask("PutRolePolicy", RoleName="r", PolicyName="p", PolicyDocument=POLICY)
    caller = world.identities.assume(ROLE, principal=S3)
    assert [attached.source for attached in world.identities.policies(caller)] == ["inline policy p"]


def test_a_boundary_and_a_session_policy_are_told(world):
    identity = role(world, PermissionsBoundary=READ_ONLY)
    made, token = session(world, kind="role", user_id=identity, name="r", session="s", session_policy=POLICY)
    caller_policies = world.identities.caller_policies(world.identities.key(made.access_key, token, NOW).caller)
    assert caller_policies.boundary is not None
    assert len(caller_policies.session) == 1
    assert caller_policies.identity == ()


def test_sessions_of_one_role_with_different_policies_are_kept_apart(world):
    identity = role(world)
    made, token = session(world, kind="role", user_id=identity, name="r", session="s", session_policy=POLICY)
    narrow = world.identities.key(made.access_key, token, NOW).caller
    made, token = session(world, kind="role", user_id=identity, name="r", session="s")
    wide = world.identities.key(made.access_key, token, NOW).caller
    assert (len(world.identities.caller_policies(narrow).session), len(world.identities.caller_policies(wide).session)) == (1, 0)


def test_the_boundary_of_a_user_is_told(world):
    assert world.identities.boundary(world.user("alice", PermissionsBoundary=READ_ONLY)) is not None
    assert world.identities.boundary(world.user("bob")) is None


@pytest.mark.parametrize("caller", [ANONYMOUS, S3])
def test_strangers_and_services_have_no_policies(world, caller):
    caller_policies = world.identities.caller_policies(caller)
    assert (caller_policies.identity, caller_policies.boundary, caller_policies.session) == ((), None, ())


def test_the_root_user_has_no_policies(world):
    assert world.identities.caller_policies(world.root).identity == ()


def test_principal_tags_are_those_of_now(world):
    alice = world.user("alice", Tags=[{"Key": "team", "Value": "a"}])
    assert world.identities.tags(alice) == {"team": "a"}
    assert world.identities.tags(ANONYMOUS) == {}


# principals


@pytest.mark.parametrize(
    ("principal", "there"),
    [
        (A, True),
        (f"arn:aws:iam::{A}:root", True),
        (f"arn:aws:iam::{A}:user/dev/alice", True),
        (f"arn:aws:iam::{A}:user/alice", False),
        (f"arn:aws:iam::{A}:user/nobody", False),
        (f"arn:aws:iam::{A}:role/r", True),
        (f"arn:aws:iam::{A}:role/alice", False),
        (f"arn:aws:sts::{A}:assumed-role/r/any", True),
        (f"arn:aws:sts::{A}:assumed-role/none/any", False),
        ("arn:aws:iam::999999999999:user/unknown", True),
        ("999999999999", True),
        ("AIDAIIIIIIIIIIIIIIII", False),
        ("gibberish", False),
        ("arn:aws", False),
    ],
)
def test_principals_of_this_world_exist_or_do_not(world, principal, there):
    world.user("alice", Path="/dev/")
    role(world)
    assert world.identities.exists(principal) is there


def test_a_unique_id_is_a_principal_too(world):
    assert world.identities.exists(world.user("alice").user_id)


# roles


def test_a_role_is_found_by_its_whole_arn(world):
    identity = role(world, Path="/svc/", MaxSessionDuration=7200)
    found = world.identities.role(f"arn:aws:iam::{A}:role/svc/r")
    assert (found.id, found.name, found.max_session_s, found.trust) == (identity, "r", 7200, S3_TRUST)
    assert world.identities.role(ROLE) is None
    assert world.identities.role("arn:aws:iam::999999999999:role/svc/r") is None


def test_a_service_takes_a_role_that_trusts_it(world):
    identity = role(world, Tags=[{"Key": "k", "Value": "v"}])
    caller = world.identities.assume(ROLE, principal=S3)
    assert caller == Caller(
        "role",
        A,
        f"arn:aws:sts::{A}:assumed-role/r/s3-replication",
        f"{identity}:s3-replication",
        "r",
        role_arn=ROLE,
        tags={"k": "v"},
    )


def test_a_service_does_not_take_a_role_that_trusts_another_or_is_not_there(world):
    role(world, trust('{"Service":"transfer.amazonaws.com"}'))
    assert world.identities.assume(ROLE, principal=S3) is None
    assert world.identities.assume(ROLE + "x", principal=S3) is None


def test_a_service_is_held_to_the_conditions_of_the_trust_policy(world):
    condition = ',"Condition":{"ArnLike":{"aws:SourceArn":"arn:aws:s3:::%s"}}'
    role(world, trust('{"Service":"s3.amazonaws.com"}', condition % "b"))
    assert world.identities.assume(ROLE, principal=S3) is not None
    world.ask(
        "UpdateAssumeRolePolicy",
        RoleName="r",
        PolicyDocument=trust('{"Service":"s3.amazonaws.com"}', condition % "other"),
    )
    assert world.identities.assume(ROLE, principal=S3) is None


def test_a_trust_policy_that_names_the_user_is_enough(world):
    alice, bob = world.user("alice"), world.user("bob")
    role(world, trust(f'{{"AWS":"{alice.arn}"}}'))
    assert allows(world, alice)
    assert not allows(world, bob)


def test_a_trust_policy_that_names_the_account_leaves_it_to_identity_policies(world):
    alice = world.user("alice")
    role(world, trust(f'{{"AWS":"{A}"}}'))
    assert not allows(world, alice)
    world.ask(
        "PutUserPolicy", UserName="alice", PolicyName="p", PolicyDocument=POLICY.replace("s3:*", "sts:AssumeRole").replace("*", ROLE)
    )
    assert allows(world, alice)


def test_an_identity_policy_alone_opens_no_role(world):
    alice = world.user("alice")
    world.ask("AttachUserPolicy", UserName="alice", PolicyArn=ADMIN)
    role(world)
    assert not allows(world, alice)


def test_an_explicit_deny_beats_a_trust_policy_that_names_the_user(world):
    alice = world.user("alice")
    role(world, trust(f'{{"AWS":"{alice.arn}"}}'))
    deny = POLICY.replace("Allow", "Deny").replace("s3:*", "sts:*")
    world.ask("PutUserPolicy", UserName="alice", PolicyName="p", PolicyDocument=deny)
    assert not allows(world, alice)


def test_the_root_user_takes_no_role(world):
    role(world, trust(f'{{"AWS":"arn:aws:iam::{A}:root"}}'))
    assert not allows(world, world.root)


def test_a_condition_on_the_external_id_must_hold(world):
    alice = world.user("alice")
    role(world, trust(f'{{"AWS":"{alice.arn}"}}', ',"Condition":{"StringEquals":{"sts:ExternalId":"secret"}}'))
    assert not allows(world, alice)
    assert allows(world, alice, **{"sts:externalid": "secret"})


def test_without_a_world_there_is_no_identity():
    identities = Identities(ControlStore.memory(), lambda n: bytes(n))
    with pytest.raises(AssertionError, match="world"):
        identities.key("AKIA", "", NOW)


def test_a_key_whose_user_vanished_is_unknown(world):
    alice = world.user("alice")
    asyncio.run(world.state.transact(lambda transaction: transaction.delete(USERS, "alice")))
    assert world.identities.key(alice.access_key, "", NOW) is None
