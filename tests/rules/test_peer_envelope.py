import random

import pytest

from atoll.domain.caller import Authentication, Caller, ForwardedContext
from atoll.domain.http_message import Body, Request
from atoll.net.http1_serializer import NOT_FORWARDED
from atoll.rules.peer_envelope import FREE_HEADERS, REORDER_MAX, InvalidEnvelope, NonceWindow, sign_envelope, verify_envelope

KEY = b"k" * 32
CALLER = Caller("user", "123456789012", "arn:aws:iam::123456789012:user/u", "AIDA", "u")
FORWARDED = ForwardedContext("10.0.0.9", True, place="london", caller=CALLER, authentication=Authentication("REST-HEADER", "AWS4-HMAC-SHA256"), bucket="b")


def sealed(now=1000.0, count=1, **changes):
    given = {"method": "PUT", "target": "/b/k?x=1", "headers": {"host": "h", "x-atoll-facts": "f"}, "body": Body.of(b"1")} | changes
    bare = Request(given["method"], given["target"], given["headers"], given["body"])
    return Request(bare.method, bare.target, {**bare.headers, **sign_envelope(bare, FORWARDED, key=KEY, now=now, sender="s", count=count)}, bare.body)


def test_what_was_vouched_for_arrives_whole():
    got = verify_envelope(sealed(), key=KEY, now=1000.0, nonces=NonceWindow())
    assert got.forwarded == FORWARDED
    assert (got.peer, got.secure) == ("10.0.0.9", True)
    assert got.headers == {"host": "h", "x-atoll-facts": "f"}


@pytest.mark.parametrize("header", ["x-atoll-onward", "x-atoll-date", "x-atoll-nonce", "x-atoll-mac", "x-atoll-body", "x-atoll-facts", "host"])
def test_an_altered_header_is_refused(header):
    request = sealed()
    request.headers = {**request.headers, header: request.headers[header][:-1] + "~"}
    with pytest.raises(InvalidEnvelope):
        verify_envelope(request, key=KEY, now=1000.0, nonces=NonceWindow())


@pytest.mark.parametrize("header", ["x-atoll-onward", "x-atoll-date", "x-atoll-nonce", "x-atoll-mac", "x-atoll-body"])
def test_a_missing_header_is_refused(header):
    request = sealed()
    request.headers = {name: value for name, value in request.headers.items() if name != header}
    with pytest.raises(InvalidEnvelope):
        verify_envelope(request, key=KEY, now=1000.0, nonces=NonceWindow())


def test_another_method_target_or_body_framing_is_refused():
    good = sealed()
    for changed in (Request("GET", good.target, good.headers, good.body), Request("PUT", "/b/other", good.headers, good.body), Request("PUT", good.target, good.headers, Body.of(b"22"))):
        with pytest.raises(InvalidEnvelope):
            verify_envelope(changed, key=KEY, now=1000.0, nonces=NonceWindow())


def test_what_a_connection_drops_is_not_vouched_for():
    assert FREE_HEADERS >= NOT_FORWARDED | {"expect"}


def test_a_body_that_is_here_is_vouched_for_by_what_was_announced_of_it():
    request = sealed(body=Body(None, None, b"hello"))
    request.body = Body(iter(()), None)
    assert verify_envelope(request, key=KEY, now=1000.0, nonces=NonceWindow()).forwarded == FORWARDED


def test_an_added_header_is_refused():
    request = sealed()
    request.headers = {**request.headers, "x-amz-acl": "public-read"}
    with pytest.raises(InvalidEnvelope):
        verify_envelope(request, key=KEY, now=1000.0, nonces=NonceWindow())


def test_another_key_is_refused():
    with pytest.raises(InvalidEnvelope):
        verify_envelope(sealed(), key=b"x" * 32, now=1000.0, nonces=NonceWindow())


@pytest.mark.parametrize("now", [939.0, 1061.0])
def test_a_call_outside_the_window_is_refused(now):
    with pytest.raises(InvalidEnvelope):
        verify_envelope(sealed(), key=KEY, now=now, nonces=NonceWindow())


def test_a_replay_is_refused():
    nonces = NonceWindow()
    verify_envelope(sealed(), key=KEY, now=1000.0, nonces=nonces)
    with pytest.raises(InvalidEnvelope, match="seen before"):
        verify_envelope(sealed(), key=KEY, now=1000.0, nonces=nonces)


def test_nonces_may_arrive_out_of_order_but_each_only_once():
    order = list(range(1, 3000))
    random.Random(7).shuffle(order)
    nonces = NonceWindow()
    assert all(nonces.accept(f"s.{count}") for count in order)
    assert not any(nonces.accept(f"s.{count}") for count in order)


def test_a_count_far_behind_is_refused_and_far_ahead_forgets_the_past():
    nonces = NonceWindow()
    assert nonces.accept("s.10")
    assert nonces.accept(f"s.{10 + REORDER_MAX + 5}")
    assert not nonces.accept("s.10")
    assert nonces.accept("s.20")


@pytest.mark.parametrize("nonce", ["", "s", "s.", "s.x", "s.-1", "s." + "9" * 30])
def test_a_nonce_that_makes_no_sense_is_refused(nonce):
    assert not NonceWindow().accept(nonce)
