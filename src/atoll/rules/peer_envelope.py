"""The envelope of requests between processes: a MAC over what it says, a time window, and nonces.

Each sending process has a random id and counts its calls; the receiver keeps, per sender, the highest count and a bit mask
of the ones just below it (as RFC 4303 section 3.4.3 does for packets), so memory is bounded and a replay is refused.
"""

from __future__ import annotations

import base64
import hmac
from collections import OrderedDict

import msgspec

from atoll.domain.caller import ForwardedContext
from atoll.domain.http_message import Request

FORWARDED = "x-atoll-onward"
DATE = "x-atoll-date"
NONCE = "x-atoll-nonce"
MAC = "x-atoll-mac"
BODY_MODE = "x-atoll-body"
HEADERS = (FORWARDED, DATE, NONCE, MAC, BODY_MODE)

WINDOW_S = 60  # DESIGN.md, section 4
REORDER_MAX = 4096  # counts that may still arrive behind the highest one
SENDERS_MAX = 1024  # sending processes remembered; a restart is a new sender

_pack = msgspec.json.Encoder().encode
_unpack = msgspec.json.Decoder(ForwardedContext).decode


class InvalidEnvelope(Exception):
    """The envelope is missing or altered, and so not of this world. The text says which."""


class NotTaken(InvalidEnvelope):
    """The envelope is of this world and cannot be taken all the same: too old, seen before, or its body framed otherwise."""


# Headers that a hop may change or drop without changing what is asked (RFC 9110 section 7.6.1); all others are under the MAC.
FREE_HEADERS = frozenset((
    *HEADERS, "connection", "content-length", "date", "expect", "keep-alive", "proxy-authenticate", "proxy-authorization",
    "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
))  # fmt: skip


def _headers(request: Request) -> str:
    rest = sorted((name, value) for name, value in request.headers.items() if name not in FREE_HEADERS)
    return "\n".join([f"{name}:{value}" for name, value in rest])


def _mac(key: bytes, request: Request, *spoken: str) -> str:
    text = "\n".join((request.method, request.target, *spoken, _headers(request)))
    return hmac.digest(key, text.encode("latin-1"), "sha256").hex()


def _body_mode(request: Request) -> str:
    """As it was announced: what has arrived by now is chance, and must not be vouched for."""
    return "unknown" if request.body.length is None else str(request.body.length)


def sign_envelope(
    request: Request, forwarded: ForwardedContext, *, key: bytes, now: float, sender: str, count: int, audience: str = ""
) -> dict[str, str]:
    """The headers that vouch for `forwarded` on this request, to the process of a region that `audience` names."""
    text = base64.urlsafe_b64encode(_pack(forwarded)).decode()
    date, nonce, mode = f"{now:.3f}", f"{sender}.{count}", _body_mode(request)
    return {FORWARDED: text, DATE: date, NONCE: nonce, BODY_MODE: mode, MAC: _mac(key, request, date, nonce, mode, text, audience)}


class NonceWindow:
    """Nonces that were accepted."""

    def __init__(self) -> None:
        self._senders: OrderedDict[str, tuple[int, int]] = OrderedDict()

    def accept(self, nonce: str) -> bool:
        """True the first time, False for a repetition or one too far behind."""
        sender, _, text = nonce.partition(".")
        if not text.isdigit() or len(text) > 18:
            return False
        count = int(text)
        highest, mask = self._senders.get(sender, (-1, 0))
        ahead = count - highest
        if ahead > 0:
            mask = ((mask << ahead) | (1 << (ahead - 1))) if highest >= 0 and ahead <= REORDER_MAX else 0
            self._remember(sender, count, mask & ((1 << REORDER_MAX) - 1))
            return True
        bit = 1 << (-ahead - 1) if ahead < 0 else 0
        if not bit or -ahead > REORDER_MAX or mask & bit:
            return False
        self._remember(sender, highest, mask | bit)
        return True

    def _remember(self, sender: str, highest: int, mask: int) -> None:
        self._senders[sender] = (highest, mask)
        self._senders.move_to_end(sender)
        if len(self._senders) > SENDERS_MAX:
            self._senders.popitem(last=False)


def verify_envelope(request: Request, *, key: bytes, now: float, nonces: NonceWindow, audience: str = "") -> Request:
    """The request with `forwarded` set and the envelope's headers taken off. Raises NotBelieved, NotTaken."""
    headers = dict(request.headers)
    try:
        text, date, nonce, mac, mode = (headers.pop(name) for name in (FORWARDED, DATE, NONCE, MAC, BODY_MODE))
    except KeyError as error:
        raise InvalidEnvelope(f"{error.args[0]} is missing") from None
    if not hmac.compare_digest(_mac(key, request, date, nonce, mode, text, audience).encode(), mac.encode("latin-1")):
        raise InvalidEnvelope("the MAC does not match")
    if abs(now - float(date)) > WINDOW_S:
        raise NotTaken(f"{date} is more than {WINDOW_S} s away from {now:.3f}")
    if mode != _body_mode(request):
        raise NotTaken("the body is framed otherwise than was vouched for")
    if not nonces.accept(nonce):
        raise NotTaken("this call was seen before")
    return replace_forwarded(request, headers, _unpack(base64.urlsafe_b64decode(text)))


def replace_forwarded(request: Request, headers: dict[str, str], forwarded: ForwardedContext) -> Request:
    """The same request, with what was vouched for in place of what the socket said."""
    return Request(
        request.method,
        request.target,
        headers,
        request.body,
        peer=forwarded.peer,
        secure=forwarded.secure,
        arrived=request.arrived,
        forwarded=forwarded,
    )
