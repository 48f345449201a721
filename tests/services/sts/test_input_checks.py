"""What STS's members may look like, and how much fits into a token."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.errors import ApiError
from atoll.rules.session_token import TOKEN_MAX_CHARS, Session, encrypt_session
from atoll.services.sts import input_checks


def test_an_empty_policy_and_no_tags_take_no_room():
    assert input_checks.packed_percent("", {}) == 0


def test_the_room_in_a_token_is_counted_in_bytes():
    assert input_checks.packed_percent("a" * input_checks.PACKED_MAX_BYTES, {}) == 100
    with pytest.raises(ApiError) as caught:
        input_checks.packed_percent("å" * (input_checks.PACKED_MAX_BYTES // 2 + 1), {})
    assert (caught.value.code, caught.value.status) == ("PackedPolicyTooLarge", 400)


@given(st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=1024))
def test_what_fits_makes_a_token_that_opens_again(policy):
    input_checks.packed_percent(policy, {})
    session = Session(
        access_key="A" * 20, secret="s" * 40, kind="role", user_id="A" * 21, issued=1, expires=2, name="n" * 64,
        session="s" * 64, session_policy=policy,
    )  # fmt: skip
    assert len(encrypt_session(session, key=bytes(32), nonce=bytes(12))) <= TOKEN_MAX_CHARS


def test_a_refusal_names_the_member_and_the_rule():
    with pytest.raises(ApiError, match="'durationSeconds' failed to satisfy constraint: Member must have value between 900 and"):
        input_checks.duration(1, 900, 3600)
