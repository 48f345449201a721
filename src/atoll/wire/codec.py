"""How does one AWS API travel: request -> operation and members, answer or refusal -> response?

    s3 = codec("s3")
    route = s3.route(request.method, request.path, request.query, request.headers)
    params = s3.read(route, request, document, body)
    response = s3.write(route.operation, answer)

Everything is compiled on first use, per service and per operation. Conventions beyond AWS's models: `Expires` of S3 is read as
text (clients store what they like there) and written from text or a datetime; `_entries` of ListObjectVersions holds ("Versions" | "DeleteMarkers",
item) pairs in the order of writing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from typing import Any, Protocol

from atoll.domain.call import Answer
from atoll.domain.errors import ApiError
from atoll.domain.message import Body, Request, Response
from atoll.wire import rpc, scalars
from atoll.wire.faults import Faults
from atoll.wire.jsons import JsonCodec
from atoll.wire.models import Model, load
from atoll.wire.read import RestReader
from atoll.wire.route import Route
from atoll.wire.routes import RestRouter
from atoll.wire.s3routes import S3Router
from atoll.wire.write import RestWriter
from atoll.wire.xmlread import XmlReader
from atoll.wire.xmlwrite import XmlWriter

__all__ = ["Codec", "Route", "codec"]


class _Router(Protocol):
    def route(self, method: str, path: str, query: str, headers: Mapping[str, str]) -> Route: ...


class _Rest:
    """REST protocols (rest-xml, rest-json): path, query, headers and a document."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._router: _Router = S3Router(model) if model.service == "s3" else RestRouter(model)
        self._xml_in = XmlReader(model)
        self._xml_out = XmlWriter(model, _MOMENTS.get(model.service, scalars.iso_seconds))
        self._json = JsonCodec(model)
        self._readers: dict[str, RestReader] = {}
        self._writers: dict[str, RestWriter] = {}

    def route(self, method: str, path: str, query: str, headers: Mapping[str, str], document: bytes) -> Route:
        return self._router.route(method, path, query, headers)

    def reader(self, operation: str) -> RestReader:
        reader = self._readers.get(operation)
        if reader is None:
            reader = RestReader(self._model, self._model.operations[operation], self._xml_in, self._json)
            self._readers[operation] = reader
        return reader

    def read(self, route: Route, request: Request, document: bytes, body: Body) -> dict[str, Any]:
        return self.reader(route.operation).read(route.labels, request, document, body)

    def write(self, operation: str, answer: Answer, request_id: str) -> Response:
        writer = self._writers.get(operation)
        if writer is None:
            writer = RestWriter(self._model, self._model.operations[operation], self._xml_out, self._json)
            self._writers[operation] = writer
        return writer.write(answer)

    def streams(self, operation: str) -> bool:
        return self.reader(operation).streams


_MOMENTS: Mapping[str, Callable[[datetime], str]] = {
    "s3": scalars.iso_whole,
    "s3control": scalars.iso_millis,
    "cloudfront": scalars.iso_millis,
}

_PROTOCOLS: Mapping[str, type[_Rest | rpc.Query | rpc.Json]] = {
    "rest-xml": _Rest,
    "rest-json": _Rest,
    "query": rpc.Query,
    "json": rpc.Json,
}


class Codec:
    """One service. Operations are named as AWS names them; an operation the model does not have is a KeyError."""

    def __init__(self, model: Model) -> None:
        self.service = model.service
        self._model = model
        self._protocol = _PROTOCOLS[model.protocol](model)
        self._faults = Faults(model)
        self._members: dict[str, frozenset[str]] = {}

    @property
    def operations(self) -> frozenset[str]:
        return frozenset(self._model.operations)

    def route(self, method: str, path: str, query: str, headers: Mapping[str, str], document: bytes = b"") -> Route:
        """Which operation this is. `path` and `query` are still encoded, header names in lower case, S3 paths path-style.

        `document` is needed where it decides: the form of the query protocol.
        """
        return self._protocol.route(method, path, query, headers, document)

    def streams(self, operation: str) -> bool:
        """Whether the body is the operation's payload, to be read from a Body and not as a document."""
        return self._protocol.streams(operation)

    def members(self, operation: str) -> frozenset[str]:
        """Names of the operation's input members."""
        known = self._members.get(operation)
        if known is None:
            known = self._members[operation] = frozenset(self._model.members(self._model.operations[operation].input))
        return known

    def read(self, route: Route, request: Request, document: bytes, body: Body) -> dict[str, Any]:
        """The members that were sent, typed. Raises ApiError in the service's words.

        Timestamps are datetimes in UTC, blobs bytes; words of an enum pass unchecked. `body` becomes the streaming member.
        """
        return self._protocol.read(route, request, document, body)

    def write(self, operation: str, answer: Answer, request_id: str = "") -> Response:
        """The response to a call that succeeded. `request_id` stands in the document of the query protocol."""
        return self._protocol.write(operation, answer, request_id)

    def fault(self, error: ApiError, *, request_id: str, host_id: str, resource: str = "", head: bool = False) -> Response:
        """The response to a call that was refused."""
        return self._faults.write(error, request_id=request_id, host_id=host_id, resource=resource, head=head)


@cache
def codec(service: str) -> Codec:
    """The codec of a service, named as botocore names it (s3, s3control, iam, sts, ...)."""
    return Codec(load(service))
