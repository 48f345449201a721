import pytest

from atoll.aws_protocols.uri_decoding import decoded, decoded_word, query_pairs
from atoll.domain.errors import ApiError


def test_plain_text_passes():
    assert decoded("a/b.c~+") == "a/b.c~+"


def test_escapes_are_decoded_once():
    assert decoded("%2541") == "%41"


def test_raw_bytes_count_as_themselves():
    assert decoded("\xc3\xa9") == "é"


@pytest.mark.parametrize("text", ["%", "%a", "%g1", "%%20", "%C3", "\xe9", "\u20ac"])
def test_what_cannot_be_decoded_is_refused(text):
    with pytest.raises(ApiError, match="InvalidURI"):
        decoded(text)


def test_a_plus_is_a_blank_in_a_query_only():
    assert decoded_word("a+b%2B") == "a b+"


def test_pairs_keep_order_repetition_and_emptiness():
    assert query_pairs("a=1&b&&a=&c=x=y") == [("a", "1"), ("b", ""), ("a", ""), ("c", "x=y")]


def test_no_query_has_no_pairs():
    assert query_pairs("") == []
