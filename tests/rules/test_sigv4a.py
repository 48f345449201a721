from __future__ import annotations

import time
from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.rules import sigv4a

# Source: awslabs/aws-c-auth, the v4a vectors and tests/key_derivation_tests.c
PUBLISHED = [
    (
        "AKIDEXAMPLE",
        "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
        0xB6618F6A65740A99E650B33B6B4B5BD0D43B176D721A3EDFEA7E7D2D56D936B1,
        0x865ED22A7EADC9C5CB9D2CBACA1B3699139FEDC5043DC6661864218330C8E518,
    ),
    (
        "AKISORANDOMAASORANDOM",
        "q+jcrXGc+0zWN6uzclKVhvMmUsIfRPa4rlRandom",
        0x15D242CEEBF8D8169FD6A8B5A746C41140414C3B07579038DA06AF89190FFFCB,
        0x515242CEDD82E94799482E4C0514B505AFCCF2C0C98D6A553BF539F424C5EC0,
    ),
]


@pytest.mark.parametrize(("access_key", "secret", "x", "y"), PUBLISHED)
def test_the_published_key_pairs(access_key, secret, x, y):
    point = sigv4a.public_key(access_key, secret).public_numbers()
    assert (point.x, point.y) == (x, y)


def test_a_signature_holds_for_its_text_alone_and_is_never_the_same_twice():
    private = sigv4a.private_key("AK", "SK")
    first, second = sigv4a.signature(private, b"text"), sigv4a.signature(private, b"text")
    assert first != second
    assert sigv4a.holds(private.public_key(), b"text", first)
    assert sigv4a.holds(private.public_key(), b"text", second.ljust(sigv4a.SIGNATURE_MAX_CHARS, "*"))
    assert not sigv4a.holds(private.public_key(), b"other", first)
    assert not sigv4a.holds(sigv4a.public_key("AK", "other"), b"text", first)


@pytest.mark.parametrize("signature", ["", "zz", "30", "3006020101020101", "é" * 10, "00" * 72, "30 06", "0" * 143, "00" * 100])
def test_what_is_no_signature_does_not_hold(signature):
    assert not sigv4a.holds(sigv4a.public_key("AK", "SK"), b"text", signature)


@pytest.mark.parametrize(
    ("region_set", "region", "covered"),
    [
        ("*", "us-east-1", True),
        ("us-east-1", "us-east-1", True),
        ("us-west-2,us-east-1", "us-east-1", True),
        ("us-west-2, us-east-1", "us-east-1", True),
        ("us-*", "us-east-1", True),
        ("eu-*,us-*", "us-east-1", True),
        ("*-east-1", "us-east-1", True),
        ("us-*-1", "us-east-1", True),
        ("eu-*", "us-east-1", False),
        ("us-east-2", "us-east-1", False),
        ("us-east-", "us-east-1", False),
        ("us-east-10", "us-east-1", False),
        ("", "us-east-1", False),
        ("US-EAST-1", "us-east-1", False),
        ("us-eas?-1", "us-east-1", False),
        ("us-[a-z]*", "us-east-1", False),
    ],
)
def test_a_region_set_covers_names_and_patterns(region_set, region, covered):
    assert sigv4a.covers(region_set, region) is covered


@given(st.text("us-*", max_size=8), st.text("us-", max_size=8))
def test_a_star_stands_for_any_text(pattern, region):
    assert sigv4a.covers(pattern, region) is fnmatchcase(region, pattern)


def test_a_region_set_that_fills_the_header_is_judged_at_once():
    many = ",".join(f"{number:x}*" for number in range(12_000))
    began = time.process_time()
    assert not sigv4a.covers(many, "us-east-1")
    assert not sigv4a.covers("*a" * 30_000, "us-east-1")
    assert time.process_time() - began < 0.4  # a regular expression for each took 1.7 s
