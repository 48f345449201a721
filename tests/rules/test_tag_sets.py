import pytest

from atoll.domain.errors import ApiError
from atoll.rules import tag_sets


def _set(**pairs):
    return [{"Key": key, "Value": value} for key, value in pairs.items()]


def test_a_tag_set_becomes_tags_and_back():
    assert tag_sets.read(_set(a="1", b=""), 10) == {"a": "1", "b": ""}
    assert tag_sets.tag_set({"a": "1"}) == [{"Key": "a", "Value": "1"}]


@pytest.mark.parametrize("key", ["Größe", "a b", "a+b-c=d._:/@1", "x" * 128])
def test_letters_of_all_scripts_blanks_and_a_few_signs_are_allowed(key):
    assert tag_sets.read([{"Key": key, "Value": key}], 10) == {key: key}


@pytest.mark.parametrize(
    ("key", "value", "details"),
    [
        ("", "1", {"TagKey": ""}),
        ("x" * 129, "1", {"TagKey": "x" * 129}),
        ("a!", "1", {"TagKey": "a!"}),
        ("AWS:x", "1", {"TagKey": "AWS:x"}),
        ("a", "x" * 257, {"TagKey": "a", "TagValue": "x" * 257}),
        ("a", "{}", {"TagKey": "a", "TagValue": "{}"}),
    ],
)
def test_other_tags_are_invalid(key, value, details):
    with pytest.raises(ApiError) as caught:
        tag_sets.read([{"Key": key, "Value": value}], 10)
    assert (caught.value.code, caught.value.details) == ("InvalidTag", details)


def test_a_repeated_key_is_invalid_and_half_a_tag_malformed():
    with pytest.raises(ApiError, match="InvalidTag"):
        tag_sets.read([*_set(a="1"), *_set(a="1")], 10)
    with pytest.raises(ApiError, match="MalformedXML"):
        tag_sets.read([{"Key": "a"}], 10)


def test_there_is_a_limit():
    with pytest.raises(ApiError, match="BadRequest"):
        tag_sets.read([{"Key": f"k{n}", "Value": ""} for n in range(11)], 10)


def test_the_header_form_is_a_query():
    assert tag_sets.from_header("a=1&b=x%20y+z&c&d=") == {"a": "1", "b": "x y z", "c": "", "d": ""}
    assert tag_sets.from_header("") == {}


@pytest.mark.parametrize("text", ["a=1&a=2", "a=1,b=2", "=1"])
def test_a_header_with_repeats_or_commas_is_an_argument_error(text):
    with pytest.raises(ApiError) as caught:
        tag_sets.from_header(text)
    assert (caught.value.code, caught.value.details["ArgumentName"]) == ("InvalidArgument", "x-amz-tagging")


def test_the_header_form_keeps_the_rules_of_tags():
    with pytest.raises(ApiError, match="InvalidTag"):
        tag_sets.from_header("aws:a=1")
    with pytest.raises(ApiError, match="BadRequest"):
        tag_sets.from_header("&".join(f"k{n}=1" for n in range(11)))
