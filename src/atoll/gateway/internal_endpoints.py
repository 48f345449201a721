"""Health, metrics and actions, for whoever asks a process directly and not through an AWS name."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any

import msgspec

from atoll.domain.errors import ApiError
from atoll.domain.http_message import Body, Request, Response
from atoll.domain.interfaces import Handler
from atoll.gateway.error_responses import refusal
from atoll.gateway.metrics import Counters, Metrics
from atoll.gateway.request_log import RequestIds
from atoll.rules.endpoint_hostnames import is_literal, without_port

HEALTH = "/_atoll/health"
METRICS = "/_atoll/metrics"
COUNTERS = "/_atoll/counters"  # for this region's other processes: what this one adds to the metrics
ACTION_MAX_BYTES = 64 * 1024

Action = Callable[[bytes], Awaitable[bytes]]
Others = Callable[[], Awaitable[Sequence[Counters]]]


async def _nobody() -> Sequence[Counters]:
    return ()


class InternalEndpoints:
    """A Handler around another: answers /_atoll/health and /_atoll/metrics on plain addresses.

    `actions` are for this world's own processes only: path -> what to do with the body of a POST under an envelope.
    `others` asks the other processes of a region what they counted.
    """

    def __init__(
        self,
        inner: Handler,
        metrics: Metrics,
        health: Callable[[], Mapping[str, Any]],
        actions: Mapping[str, Action] | None = None,
        others: Others = _nobody,
    ) -> None:
        self._actions = {COUNTERS: self._count, **(actions or {})}
        self._others = others
        self._inner = inner
        self._ids = RequestIds()
        self._metrics = metrics
        self._health = health

    def __call__(self, request: Request) -> Coroutine[Any, Any, Response]:
        return self._internal_response(request) if self._is_internal(request) else self._inner(request)

    async def _internal_response(self, request: Request) -> Response:
        action = self._actions.get(request.path)
        if action is not None and request.method == "POST" and request.forwarded is not None:
            result = await action(await request.body.read_small(ACTION_MAX_BYTES))
            return Response(200, {"content-type": "application/json"}, Body.of(result))
        if request.path == METRICS:
            text = self._metrics.with_others(await self._others()).text()
            return Response(200, {"content-type": "text/plain; version=0.0.4; charset=utf-8"}, Body.of(text))
        return self._answer(request)

    async def _count(self, _body: bytes) -> bytes:
        return msgspec.json.encode(self._metrics.counters())

    @staticmethod
    def _is_internal(request: Request) -> bool:
        """Never what a place carries for a client: behind an alias a key may be called so, and a client is no process."""
        if not request.path.startswith("/_atoll/") or (request.forwarded is not None and request.forwarded.place):
            return False
        return is_literal(without_port(request.headers.get("host", "")))

    def _answer(self, request: Request) -> Response:
        path = request.path
        if path == HEALTH:
            return Response(200, {"content-type": "application/json"}, Body.of(json.dumps(self._health()).encode() + b"\n"))
        return refusal(request, ApiError("NoSuchKey", f"There are {HEALTH} and {METRICS}."), self._ids.next(), "s3")
