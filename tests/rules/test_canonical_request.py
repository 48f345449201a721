from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import quote_from_bytes, unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.rules import canonical_request


@pytest.mark.parametrize(
    ("sent", "signed"),
    [
        ("", "/"),
        ("/", "/"),
        ("/a//b/", "/a//b/"),
        ("//a/./b/../c", "//a/./b/../c"),
        ("/a%20b/%C3%BC%2Bx.txt", "/a%20b/%C3%BC%2Bx.txt"),
        ("/%c3%bc", "/%C3%BC"),
        ("/%41%2D%7e", "/A-~"),
        ("/a%2Fb", "/a/b"),
        ("/@()+&,;$=", "/%40%28%29%2B%26%2C%3B%24%3D"),
        ("/invalid%FF%fe", "/invalid%FF%FE"),
        ("/raw\xff", "/raw%FF"),
        ("/100%", "/100%25"),
        ("/%zz", "/%25zz"),
        ("/%2520", "/%2520"),
    ],
)
def test_a_path_of_s3_is_decoded_and_encoded_once_and_never_normalised(sent, signed):
    assert canonical_request.canonical_path(sent, s3=True) == signed


@pytest.mark.parametrize(
    ("sent", "signed"),
    [
        ("", "/"),
        ("/", "/"),
        ("/a/./b/../c//d/", "/a/c/d/"),
        ("/..", "/"),
        ("/a/..", "/"),
        ("/a/.", "/a/"),
        ("/a%20b", "/a%2520b"),
    ],
)
def test_a_path_of_another_service_is_normalised_and_encoded_again(sent, signed):
    assert canonical_request.canonical_path(sent, s3=False) == signed


def test_normalising_can_be_left_out():
    assert canonical_request.canonical_path("/a/../b", s3=False, normalize=False) == "/a/../b"


@pytest.mark.parametrize(
    ("sent", "signed"),
    [
        ("", ""),
        ("uploads", "uploads="),
        ("uploads=", "uploads="),
        ("b=2&a=1", "a=1&b=2"),
        ("a=2&a=1", "a=1&a=2"),
        ("a-b=2&a=1", "a=1&a-b=2"),
        ("prefix=a+b", "prefix=a%2Bb"),
        ("prefix=a%20b%2f", "prefix=a%20b%2F"),
        ("prefix=a=b", "prefix=a%3Db"),
        ("a&&b", "a=&b="),
        ("k%65y=%41", "key=A"),
        ("k=%FF", "k=%FF"),
        ("X-Amz-Signature=s&a=1", "X-Amz-Signature=s&a=1"),
    ],
)
def test_a_query_is_encoded_strictly_and_sorted_by_name_then_value(sent, signed):
    assert canonical_request.canonical_query(sent) == signed


def test_the_signature_is_dropped_when_asked_for_however_its_name_is_written():
    assert canonical_request.canonical_query("X-Amz-%53ignature=s&a=1&X-Amz-Signature=t", without="X-Amz-Signature") == "a=1"


@given(st.text(st.characters(max_codepoint=255, exclude_characters="&=?"), max_size=12))
def test_the_short_cut_for_text_that_is_already_strict_changes_nothing(text):
    naive = quote_from_bytes(unquote_to_bytes(text.encode("latin-1")), safe="-_.~")
    assert canonical_request.encode(text) == naive
    path = quote_from_bytes(unquote_to_bytes(f"/{text}".encode("latin-1")), safe="/-_.~")
    assert canonical_request.canonical_path(f"/{text}", s3=True) == path


@pytest.mark.parametrize("byte", range(256))
def test_every_escape_is_written_as_sigv4_wants_it(byte):
    naive = quote_from_bytes(bytes((byte,)), safe="-_.~")
    assert canonical_request.encode(f"%{byte:02X}") == canonical_request.encode(f"%{byte:02x}") == naive


def test_headers_come_in_the_order_asked_for_with_blanks_folded():
    headers = {"host": "h", "b": "one  two \t three", "a": "x,y", "unsigned": "z"}
    assert canonical_request.canonical_headers(headers, ["a", "b", "host"]) == "a:x,y\nb:one two three\nhost:h\n"


def test_bytes_of_utf8_that_look_like_blanks_are_kept():
    value = "  \u00e0\u0085".encode().decode("latin-1")
    assert canonical_request.canonical_headers({"a": value}, ["a"]).encode("latin-1") == b"a: " + "\u00e0\u0085".encode() + b"\n"


def test_a_header_that_did_not_arrive_is_named():
    with pytest.raises(KeyError, match="x-amz-date"):
        canonical_request.canonical_headers({}, ["x-amz-date"])


@pytest.mark.parametrize("now", [0, 1_796_057_906, 951_782_400, 4_102_444_799])
def test_stamps_and_seconds_are_the_same_moment(now):
    expected = datetime.fromtimestamp(now, UTC)
    assert canonical_request.amz_date(now + 0.9) == f"{expected:%Y%m%dT%H%M%SZ}"
    assert canonical_request.epoch(canonical_request.amz_date(now)) == now
    assert canonical_request.iso(now) == f"{expected:%Y-%m-%dT%H:%M:%SZ}"


@pytest.mark.parametrize(
    "text",
    ["", "20261130", "20261130T165826", "20261130T165826z", "2026-11-30T16:58:26Z", "20261330T165826Z", "20260230T165826Z",
     "20261130T245826Z", "20261130T166026Z", "20261130T165826Z\n", "٢٠٢٦1130T165826Z", "Mon, 30 Nov 2026 16:58:26 GMT"],
)  # fmt: skip
def test_what_is_no_stamp_is_refused(text):
    with pytest.raises(ValueError):
        canonical_request.epoch(text)


@pytest.mark.parametrize(
    "text",
    ["Mon, 30 Nov 2026 16:58:26 GMT", "30 Nov 2026 16:58:26 GMT", "Mon, 30 Nov 2026 16:58:26 +0000", "Mon, 30 Nov 2026 16:58:26 -0000",
     "Mon, 30 Nov 2026 16:58:26 UTC", "20261130T165826Z"],
)  # fmt: skip
def test_a_date_header_is_a_stamp_in_either_form(text):
    assert canonical_request.stamp_of_date(text) == "20261130T165826Z"


def test_a_day_of_one_digit_is_the_first_of_the_month():
    assert canonical_request.stamp_of_date("Tue, 1 Dec 2026 00:00:00 GMT") == canonical_request.stamp_of_date("Tue, 01 Dec 2026 00:00:00 GMT") == "20261201T000000Z"


@pytest.mark.parametrize(
    "text",
    ["", "Mon, 30 Nov 2026 17:58:26 +0100", "Mon, 30 Nov 2026 16:58:26", "Monday, 30-Nov-26 16:58:26 GMT", "Mon Nov 30 16:58:26 2026",
     "Mon, 31 Nov 2026 16:58:26 GMT", "Mon, 30 Nov 2026 25:58:26 GMT", "Mon, 30 Nov " + "9" * 5000 + " 16:58:26 GMT", "2026-11-30T16:58:26Z",
     "Mon, 30 Nov 2026 16:58:26 GMT,Mon, 30 Nov 2026 16:58:26 GMT", "Fr, 30 Nov 2026 16:58:26 GMT", "Mon, 30 Nov 0000 16:58:26 GMT"],
)  # fmt: skip
def test_a_date_header_in_another_form_is_refused(text):
    with pytest.raises(ValueError):
        canonical_request.epoch(canonical_request.stamp_of_date(text))
