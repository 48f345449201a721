"""What all engines agree on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.objects import ByteRange, Key, ObjectMetadata, Stamp
from atoll.object_store.version_order import after_prefix, check_join, cut, first_after, keeps_feed, next_stamp, with_metadata

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)


@given(NAMES, NAMES)
def test_a_name_lies_below_the_end_of_a_prefix_exactly_when_it_has_it_or_sorts_before(prefix, name):
    end = after_prefix(prefix)
    below = name >= prefix and (end is None or name < end)
    assert below == (name.startswith(prefix) or (end is None and name > prefix))


@given(NAMES, NAMES)
def test_no_name_comes_between_a_name_and_the_first_after_it(name, other):
    assert not name < other < first_after(name)


@given(NAMES, NAMES)
def test_names_sort_as_their_utf8_bytes(left, right):
    assert (left < right) == (left.encode() < right.encode())


@pytest.mark.parametrize(("highest", "ms"), [(None, 100), (99, 100), (100, 101), (500, 501)])
def test_a_new_stamp_is_above_everything_that_the_key_has(highest, ms):
    assert next_stamp(ObjectMetadata(version="v1"), highest, "here", lambda: 100) == Stamp(ms, "here", "v1")


def test_a_stamp_that_came_along_is_kept():
    given_stamp = Stamp(5, "far", "v1")
    assert next_stamp(ObjectMetadata(version="v1", stamp=given_stamp), 900, "here", lambda: 100) == given_stamp


def test_internal_areas_keep_no_feed():
    assert keeps_feed("bucket")
    assert not keeps_feed("bucket!uploads")


@pytest.mark.parametrize("other", [ObjectMetadata(version="v2"), ObjectMetadata(marker=True), ObjectMetadata(size=1), ObjectMetadata(stamp=Stamp(1, "a", "b"))])
def test_an_amendment_keeps_what_identifies_a_version(other):
    with pytest.raises(AssertionError):
        with_metadata(ObjectMetadata(), other)


@pytest.mark.parametrize(
    ("key", "parts"),
    [
        (Key("b", "k"), [Key("u", "p/1"), Key("u", "q/1")]),
        (Key("b", "k"), [Key("v", "p/1")]),
        (Key("b", "k"), [Key("u", "p/1"), Key("u", "p/1")]),
        (Key("u", "p/k"), [Key("u", "p/1")]),
    ],
)
def test_a_join_that_would_share_or_lose_bytes_is_our_mistake(key, parts):
    with pytest.raises(AssertionError):
        check_join(key, parts, Key("u", "p/"))


def test_a_cut_is_within_the_bytes():
    assert cut(b"hello", None) == b"hello"
    assert cut(b"hello", ByteRange(1, 4)) == b"ello"
    with pytest.raises(AssertionError):
        cut(b"hello", ByteRange(1, 5))
