import pytest

from atoll.domain.errors import ApiError
from atoll.rules import owners

ME = "111122223333"


def test_a_canonical_id_is_64_digits_and_stays_the_same():
    assert len(owners.canonical_id(ME)) == 64
    assert owners.canonical_id(ME) == owners.canonical_id(ME)
    assert owners.canonical_id(ME) != owners.canonical_id("444455556666")


@pytest.mark.parametrize("acl", [None, "private", "bucket-owner-full-control"])
def test_lists_that_grant_nothing_to_others_are_taken(acl):
    owners.check_canned(acl, owners.ENFORCED)


@pytest.mark.parametrize(
    ("acl", "ownership", "code"),
    [
        ("public-read", owners.ENFORCED, "AccessControlListNotSupported"),
        ("public-read", "", "NotImplemented"),
        ("everyone", owners.ENFORCED, "InvalidArgument"),
    ],
)
def test_other_lists_are_refused(acl, ownership, code):
    with pytest.raises(ApiError, match=code):
        owners.check_canned(acl, ownership)


def test_a_written_list_may_say_what_is_so():
    owners.check_list({"Owner": owners.owner(ME), "Grants": owners.full_control(ME)}, ME, owners.ENFORCED)
    owners.check_list({"Grants": owners.full_control(ME)}, ME, owners.ENFORCED)


@pytest.mark.parametrize(
    "policy",
    [
        {"Grants": []},
        {"Grants": [*owners.full_control(ME), *owners.full_control("444455556666")]},
        {"Owner": {"ID": "someone"}, "Grants": owners.full_control(ME)},
        {"Grants": [{"Grantee": {"URI": "http://acs.amazonaws.com/groups/global/AllUsers"}, "Permission": "READ"}]},
    ],
)
def test_any_other_written_list_is_refused(policy):
    with pytest.raises(ApiError, match="AccessControlListNotSupported"):
        owners.check_list(policy, ME, owners.ENFORCED)
