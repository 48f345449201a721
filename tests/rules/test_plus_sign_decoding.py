import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.rules.plus_sign_decoding import readings, unsigned


@pytest.mark.parametrize(
    ("target", "lenient", "strict", "other"),
    [
        ("/k?a=b", ("/k?a=b",), ("/k?a=b",), ("/k?a=b",)),
        ("/k?a+b", ("/k?a%2Bb", "/k?a%20b"), ("/k?a%2Bb", "/k?a%20b"), ("/k?a%2Bb", "/k?a%20b")),
        ("/a+b", ("/a%2Bb", "/a%20b"), ("/a%20b",), ("/a%2Bb",)),
        (
            "/+?+", ("/%2B?%2B", "/%2B?%20", "/%20?%2B", "/%20?%20"), ("/%20?%2B", "/%20?%20"), ("/%2B?%2B", "/%2B?%20"),
        ),
    ],
)  # fmt: skip
def test_what_a_target_may_mean(target, lenient, strict, other):
    assert readings(target, s3=True, strict=False) == lenient
    assert readings(target, s3=True, strict=True) == strict
    assert readings(target, s3=False, strict=False) == readings(target, s3=False, strict=True) == other


@given(st.text("/+?&=a%2B0"), st.booleans(), st.booleans())
def test_no_reading_has_a_plus_left_and_all_differ_and_the_last_is_aws_own(target, s3, strict):
    found = readings(target, s3=s3, strict=strict)
    assert not any("+" in one for one in found)
    assert len(set(found)) == len(found) <= 4
    if s3:
        assert found[-1] == unsigned(target)


def test_unsigned_pluses_are_blanks():
    assert unsigned("/a+b%2B?c+d=+") == "/a%20b%2B?c%20d=%20"
