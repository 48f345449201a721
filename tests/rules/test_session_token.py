"""Session tokens: sealed, unforgeable, and nobody's but ours."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.errors import ApiError
from atoll.rules import session_token
from atoll.rules.session_token import Session, decrypt_session, encrypt_session, secret_key, unique_id

KEY, OTHER_KEY = bytes(range(32)), bytes(32)
NONCE = b"twelve bytes"
SESSION = Session(
    access_key="ASIAAAAAAAAAAAAAAAAA",
    secret="s3cr3t-of-the-session",
    kind="role",
    user_id="AROAAAAAAAAAAAAAAAAA",
    issued=1_000,
    expires=4_600,
    name="reader",
    session="alice",
    session_policy='{"Version":"2012-10-17","Statement":[]}',
    tags={"team": "blå"},
)


def refused(text: str, key: bytes = KEY) -> str:
    with pytest.raises(ApiError) as caught:
        decrypt_session(text, key=key)
    return caught.value.code


def test_a_sealed_session_opens_again():
    assert decrypt_session(encrypt_session(SESSION, key=KEY, nonce=NONCE), key=KEY) == SESSION


def test_members_that_are_not_there_stay_away():
    plain = Session(access_key="ASIA", secret="s", kind="root", user_id="1", issued=1, expires=2)
    assert decrypt_session(encrypt_session(plain, key=KEY, nonce=NONCE), key=KEY) == plain


def test_a_token_shows_nothing_of_what_it_says():
    raw = base64.b64decode(encrypt_session(SESSION, key=KEY, nonce=NONCE))
    assert b"s3cr3t" not in raw
    assert b"reader" not in raw


def test_another_nonce_gives_another_token():
    assert encrypt_session(SESSION, key=KEY, nonce=NONCE) != encrypt_session(SESSION, key=KEY, nonce=b"other twelve")


def test_a_token_of_another_world_is_invalid():
    assert refused(encrypt_session(SESSION, key=OTHER_KEY, nonce=NONCE)) == "InvalidToken"


@given(st.data())
def test_a_token_with_any_flipped_bit_is_invalid(data):
    raw = bytearray(base64.b64decode(encrypt_session(SESSION, key=KEY, nonce=NONCE)))
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    assert refused(base64.b64encode(raw).decode()) == "InvalidToken"


@given(st.text(max_size=200))
def test_any_text_is_refused_and_nothing_else_happens(text):
    assert refused(text) == "InvalidToken"


@pytest.mark.parametrize("text", ["", "AAAA", "not base64!", "é", base64.b64encode(bytes(200)).decode()])
def test_what_was_never_a_token_is_invalid(text):
    assert refused(text) == "InvalidToken"


def test_a_cut_token_is_invalid():
    assert refused(encrypt_session(SESSION, key=KEY, nonce=NONCE)[:-4]) == "InvalidToken"


def test_a_huge_token_is_refused_before_any_work():
    assert refused("A" * (session_token.TOKEN_MAX_CHARS + 1)) == "InvalidToken"


def test_a_key_or_nonce_of_the_wrong_size_is_our_own_mistake():
    with pytest.raises(AssertionError):
        encrypt_session(SESSION, key=b"short", nonce=NONCE)
    with pytest.raises(AssertionError):
        encrypt_session(SESSION, key=KEY, nonce=b"short")


@given(st.binary(min_size=10, max_size=10))
def test_ids_have_the_form_of_aws(random):
    made = unique_id("AKIA", random)
    assert len(made) == 20
    assert made.startswith("AKIA")
    assert made.isalnum()
    assert made.upper() == made


@given(st.binary(min_size=30, max_size=30))
def test_secrets_have_forty_characters(random):
    assert len(secret_key(random)) == 40
