"""Error documents in the form of each protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from atoll.aws_protocols.model_patches import NAMESPACES
from atoll.aws_protocols.service_models import Model
from atoll.aws_protocols.xml_document import DECLARATION, escape
from atoll.domain.errors import ApiError
from atoll.domain.http_message import EMPTY, Body, Response

Document = Callable[[ApiError, str, str, str], str]  # error, request id, host id, resource -> text


def _elements(values: Mapping[str, str]) -> str:
    return "".join(f"<{name}>{escape(str(value))}</{name}>" for name, value in values.items())


def s3(error: ApiError, request_id: str, host_id: str, resource: str) -> str:
    """S3 API, "REST Error Responses": no namespace, not wrapped."""
    known = {"Code": error.code, "Message": error.message, **error.details}
    if resource:
        known["Resource"] = resource
    return f"{DECLARATION}<Error>{_elements(known)}{_elements({'RequestId': request_id, 'HostId': host_id})}</Error>"


def s3control(error: ApiError, request_id: str, host_id: str, resource: str) -> str:
    """Wrapped, with the ids outside (mrap.md §2.6)."""
    known = {"Code": error.code, "Message": error.message, **error.details}
    if resource:
        known["Resource"] = resource
    ids = _elements({"RequestId": request_id, "HostId": host_id})
    return f"{DECLARATION}<ErrorResponse><Error>{_elements(known)}</Error>{ids}</ErrorResponse>"


def typed(namespace: str) -> Document:
    """The form of the query protocol (IAM, STS), which CloudFront and Route 53 share: it says whose fault it was."""

    def document(error: ApiError, request_id: str, host_id: str, resource: str) -> str:
        whose = "Sender" if error.status < 500 else "Receiver"
        known = {"Type": whose, "Code": error.code, "Message": error.message, **error.details}
        ids = _elements({"RequestId": request_id})
        return f'{DECLARATION}<ErrorResponse xmlns="{namespace}"><Error>{_elements(known)}</Error>{ids}</ErrorResponse>'

    return document


def json(error: ApiError, request_id: str, host_id: str, resource: str) -> str:
    return msgspec.json.encode({"__type": error.code, "message": error.message, **error.details}).decode()


class Faults:
    """Writes one service's error responses."""

    def __init__(self, model: Model) -> None:
        self._json = model.protocol in {"json", "rest-json"}
        self._document = _document(model)
        version = f"application/x-amz-json-{model.metadata.json_version}"
        self._content_type = {"json": version, "rest-json": "application/json"}.get(model.protocol, "application/xml")
        if model.protocol == "query":
            self._content_type = "text/xml"

    def write(self, error: ApiError, *, request_id: str, host_id: str, resource: str, head: bool) -> Response:
        """HEAD and 304 have no body."""
        headers = {"x-amz-request-id": request_id, "x-amz-id-2": host_id, "x-amzn-requestid": request_id}
        if self._json:
            headers["x-amzn-errortype"] = error.code
        headers.update({name.lower(): value for name, value in error.headers.items()})
        if head or error.status == 304:
            return Response(error.status, headers, EMPTY)
        headers["content-type"] = self._content_type
        return Response(error.status, headers, Body.of(self._document(error, request_id, host_id, resource).encode()))


def _document(model: Model) -> Document:
    if model.protocol in {"json", "rest-json"}:
        return json
    special = {"s3": s3, "s3control": s3control}.get(model.service)
    return special or typed(model.metadata.xml_namespace or NAMESPACES.get(model.service, ""))
