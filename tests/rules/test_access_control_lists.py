import pytest

from atoll.domain.arn import account_in
from atoll.domain.errors import ApiError
from atoll.rules import access_control_lists

ME = "111122223333"


def test_a_canonical_id_is_64_digits_and_stays_the_same():
    assert len(access_control_lists.canonical_id(ME)) == 64
    assert access_control_lists.canonical_id(ME) == access_control_lists.canonical_id(ME)
    assert access_control_lists.canonical_id(ME) != access_control_lists.canonical_id("444455556666")


@pytest.mark.parametrize("acl", [None, "private", "bucket-owner-full-control"])
def test_lists_that_grant_nothing_to_others_are_taken(acl):
    access_control_lists.check_canned(acl, access_control_lists.ENFORCED)


@pytest.mark.parametrize(
    ("acl", "ownership", "code"),
    [
        ("public-read", access_control_lists.ENFORCED, "AccessControlListNotSupported"),
        ("public-read", "", "NotImplemented"),
        ("everyone", access_control_lists.ENFORCED, "InvalidArgument"),
    ],
)
def test_other_lists_are_refused(acl, ownership, code):
    with pytest.raises(ApiError, match=code):
        access_control_lists.check_canned(acl, ownership)


def test_a_written_list_may_say_what_is_so():
    access_control_lists.check_list({"Owner": access_control_lists.owner(ME), "Grants": access_control_lists.full_control(ME)}, ME, access_control_lists.ENFORCED)
    access_control_lists.check_list({"Grants": access_control_lists.full_control(ME)}, ME, access_control_lists.ENFORCED)


@pytest.mark.parametrize(
    "policy",
    [
        {"Grants": []},
        {"Grants": [*access_control_lists.full_control(ME), *access_control_lists.full_control("444455556666")]},
        {"Owner": {"ID": "someone"}, "Grants": access_control_lists.full_control(ME)},
        {"Grants": [{"Grantee": {"URI": "http://acs.amazonaws.com/groups/global/AllUsers"}, "Permission": "READ"}]},
    ],
)
def test_any_other_written_list_is_refused(policy):
    with pytest.raises(ApiError, match="AccessControlListNotSupported"):
        access_control_lists.check_list(policy, ME, access_control_lists.ENFORCED)



@pytest.mark.parametrize(
    ("owner", "ownership", "whose"),
    [("444455556666", access_control_lists.ENFORCED, ME), ("444455556666", "", "444455556666"), ("", "", ME), (ME, "", ME)],
)
def test_an_object_is_the_bucket_owners_where_lists_are_off_or_nobody_is_named(owner, ownership, whose):
    assert access_control_lists.of_object(owner, ME, ownership) == whose


@pytest.mark.parametrize(
    ("arn", "account"),
    [
        (f"arn:aws:iam::{ME}:role/a/b", ME),
        (f"arn:aws:s3::{ME}:accesspoint/m.mrap/object/a:b", ME),
        ("arn:aws:iam::aws:policy/AdministratorAccess", ""),
        ("arn:aws:s3:::bucket/k", ""),
        ("arn:aws:iam::*:role/r", ""),
        ("*", ""),
    ],
)
def test_an_arn_names_an_account_or_none(arn, account):
    assert account_in(arn) == account
