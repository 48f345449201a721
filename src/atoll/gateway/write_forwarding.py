"""Requests among the processes of one region: any of them reads, the first one writes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from atoll.domain.caller import ForwardedContext
from atoll.domain.clock import Clock
from atoll.domain.errors import ApiError, Unreachable, Upstream
from atoll.domain.http_message import Request, Response
from atoll.domain.interfaces import Handler
from atoll.gateway.entry_router import incoming, without_local_fields
from atoll.gateway.error_responses import refusal
from atoll.gateway.request_log import RequestIds
from atoll.net.http1_pool import SAFE_METHODS

WRITER_WAIT_S = 5.0  # how long a request waits for a writer that is being started again
RETRY_S = 0.02


class Workers:
    """A Handler over the processes of a region, for its callers: safe requests go round among all, the others to the writer,
    which is the first. A process that cannot be reached is passed over. Raises what the last one raised."""

    def __init__(self, workers: Sequence[Handler]) -> None:
        self._workers = workers
        self._turn = itertools.cycle(range(len(workers)))

    def __call__(self, request: Request) -> Coroutine[Any, Any, Response]:
        if request.method not in SAFE_METHODS:
            return self._workers[0](request)
        return self._around(request, next(self._turn))

    async def _around(self, request: Request, first: int) -> Response:
        *others, last = (*self._workers[first:], *self._workers[:first])
        for worker in others:
            try:
                return await worker(request)
            except Unreachable:  # nothing was sent
                continue
        return await last(request)


class WritesElsewhere:
    """A Handler around a reading process's gateway: hands on what is not safe to the region's writer, as it came.

    The writer verifies the client's signature itself; what another process vouched for is vouched for again.
    """

    def __init__(self, inner: Handler, writer: Handler, *, clock: Clock, ids: RequestIds) -> None:
        self._inner = inner
        self._writer = writer
        self._clock = clock
        self._ids = ids

    def __call__(self, request: Request) -> Coroutine[Any, Any, Response]:
        return self._inner(request) if request.method in SAFE_METHODS else self._handed_on(request)

    async def _handed_on(self, request: Request) -> Response:
        forwarded = request.forwarded or ForwardedContext(request.peer, request.secure)
        try:
            return incoming(request, await self._asked(without_local_fields(request, forwarded, request.target)))
        except ApiError as error:  # the request's own body
            return self._fault(request, error)
        except Upstream as error:
            return self._fault(request, ApiError("ServiceUnavailable", f"The region's writer does not answer ({error}). Try again."))

    async def _asked(self, request: Request) -> Response:
        """Nothing was sent to a writer that cannot be reached, so waiting for its successor repeats nothing."""
        end = self._clock.monotonic() + WRITER_WAIT_S
        while True:
            try:
                return await self._writer(request)
            except Unreachable:
                if self._clock.monotonic() >= end:
                    raise
                await self._clock.sleep(RETRY_S)

    def _fault(self, request: Request, error: ApiError) -> Response:
        return refusal(request, error, self._ids.next())


class UpToDate:
    """A Handler around all of a process: brings in the newest control state before a request is judged."""

    def __init__(self, inner: Handler, catch_up: Callable[[], None]) -> None:
        self._inner = inner
        self._catch_up = catch_up

    def __call__(self, request: Request) -> Coroutine[Any, Any, Response]:
        self._catch_up()
        return self._inner(request)
