"""Records by the names that callers use."""

import pytest

from atoll.domain.errors import ApiError
from atoll.services.iam import lookup
from atoll.services.iam.records import ROLES, USERS
from services.iam.iam_world import ACCOUNT

POLICY = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:*","Resource":"*"}]}'


def test_a_name_is_right_only_in_its_own_spelling(world):
    world.ask("CreateUser", UserName="Alice")
    assert lookup.holder(world.state, USERS, ACCOUNT, "Alice").name == "Alice"
    with pytest.raises(ApiError, match="user with name alice cannot be found"):
        lookup.holder(world.state, USERS, ACCOUNT, "alice")


def test_a_missing_role_is_called_a_role(world):
    with pytest.raises(ApiError, match="role with name r cannot be found") as caught:
        lookup.holder(world.state, ROLES, ACCOUNT, "r")
    assert (caught.value.code, caught.value.status) == ("NoSuchEntity", 404)


def test_a_policy_is_of_this_world_or_of_aws(world):
    own = world.ask("CreatePolicy", PolicyName="p", PolicyDocument=POLICY).members["Policy"]["Arn"]
    assert lookup.managed_policy(world.state, own).document == POLICY
    assert lookup.managed_policy(world.state, "arn:aws:iam::aws:policy/AmazonS3FullAccess").name == "AmazonS3FullAccess"
    assert lookup.managed_policy(world.state, "arn:aws:iam::aws:policy/p") is None


def test_keys_are_found_by_their_user(world):
    world.user("alice")
    world.user("bob")
    assert [key.user for key in lookup.keys_of(world.state, ACCOUNT, "bob")] == ["bob"]
    assert lookup.keys_of(world.state, ACCOUNT, "carol") == []


def test_an_arn_has_the_kind_and_the_path_of_its_record(world):
    alice = world.user("alice", Path="/dev/")
    assert lookup.arn_of("111122223333", lookup.holder(world.state, USERS, ACCOUNT, "alice")) == alice.arn
