"""What IAM's members may look like."""

import pytest

from atoll.domain.errors import ApiError
from atoll.services.iam import input_checks


def code(ask, *args) -> str:
    with pytest.raises(ApiError) as caught:
        ask(*args)
    return caught.value.code


@pytest.mark.parametrize("name", ["a", "A.b-c_d+e=f,g@h", "x" * 128])
def test_a_name_may_hold_what_iam_says(name):
    assert input_checks.name("userName", name) == name


@pytest.mark.parametrize("path", ["/", "/a/", "/a/b/", "/a//b/", "/!~/"])
def test_a_path_is_a_slash_or_stands_between_two(path):
    assert input_checks.path(path) == path


def test_white_space_weighs_nothing():
    assert input_checks.policy_size('{ "a" :\t1\n}\r\n') == 7


def test_a_quota_is_met_and_not_passed():
    input_checks.check_quota(10, 10, "things")
    assert code(input_checks.check_quota, 11, 10, "things") == "LimitExceeded"


def test_a_document_is_weighed_before_it_is_read():
    assert code(input_checks.document, "policyDocument", "x" * 11, lambda _: 1 / 0, 10) == "LimitExceeded"


def test_a_document_that_is_empty_or_far_too_long_is_not_even_weighed():
    assert code(input_checks.document, "policyDocument", "", lambda _: None, 10) == "ValidationError"
    assert code(input_checks.document, "policyDocument", " " * (input_checks.DOCUMENT_MAX_CHARS + 1), lambda _: None, 10) == "ValidationError"


def test_tags_become_a_mapping():
    assert input_checks.tags([{"Key": "a", "Value": "1"}, {"Key": "ö/x", "Value": ""}]) == {"a": "1", "ö/x": ""}


def test_a_refusal_names_the_member_and_the_rule():
    with pytest.raises(ApiError, match="'path' failed to satisfy constraint: Member must satisfy regular expression"):
        input_checks.path("nope")
