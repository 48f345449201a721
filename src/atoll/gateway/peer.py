"""How do two processes of a world talk? Plain HTTP whose envelope says who asked, under a MAC (rules/onward)."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable

from atoll.domain.clock import Clock
from atoll.domain.message import Body, Request, Response
from atoll.domain.shapes import Handler
from atoll.rules.onward import MAC, NotBelieved, Seen, believe, seal

_COUNT = itertools.count(1)


class Peer:
    """A Handler around the connections to one process: seals what `request.onward` says."""

    def __init__(self, carry: Handler, *, key: bytes, clock: Clock) -> None:
        self._carry = carry
        self._key = key
        self._clock = clock
        self._sender = f"{os.getpid():x}{os.urandom(6).hex()}"

    async def __call__(self, request: Request) -> Response:
        if request.onward is None:
            raise AssertionError("a call between processes says for whom it is")
        envelope = seal(
            request, request.onward, key=self._key, now=self._clock.now(), sender=self._sender, count=next(_COUNT)
        )
        return await self._carry(
            Request(request.method, request.target, {**request.headers, **envelope}, request.body, arrived=request.arrived)
        )


class Believing:
    """A Handler around a process's gateway: opens envelopes, refuses forged ones."""

    def __init__(self, inner: Handler, *, key: bytes, clock: Clock, refused: Callable[[str], None]) -> None:
        self._inner = inner
        self._key = key
        self._clock = clock
        self._seen = Seen()
        self._refused = refused

    async def __call__(self, request: Request) -> Response:
        if MAC not in request.headers:
            return await self._inner(request)
        try:
            request = believe(request, key=self._key, now=self._clock.now(), seen=self._seen)
        except (NotBelieved, ValueError) as error:
            self._refused(str(error))
            return Response(403, {"content-type": "text/plain"}, Body.of(b"This envelope is not of this world.\n"))
        return await self._inner(request)
