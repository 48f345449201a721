"""The protocols that post every call to one address: query (IAM, STS) and json (Global Accelerator, Transfer)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from atoll.aws_protocols import form_reader, scalar_formats
from atoll.aws_protocols.json_documents import JsonCodec
from atoll.aws_protocols.route import Route
from atoll.aws_protocols.service_models import Model, Operation
from atoll.aws_protocols.xml_document import DECLARATION, escape
from atoll.aws_protocols.xml_writer import Writer, XmlWriter
from atoll.domain.api_call import OperationOutput
from atoll.domain.errors import ApiError
from atoll.domain.http_message import Body, Request, Response

_NO_LABELS: Mapping[str, str] = {}


class Query:
    """AWS query protocol: a form in, XML out. The form may stand in the query of a GET (presigned GetCallerIdentity)."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._xml = XmlWriter(model, scalar_formats.iso_seconds)
        self._writers: dict[str, Writer] = {}

    def route(self, method: str, path: str, query: str, headers: Mapping[str, str], document: bytes) -> Route:
        if method not in {"GET", "POST"}:
            raise ApiError("MethodNotAllowed", f"{method} is not allowed here.", headers={"allow": "GET, POST"})
        action = next((value for name, value in form_reader.words(query, document) if name == "Action"), "")
        if action not in self._model.operations:
            raise ApiError(
                "InvalidAction", f"Could not find operation {action[:200]} for version {self._model.metadata.api_version}"
            )
        return Route(action, _NO_LABELS)

    def read(self, route: Route, request: Request, document: bytes, body: Body) -> dict[str, Any]:
        operation = self._model.operations[route.operation]
        return form_reader.read(self._model, operation.input, form_reader.words(request.query, document))

    def write(self, operation: str, output: OperationOutput, request_id: str) -> Response:
        namespace = self._model.metadata.xml_namespace
        pieces = [DECLARATION, f'<{operation}Response xmlns="{namespace}">']
        self._writer(self._model.operations[operation])(pieces.append, output.members)
        pieces.append(f"<ResponseMetadata><RequestId>{escape(request_id)}</RequestId></ResponseMetadata></{operation}Response>")
        headers = {"content-type": "text/xml", **output.headers}
        return Response(output.status or 200, headers, Body.of("".join(pieces).encode()))

    def _writer(self, operation: Operation) -> Writer:
        writer = self._writers.get(operation.name)
        if writer is None:
            ref = operation.output
            writer = _nothing if ref is None else self._xml.root(ref, ref.result_wrapper or f"{operation.name}Result", "")
            self._writers[operation.name] = writer
        return writer

    def streams(self, operation: str) -> bool:
        return False


def _nothing(put: object, value: object) -> None:
    """Operations without output have no result element."""


class Json:
    """AWS JSON 1.0 and 1.1: the operation is named by a header."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._json = JsonCodec(model)
        self._content_type = f"application/x-amz-json-{model.metadata.json_version}"

    def route(self, method: str, path: str, query: str, headers: Mapping[str, str], document: bytes) -> Route:
        prefix, _, operation = headers.get("x-amz-target", "").rpartition(".")
        if prefix != self._model.metadata.target_prefix or operation not in self._model.operations:
            raise ApiError("UnknownOperationException", f"No operation {operation[:200]!r}.", status=400)
        return Route(operation, _NO_LABELS)

    def read(self, route: Route, request: Request, document: bytes, body: Body) -> dict[str, Any]:
        ref = self._model.operations[route.operation].input
        return self._json.read(ref, document or b"{}") if ref else {}

    def write(self, operation: str, output: OperationOutput, request_id: str) -> Response:
        ref = self._model.operations[operation].output
        document = self._json.write(ref, output.members) if ref else b"{}"
        return Response(output.status or 200, {"content-type": self._content_type, **output.headers}, Body.of(document))

    def streams(self, operation: str) -> bool:
        return False
