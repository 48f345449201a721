import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atoll.rules.policy.patterns import arn_pattern, can_be, can_start, glob, pattern, strict_arn_pattern


@pytest.mark.parametrize(
    ("text", "candidate", "expected"),
    [
        ("", "", True),
        ("", "a", False),
        ("a", "a", True),
        ("a", "ab", False),
        ("*", "", True),
        ("*", "a\nb", True),
        ("a*", "a", True),
        ("a*", "ba", False),
        ("*a", "ba", True),
        ("*a", "ab", False),
        ("?", "", False),
        ("?", "\n", True),
        ("a*b*c", "a-b-b-c", True),
        ("a*b*c", "a-c-b", False),
        ("*a*a*", "aa", True),
        ("*a*a*", "a", False),
        ("a.b", "axb", False),
        ("a[bc]", "ab", False),
        ("*ab", "aab", True),
        ("*??", "a", False),
        ("a*?", "a", False),
        ("a*?", "ab", True),
    ],
)
def test_which_texts_a_pattern_matches(text, candidate, expected):
    assert glob(text)(candidate) is expected
    assert pattern(text, variables=True)(candidate, {}) is expected


@settings(max_examples=300, deadline=None)
@given(st.text("ab*?", max_size=8), st.text("ab", max_size=10))
def test_matching_agrees_with_the_naive_translation(text, candidate):
    naive = re.fullmatch("".join({"*": ".*", "?": "."}.get(c, c) for c in text), candidate, re.DOTALL)
    assert glob(text)(candidate) is (naive is not None)


def test_a_pattern_of_many_stars_takes_no_exponential_time():
    matches = glob("*a" * 60 + "b")
    begun = time.perf_counter()
    assert not matches("a" * 1024)
    assert time.perf_counter() - begun < 1


@pytest.mark.parametrize(
    ("text", "arn", "expected"),
    [
        ("arn:aws:s3:::b/*", "arn:aws:s3:::b/k:1", True),
        ("arn:aws:*:::b", "arn:aws:s3:::b", True),
        ("arn:aws:*:b", "arn:aws:s3:::b", False),
        ("arn:aws:s3:*", "arn:aws:s3:::b/k", True),
        ("arn:*", "arn:aws:s3:::b", True),
        ("*", "anything", True),
        ("arn:aws:s3::*:accesspoint/*", "arn:aws:s3::1:accesspoint/m.mrap/object/k", True),
        ("arn:aws:s3:*:*:b*", "arn:aws:s3:::b", True),
        ("arn:aws:s3:::b", "*", False),
        ("arn:?ws:s3:::b", "arn:aws:s3:::b", True),
    ],
)
def test_arns_are_compared_by_section(text, arn, expected):
    assert arn_pattern(text, variables=True)(arn, {}) is expected


def test_a_value_cannot_reach_over_a_section():
    matches = arn_pattern("arn:aws:s3::${t}:b", variables=True)
    assert matches("arn:aws:s3::1:b", {"t": "1"}) is True
    assert matches("arn:aws:s3::1:2:b", {"t": "1:2"}) is False
    assert matches("arn:aws:s3::1:b", {}) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [("arn:aws:s3:::*", True), ("arn:*:*:*:*:*", True), ("*", False), ("arn:*", False), ("arn:aws:s3:*", False)],
)
def test_arn_conditions_want_six_sections(text, expected):
    assert strict_arn_pattern(text, variables=True)("arn:aws:s3:::b", {}) is expected


@pytest.mark.parametrize(
    ("text", "start", "expected"),
    [
        ("arn:aws:s3:::b/*", "arn:aws:s3:::b/", True),
        ("arn:aws:s3:::b/k", "arn:aws:s3:::b/", True),
        ("arn:aws:s3:::b", "arn:aws:s3:::b/", False),
        ("arn:aws:s3:::*", "arn:aws:s3:::b/", True),
        ("*", "arn:aws:s3:::b/", True),
        ("arn:aws:s3:::c/*", "arn:aws:s3:::b/", False),
        ("arn:aws:s3:::?/*", "arn:aws:s3:::b/", True),
        ("arn:aws:s3:::${aws:username}/*", "arn:aws:s3:::b/", True),
        ("arn:aws:s3:::b*x", "arn:aws:s3:::b/", True),
    ],
)
def test_whether_a_pattern_can_match_something_that_starts_so(text, start, expected):
    assert can_start(text, start) is expected


@pytest.mark.parametrize(("text", "expected"), [("b", True), ("b*", True), ("c", False), ("${k}", True), ("b/*", False)])
def test_whether_a_pattern_can_be_one_text(text, expected):
    assert can_be(text, "b") is expected
