"""The codec of one AWS API: request to operation and members, output or error to response.

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

from atoll.aws_protocols import query_and_json, scalar_formats
from atoll.aws_protocols.error_documents import Faults
from atoll.aws_protocols.json_documents import JsonCodec
from atoll.aws_protocols.rest_reader import RestReader
from atoll.aws_protocols.rest_router import RestRouter
from atoll.aws_protocols.rest_writer import RestWriter
from atoll.aws_protocols.route import Route
from atoll.aws_protocols.s3_router import S3Router
from atoll.aws_protocols.service_models import Model, load
from atoll.aws_protocols.xml_reader import XmlReader
from atoll.aws_protocols.xml_writer import XmlWriter
from atoll.domain.api_call import OperationOutput
from atoll.domain.errors import ApiError
from atoll.domain.http_message import Body, Request, Response

__all__ = ["Codec", "Route", "codec"]


class _Router(Protocol):
    def route(self, method: str, path: str, query: str, headers: Mapping[str, str]) -> Route: ...


class _Rest:
    """REST protocols (rest-xml, rest-json): path, query, headers and a document."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._router: _Router = S3Router(model) if model.service == "s3" else RestRouter(model)
        self._xml_in = XmlReader(model)
        self._xml_out = XmlWriter(model, _MOMENTS.get(model.service, scalar_formats.iso_seconds))
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

    def write(self, operation: str, output: OperationOutput, request_id: str) -> Response:
        writer = self._writers.get(operation)
        if writer is None:
            writer = RestWriter(self._model, self._model.operations[operation], self._xml_out, self._json)
            self._writers[operation] = writer
        return writer.write(output)

    def streams(self, operation: str) -> bool:
        return self.reader(operation).streams


_MOMENTS: Mapping[str, Callable[[datetime], str]] = {
    "s3": scalar_formats.iso_whole,
    "s3control": scalar_formats.iso_millis,
    "cloudfront": scalar_formats.iso_millis,
}

_PROTOCOLS: Mapping[str, type[_Rest | query_and_json.Query | query_and_json.Json]] = {
    "rest-xml": _Rest,
    "rest-json": _Rest,
    "query": query_and_json.Query,
    "json": query_and_json.Json,
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

    def write(self, operation: str, output: OperationOutput, request_id: str = "") -> Response:
        """The response to a call that succeeded. `request_id` stands in the document of the query protocol."""
        return self._protocol.write(operation, output, request_id)

    def fault(self, error: ApiError, *, request_id: str, host_id: str, resource: str = "", head: bool = False) -> Response:
        """The response to a call that was refused."""
        return self._faults.write(error, request_id=request_id, host_id=host_id, resource=resource, head=head)


@cache
def codec(service: str) -> Codec:
    """The codec of a service, named as botocore names it (s3, s3control, iam, sts, ...)."""
    return Codec(load(service))
