import asyncio

from atoll.domain.caller import Caller, Onward
from atoll.domain.message import Body, Request, Response
from atoll.gateway.peer import Believing, Peer
from atoll.rules.onward import MAC, WINDOW_S
from s3world import Ticks

KEY = b"k" * 32
ONWARD = Onward("192.0.2.7", True, place="london", caller=Caller("root", "111122223333"), request_id="E1")


class Far:
    """The receiving process: what came over the wire, what was believed, what was refused."""

    def __init__(self, clock, key=KEY):
        self.wire, self.believed, self.reasons = [], [], []
        self._handler = Believing(self._answer, key=key, clock=clock, refused=self.reasons.append)

    async def _answer(self, request):
        self.believed.append(request)
        return Response(200)

    async def __call__(self, request):
        self.wire.append(request)
        return await self._handler(request)


def sent(clock, far, headers=None, onward=ONWARD, key=KEY):
    return asyncio.run(Peer(far, key=key, clock=clock)(Request("PUT", "/b/k?x=1", {"host": "h", **(headers or {})}, Body.of(b"abc"), onward=onward)))


def test_what_one_process_says_the_other_believes():
    clock = Ticks(1000.0)
    far = Far(clock)
    assert sent(clock, far).status == 200
    (request,) = far.believed
    assert request.onward == ONWARD
    assert (request.peer, request.secure, request.headers) == ("192.0.2.7", True, {"host": "h"})
    assert MAC in far.wire[0].headers


def test_a_client_that_writes_envelope_headers_itself_is_overruled_by_the_sender():
    clock = Ticks(1000.0)
    far = Far(clock)
    assert sent(clock, far, {MAC: "0" * 64, "x-atoll-onward": "forged"}).status == 200
    assert far.believed[0].onward == ONWARD


def test_an_envelope_for_one_process_of_a_region_is_refused_by_the_others():
    clock = Ticks(1000.0)
    far = Far(clock)
    far._handler = Believing(far._answer, key=KEY, clock=clock, refused=far.reasons.append, audience="2")
    request = Request("GET", "/b/k", {"host": "h"}, onward=ONWARD)
    assert [asyncio.run(Peer(far, key=KEY, clock=clock, audience=to)(request)).status < 300 for to in ("", "1", "2")] == [False, False, True]


def test_a_forged_envelope_is_refused_and_nobody_inside_hears_of_it():
    clock = Ticks(1000.0)
    far = Far(clock)
    assert sent(clock, far, key=b"x" * 32).status == 403
    assert far.believed == []
    assert far.reasons == ["the MAC does not match"]


def test_a_replayed_envelope_is_refused():
    clock = Ticks(1000.0)
    far = Far(clock)
    sent(clock, far)
    (wire,) = far.wire
    assert asyncio.run(far(wire)).status == 403
    assert far.reasons == ["this call was seen before"]
    assert len(far.believed) == 1


def test_an_old_envelope_is_refused():
    clock = Ticks(1000.0)
    late = Ticks(1000.0 + WINDOW_S + 1)
    far = Far(late)
    assert sent(clock, far).status == 403
    assert "more than 60 s away" in far.reasons[0]


def test_an_envelope_with_a_senseless_date_is_refused_not_a_failure():
    clock = Ticks(1000.0)
    far = Far(clock)
    request = Request("GET", "/", {"host": "h", MAC: "0", "x-atoll-onward": "!", "x-atoll-date": "soon", "x-atoll-nonce": "n", "x-atoll-body": "0"})
    assert asyncio.run(far(request)).status == 403


def test_a_request_without_an_envelope_passes_and_speaks_for_nobody():
    far = Far(Ticks(1000.0))
    assert asyncio.run(far(Request("GET", "/", {"host": "h", "x-atoll-onward": "forged"}))).status == 200
    assert far.believed[0].onward is None
