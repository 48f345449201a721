"""Access keys."""

from datetime import UTC, datetime

import pytest

from atoll.domain.errors import ApiError


def code(ask, *args, **members) -> str:
    with pytest.raises(ApiError) as caught:
        ask(*args, **members)
    return caught.value.code


def new_key(world, user: str) -> dict:
    return world.ask("CreateAccessKey", UserName=user).members["AccessKey"]


def test_a_new_key_shows_its_secret_once(world):
    world.ask("CreateUser", UserName="a")
    key = new_key(world, "a")
    assert key["AccessKeyId"].startswith("AKIA")
    assert len(key["AccessKeyId"]) == 20
    assert len(key["SecretAccessKey"]) == 40
    assert (key["UserName"], key["Status"]) == ("a", "Active")
    assert key["CreateDate"] == datetime.fromtimestamp(1_800_000_000, UTC)
    [shown] = world.ask("ListAccessKeys", UserName="a").members["AccessKeyMetadata"]
    assert "SecretAccessKey" not in shown
    assert shown["AccessKeyId"] == key["AccessKeyId"]


def test_a_user_has_two_keys_at_most(world):
    world.ask("CreateUser", UserName="a")
    new_key(world, "a")
    new_key(world, "a")
    assert code(world.ask, "CreateAccessKey", UserName="a") == "LimitExceeded"


def test_nobody_has_no_keys(world):
    assert code(world.ask, "CreateAccessKey", UserName="a") == "NoSuchEntity"
    assert code(world.ask, "ListAccessKeys", UserName="a") == "NoSuchEntity"
    assert code(world.ask, "DeleteAccessKey", UserName="a", AccessKeyId="AKIAAAAAAAAAAAAAAAAA") == "NoSuchEntity"


def test_who_names_nobody_means_himself(world):
    bob = world.user("bob")
    second = world.ask("CreateAccessKey", bob).members["AccessKey"]["AccessKeyId"]
    assert len(world.ask("ListAccessKeys", bob).members["AccessKeyMetadata"]) == 2
    world.ask("UpdateAccessKey", bob, AccessKeyId=second, Status="Inactive")
    world.ask("DeleteAccessKey", bob, AccessKeyId=second)
    assert len(world.ask("ListAccessKeys", bob).members["AccessKeyMetadata"]) == 1


def test_the_key_of_somebody_else_is_out_of_reach(world):
    alice = world.user("alice")
    world.ask("CreateUser", UserName="bob")
    assert code(world.ask, "DeleteAccessKey", UserName="bob", AccessKeyId=alice.access_key) == "NoSuchEntity"
    assert code(world.ask, "UpdateAccessKey", UserName="bob", AccessKeyId=alice.access_key, Status="Inactive") == "NoSuchEntity"


def test_a_key_is_switched_off_and_on(world):
    alice = world.user("alice")
    world.ask("UpdateAccessKey", UserName="alice", AccessKeyId=alice.access_key, Status="Inactive")
    assert world.identities.key(alice.access_key, "", 0).active is False
    world.ask("UpdateAccessKey", UserName="alice", AccessKeyId=alice.access_key, Status="Active")
    assert world.identities.key(alice.access_key, "", 0).active is True


def test_a_key_is_active_or_inactive_and_nothing_else(world):
    alice = world.user("alice")
    assert (
        code(world.ask, "UpdateAccessKey", UserName="alice", AccessKeyId=alice.access_key, Status="Expired") == "ValidationError"
    )


def test_keys_are_listed_in_pages(world):
    world.ask("CreateUser", UserName="a")
    keys = sorted([new_key(world, "a")["AccessKeyId"], new_key(world, "a")["AccessKeyId"]])
    first = world.ask("ListAccessKeys", UserName="a", MaxItems=1).members
    second = world.ask("ListAccessKeys", UserName="a", MaxItems=1, Marker=first["Marker"]).members
    assert [first["AccessKeyMetadata"][0]["AccessKeyId"], second["AccessKeyMetadata"][0]["AccessKeyId"]] == keys


def test_the_root_user_sees_the_key_of_the_world_and_cannot_change_it(world):
    [shown] = world.ask("ListAccessKeys").members["AccessKeyMetadata"]
    assert shown["AccessKeyId"] == world.root_record.access_key
    assert code(world.ask, "CreateAccessKey") == "NotImplemented"
    assert code(world.ask, "DeleteAccessKey", AccessKeyId=shown["AccessKeyId"]) == "NotImplemented"
    assert code(world.ask, "UpdateAccessKey", AccessKeyId=shown["AccessKeyId"], Status="Inactive") == "NotImplemented"
