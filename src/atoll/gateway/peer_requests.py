"""Requests between the processes of a world: plain HTTP whose envelope says who asked, under a MAC (rules/peer_envelope)."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Coroutine
from typing import Any

from msgspec import structs

from atoll.domain.clock import Clock
from atoll.domain.errors import ApiError
from atoll.domain.http_message import Request, Response
from atoll.domain.interfaces import Handler
from atoll.gateway.error_responses import refusal
from atoll.gateway.request_log import RequestIds
from atoll.rules.peer_envelope import MAC, InvalidEnvelope, NonceWindow, NotTaken, sign_envelope, verify_envelope

_COUNT = itertools.count(1)
LOCAL_HOST = "127.0.0.1"  # what a call is addressed to that names nobody


class Peer:
    """A Handler around the connections to one process: seals what `request.forwarded` says.

    `version()` is how much of the control state this process has seen, `audience` which of a region's processes is asked.
    """

    def __init__(
        self, carry: Handler, *, key: bytes, clock: Clock, version: Callable[[], int] = lambda: 0, audience: str = ""
    ) -> None:
        self._version = version
        self._audience = audience
        self._carry = carry
        self._key = key
        self._clock = clock
        self._sender = f"{os.getpid():x}{os.urandom(6).hex()}"

    async def __call__(self, request: Request) -> Response:
        forwarded = request.forwarded
        if forwarded is None:
            raise AssertionError("a call between processes says for whom it is")
        request = _with_host(request)
        envelope = sign_envelope(
            request, structs.replace(forwarded, state_version=self._version()), key=self._key, now=self._clock.now(), sender=self._sender, count=next(_COUNT),
            audience=self._audience,
        )  # fmt: skip
        return await self._carry(
            Request(request.method, request.target, {**request.headers, **envelope}, request.body, arrived=request.arrived)
        )


def _with_host(request: Request) -> Request:
    """With a Host, which the MAC covers: a connection would add its own afterwards."""
    if "host" in request.headers:
        return request
    return structs.replace(request, headers={**request.headers, "host": LOCAL_HOST})


def _why(error: Exception) -> ApiError:
    """As the client reads it. What this world's own processes could not settle is worth another try; a forgery is not."""
    if isinstance(error, NotTaken):
        return ApiError("ServiceUnavailable", f"One process of this world could not take the word of another ({error}). Try again.")
    return ApiError("AccessDenied", f"The x-atoll- headers of this request are not of this world: {error}.")


class EnvelopeVerifier:
    """A Handler around a process's gateway: opens envelopes, refuses forged ones."""

    def __init__(
        self, inner: Handler, *, key: bytes, clock: Clock, refused: Callable[[str], None], audience: str = ""
    ) -> None:
        self._audience = audience
        self._inner = inner
        self._key = key
        self._clock = clock
        self._nonces = NonceWindow()
        self._refused = refused
        self._ids = RequestIds()

    def __call__(self, request: Request) -> Coroutine[Any, Any, Response]:
        """Not a coroutine of its own: what most requests pass by should cost them nothing."""
        return self._inner(request) if MAC not in request.headers else self._verified_request(request)

    async def _verified_request(self, request: Request) -> Response:
        try:
            request = verify_envelope(request, key=self._key, now=self._clock.now(), nonces=self._nonces, audience=self._audience)
        except (InvalidEnvelope, ValueError) as error:
            self._refused(str(error))
            return refusal(request, _why(error), self._ids.next())
        return await self._inner(request)
