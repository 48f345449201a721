"""Pages and encodings."""

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.errors import ApiError
from atoll.services.iam import output_members

ITEMS = [("a", 1), ("b", 2), ("c", 3)]


def test_a_page_that_ends_the_list_has_no_marker():
    assert output_members.page("X", ITEMS, None, None) == {"X": [1, 2, 3], "IsTruncated": False}


def test_a_page_goes_on_after_its_marker():
    assert output_members.page("X", ITEMS, None, 2) == {"X": [1, 2], "IsTruncated": True, "Marker": "b"}
    assert output_members.page("X", ITEMS, "b", 2) == {"X": [3], "IsTruncated": False}


def test_a_marker_whose_item_was_deleted_meanwhile_still_works():
    assert output_members.page("X", ITEMS, "aa", 1) == {"X": [2], "IsTruncated": True, "Marker": "b"}


def test_a_page_has_a_hundred_items_when_nobody_says_otherwise():
    many = [(f"{n:03}", n) for n in range(101)]
    assert output_members.page("X", many, None, None)["IsTruncated"] is True
    assert output_members.page("X", many, None, 1000)["IsTruncated"] is False


def test_a_page_beyond_the_limit_is_refused():
    with pytest.raises(ApiError, match="'maxItems'"):
        output_members.page("X", ITEMS, None, 1001)


@given(st.text(st.characters(min_codepoint=9, max_codepoint=255)))
def test_an_encoded_document_is_ascii_and_decodes_to_itself(text):
    encoded = output_members.encoded(text)
    assert encoded.isascii()
    assert unquote(encoded) == text


def test_everything_but_unreserved_characters_is_encoded():
    assert output_members.encoded("aZ0-._~/:*+ ") == "aZ0-._~%2F%3A%2A%2B%20"
