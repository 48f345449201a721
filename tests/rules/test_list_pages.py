import pytest

from atoll.domain.errors import ApiError
from atoll.domain.objects import START, ScanCursor
from atoll.rules import list_pages


def test_nothing_that_begins_with_a_prefix_sorts_behind_its_end():
    longest = "a/" + "\U0010ffff" * 255
    assert len(longest.encode()) == 1022
    assert longest < list_pages.after_prefix("a/").name
    assert list_pages.after_prefix("a/").name < "a0"


@pytest.mark.parametrize(("asked", "size"), [(None, 1000), (0, 0), (1, 1), (1000, 1000), (1001, 1000)])
def test_a_page_has_at_most_a_thousand_rows(asked, size):
    assert list_pages.page_size(asked) == size


def test_a_negative_page_is_refused_with_its_argument():
    with pytest.raises(ApiError) as caught:
        list_pages.page_size(-1, "max-parts")
    assert caught.value.details == {"ArgumentName": "max-parts", "ArgumentValue": "-1"}


def test_only_url_is_an_encoding():
    assert (list_pages.check_encoding(None), list_pages.check_encoding("url")) == (False, True)
    with pytest.raises(ApiError, match="InvalidArgument"):
        list_pages.check_encoding("URL")


@pytest.mark.parametrize(
    ("text", "encoded"),
    [("a b", "a%20b"), ("a+b", "a%2Bb"), ("@=%", "%40%3D%25"), ("a/b-._~", "a/b-._~"), ("ü", "%C3%BC"), ("\x01", "%01")],
)
def test_url_escapes_what_is_not_unreserved(text, encoded):
    assert list_pages.url(text) == encoded


@pytest.mark.parametrize(
    ("name", "prefix", "delimiter", "group"),
    [
        ("a/b/c", "", "/", "a/"),
        ("a/b/c", "a/", "/", "a/b/"),
        ("a/b/c", "a/b/", "/", None),
        ("a//b", "a/", "/", "a//"),
        ("abcabd", "", "ca", "abca"),
        ("abc", "", "", None),
        ("abc", "", "x", None),
    ],
)
def test_a_group_ends_with_the_first_delimiter_behind_the_prefix(name, prefix, delimiter, group):
    assert list_pages.common_prefix_of(name, prefix, delimiter) == group


def test_a_marker_that_is_a_group_was_shown_and_one_inside_was_not():
    assert list_pages.start("", "", "/") == START
    assert list_pages.start("a/", "", "/") == list_pages.after_prefix("a/")
    assert list_pages.start("a/b", "", "/") == ScanCursor("a/b")
    assert list_pages.start("a/", "", "") == ScanCursor("a/")
    assert list_pages.start("a/", "a/", "/") == ScanCursor("a/")


def test_rows_and_groups_together_fill_a_page():
    page = list_pages.Page("", "/", 2)
    taken = [page.add_row(name, name) for name in ("a/1", "a/2", "b", "c")]
    assert taken == [True, True, True, False]
    assert (page.groups, page.rows, page.count, page.truncated) == (["a/"], ["b"], 2, True)
    assert (page.resume, page.next_name) == (ScanCursor("b", None), "b")


def test_a_page_that_ends_in_a_group_resumes_behind_all_of_it():
    page = list_pages.Page("", "/", 1)
    taken = [page.add_row(name, name) for name in ("a/1", "a/2", "b")]
    assert taken == [True, True, False]
    assert (page.resume, page.next_name) == (list_pages.after_prefix("a/"), "a/")


def test_a_page_of_versions_resumes_behind_one_version():
    page = list_pages.Page("", "", 1)
    page.add_row("k", "new", version="v2")
    assert not page.add_row("k", "old", version="v1")
    assert page.resume == ScanCursor("k", "v2")


def test_a_page_without_room_is_not_truncated():
    page = list_pages.Page("", "", 0)
    assert (page.add_row("a", "a"), page.truncated) == (False, False)


@pytest.mark.parametrize("cursor", [ScanCursor("k"), ScanCursor("ü/\U0001f600 +"), list_pages.after_prefix("a/"), list_pages.after_prefix("ü|")])
def test_a_token_carries_the_whole_resume_point(cursor):
    assert list_pages.decode_token(list_pages.token(cursor)) == cursor


@pytest.mark.parametrize("text", ["", "x", "AAAA", "%%%", "made up", list_pages.token(ScanCursor("k"))[:-1] + "A", "é"])
def test_a_token_that_we_did_not_issue_is_refused(text):
    with pytest.raises(ApiError) as caught:
        list_pages.decode_token(text)
    assert caught.value.details == {"ArgumentName": "continuation-token"}
