import asyncio
from xml.etree import ElementTree as ET

import pytest

from atoll.domain.caller import Caller, ForwardedContext
from atoll.domain.http_message import Body, Request, Response
from atoll.gateway.peer_requests import EnvelopeVerifier, Peer
from atoll.rules.peer_envelope import MAC, WINDOW_S
from s3world import Ticks

KEY = b"k" * 32
FORWARDED = ForwardedContext("192.0.2.7", True, place="london", caller=Caller("root", "111122223333"), request_id="E1")


class Far:
    """The receiving process: what came over the wire, what was believed, what was refused."""

    def __init__(self, clock, key=KEY):
        self.wire, self.believed, self.reasons = [], [], []
        self._handler = EnvelopeVerifier(self._answer, key=key, clock=clock, refused=self.reasons.append)

    async def _answer(self, request):
        self.believed.append(request)
        return Response(200)

    async def __call__(self, request):
        self.wire.append(request)
        return await self._handler(request)


def sent(clock, far, headers=None, forwarded=FORWARDED, key=KEY):
    return asyncio.run(Peer(far, key=key, clock=clock)(Request("PUT", "/b/k?x=1", {"host": "h", **(headers or {})}, Body.of(b"abc"), forwarded=forwarded)))


def result(response):
    return response.status, ET.fromstring(response.body.small).findtext("Code")


def test_what_one_process_says_the_other_believes():
    clock = Ticks(1000.0)
    far = Far(clock)
    assert sent(clock, far).status == 200
    (request,) = far.believed
    assert request.forwarded == FORWARDED
    assert (request.peer, request.secure, request.headers) == ("192.0.2.7", True, {"host": "h"})
    assert MAC in far.wire[0].headers


def test_a_client_that_writes_envelope_headers_itself_is_overruled_by_the_sender():
    clock = Ticks(1000.0)
    far = Far(clock)
    assert sent(clock, far, {MAC: "0" * 64, "x-atoll-onward": "forged"}).status == 200
    assert far.believed[0].forwarded == FORWARDED


def test_an_envelope_for_one_process_of_a_region_is_refused_by_the_others():
    clock = Ticks(1000.0)
    far = Far(clock)
    far._handler = EnvelopeVerifier(far._answer, key=KEY, clock=clock, refused=far.reasons.append, audience="2")
    request = Request("GET", "/b/k", {"host": "h"}, forwarded=FORWARDED)
    assert [asyncio.run(Peer(far, key=KEY, clock=clock, audience=to)(request)).status < 300 for to in ("", "1", "2")] == [False, False, True]


def test_a_forged_envelope_is_refused_and_nobody_inside_hears_of_it():
    clock = Ticks(1000.0)
    far = Far(clock)
    assert result(sent(clock, far, key=b"x" * 32)) == (403, "AccessDenied")
    assert far.believed == []
    assert far.reasons == ["the MAC does not match"]


def test_a_replayed_envelope_is_refused():
    clock = Ticks(1000.0)
    far = Far(clock)
    sent(clock, far)
    (wire,) = far.wire
    assert result(asyncio.run(far(wire))) == (503, "ServiceUnavailable")
    assert far.reasons == ["this call was seen before"]
    assert len(far.believed) == 1


def test_an_old_envelope_is_refused():
    clock = Ticks(1000.0)
    late = Ticks(1000.0 + WINDOW_S + 1)
    far = Far(late)
    assert result(sent(clock, far)) == (503, "ServiceUnavailable")
    assert "more than 60 s away" in far.reasons[0]


def test_an_envelope_with_a_senseless_date_is_refused_not_a_failure():
    clock = Ticks(1000.0)
    far = Far(clock)
    request = Request("GET", "/", {"host": "h", MAC: "0", "x-atoll-onward": "!", "x-atoll-date": "soon", "x-atoll-nonce": "n", "x-atoll-body": "0"})
    assert result(asyncio.run(far(request))) == (403, "AccessDenied")


def test_a_mac_of_odd_characters_is_refused_not_a_failure():
    far = Far(Ticks(1000.0))
    names = ("x-atoll-onward", "x-atoll-date", "x-atoll-nonce", "x-atoll-body")
    assert result(asyncio.run(far(Request("GET", "/", {"host": "h", MAC: "\xe9", **dict.fromkeys(names, "1")})))) == (403, "AccessDenied")


def test_a_body_that_is_framed_otherwise_than_was_vouched_for_may_be_sent_again():
    clock = Ticks(1000.0)
    far = Far(clock)
    sent(clock, far)
    (wire,) = far.wire
    altered = Request(wire.method, wire.target, wire.headers, Body(None, None, b"abc"))
    assert result(asyncio.run(far(altered))) == (503, "ServiceUnavailable")
    assert far.reasons == ["the body is framed otherwise than was vouched for"]


@pytest.mark.parametrize(
    ("host", "root"), [("s3.us-east-1.amazonaws.com", "Error"), ("iam.amazonaws.com", "ErrorResponse"), ("111122223333.s3-control.us-east-1.amazonaws.com", "ErrorResponse")]
)
def test_a_refusal_is_a_document_of_the_api_that_was_asked(host, root):
    clock = Ticks(1000.0)
    response = sent(clock, Far(clock), {"host": host}, key=b"x" * 32)
    document = ET.fromstring(response.body.small)
    assert document.tag.rpartition("}")[2] == root
    assert {each.tag.rpartition("}")[2] for each in document.iter()} >= {"Code", "Message", "RequestId"}
    assert response.headers["content-type"].endswith("/xml")
    assert response.headers["x-amz-request-id"]


def test_a_refused_head_has_no_body():
    request = Request("HEAD", "/b/k", {"host": "h", MAC: "0"})
    assert asyncio.run(Far(Ticks(1000.0))(request)).body.small == b""


def test_a_request_without_an_envelope_passes_and_speaks_for_nobody():
    far = Far(Ticks(1000.0))
    assert asyncio.run(far(Request("GET", "/", {"host": "h", "x-atoll-onward": "forged"}))).status == 200
    assert far.believed[0].forwarded is None
