"""Writes an operation's output as a REST response: status, headers, body.

Compiled once per operation. Header names are written in lower case.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from atoll.aws_protocols import scalar_formats
from atoll.aws_protocols.json_documents import JsonCodec
from atoll.aws_protocols.model_patches import ENTRIES, INTERLEAVED, NAMESPACES, S3_ROOTS, S3_STATUS
from atoll.aws_protocols.service_models import Field, Model, Operation, Ref
from atoll.aws_protocols.xml_document import DECLARATION, escape
from atoll.aws_protocols.xml_writer import Put, Writer, XmlWriter
from atoll.domain.api_call import OperationOutput
from atoll.domain.errors import ApiError, not_implemented
from atoll.domain.http_message import EMPTY, Body, Response

Text = Callable[[Any], str]
Render = Callable[[Mapping[str, Any]], tuple[Body, str]]  # members -> body, content type ("" when there is none)

XML, JSON, BINARY = "application/xml", "application/json", "binary/octet-stream"


class RestWriter:
    """Writes the responses of one operation."""

    def __init__(self, model: Model, operation: Operation, xml: XmlWriter, json: JsonCodec) -> None:
        patched = S3_STATUS if model.service == "s3" else {}
        self._status = patched.get(operation.name, operation.http.response_code)
        self._headers: dict[str, tuple[str, Text | None]] = {}
        self._maps: dict[str, str] = {}
        self._status_member = ""
        for name, field in model.members(operation.output).items():
            self._bind(model, name, field)
        self._render = _render(model, operation, xml, json)

    def _bind(self, model: Model, name: str, field: Field) -> None:
        match field.ref.location:
            case "header":
                self._headers[name] = (field.wire.lower(), _header_text(model, field))
            case "headers":
                self._maps[name] = field.wire.lower()
            case "statusCode":
                self._status_member = name

    def write(self, output: OperationOutput) -> Response:
        """The body is there for HEAD too: the sender leaves it away."""
        members = output.members
        headers: dict[str, str] = {}
        bound = self._headers
        for name, value in members.items():
            place = bound.get(name)
            if place is not None and value is not None:
                wire, text = place
                headers[wire] = value if text is None else text(value)
        joined = "".join(headers.values())
        if not (joined.isascii() and joined.isprintable()):
            headers = {wire: _checked(value, wire) for wire, value in headers.items()}
        for name, prefix in self._maps.items():
            for key, value in (members.get(name) or {}).items():
                headers[_checked(prefix + key, "a header name")] = _encoded(value)
        body, content_type = self._render(members) if self._render is not None else (EMPTY, "")
        if body.length != 0 and content_type:
            headers.setdefault("content-type", content_type)
        if body is not EMPTY:
            headers.pop("content-length", None)  # the sender's business, from the body itself; HEAD has none
        if output.headers:
            for name, value in output.headers.items():
                headers[name.lower()] = _checked(value, name)
        return Response(output.status or members.get(self._status_member) or self._status, headers, body)


def _header_text(model: Model, field: Field) -> Text | None:
    """Value -> header text; None for text."""
    if field.type == "list":
        item = scalar_formats.text_writer(model.item(field.shape).type, "", scalar_formats.http_date)
        return lambda values: ",".join(item(value) for value in values)
    if field.type == "string":
        return _date_or_text if field.name == "Expires" else None
    return scalar_formats.text_writer(field.type, field.timestamp_format, scalar_formats.http_date)


def _date_or_text(value: datetime | str) -> str:
    """S3's Expires is text that clients chose; response-expires overrides it with a date."""
    return value if isinstance(value, str) else scalar_formats.http_date(value)


def _checked(text: str, wire: str) -> str:
    """A header value may not hold control characters: one with a line break in it would be a second header."""
    if text.isascii() and text.isprintable():
        return text
    if any(c < " " or c == "\x7f" for c in text if c != "\t"):
        raise ApiError("InvalidArgument", f"Header values cannot hold control characters: {wire}.", ArgumentName=wire)
    try:
        text.encode("latin-1")
    except UnicodeEncodeError as error:
        raise ApiError("InvalidArgument", f"Header values are Latin-1: {wire}.", ArgumentName=wire) from error
    return text


def _encoded(value: str) -> str:
    """User metadata: what is not printable ASCII goes out as an encoded word. Source: RFC 2047; cases/s3.md, S33."""
    if value.isascii() and value.isprintable():
        return value
    return f"=?UTF-8?B?{b64encode(value.encode('utf-8', 'surrogateescape')).decode('ascii')}?="


def _render(model: Model, operation: Operation, xml: XmlWriter, json: JsonCodec) -> Render | None:
    ref = operation.output
    if ref is None:
        return None
    payload = model.payload(ref)
    if payload is not None:
        return _payload(model, operation, payload, xml, json)
    if model.protocol == "rest-json":
        return lambda members: (Body.of(json.write(ref, members)), JSON)
    if model.shape(ref).members and not xml.parts(ref):
        return None  # all of it is in headers
    return _xml(_root(model, operation, ref, xml))


def _payload(model: Model, operation: Operation, payload: Field, xml: XmlWriter, json: JsonCodec) -> Render:
    name = payload.name
    if payload.shape.eventstream:
        return _no_events(operation.name)
    if payload.type in {"blob", "string"}:
        kind = JSON if payload.type == "string" else BINARY
        return lambda members: (_body(members.get(name)), kind)
    if model.protocol == "rest-json":
        return lambda members: (Body.of(json.write(payload.ref, members.get(name) or {})), JSON)
    root = name if model.service == "s3" else payload.wire
    write = _xml(xml.root(payload.ref, root, NAMESPACES.get(model.service, "")))
    return lambda members: write(members[name]) if members.get(name) is not None else (EMPTY, "")


def _no_events(operation: str) -> Render:
    def refuse(members: Mapping[str, Any]) -> tuple[Body, str]:
        raise not_implemented(f"event streams ({operation})")

    return refuse


def _body(value: Any) -> Body:
    if isinstance(value, Body):
        return value
    return Body.of(value.encode() if isinstance(value, str) else value) if value else EMPTY


def _xml(root: Writer) -> Render:
    def render(members: Mapping[str, Any]) -> tuple[Body, str]:
        pieces = [DECLARATION]
        root(pieces.append, members)
        return Body.of("".join(pieces).encode()), XML

    return render


def _root(model: Model, operation: Operation, ref: Ref, xml: XmlWriter) -> Writer:
    namespace = NAMESPACES.get(model.service, "")
    if model.service != "s3":
        return xml.root(ref, ref.location_name or ref.shape, namespace)
    root = S3_ROOTS.get(operation.name, operation.name + "Result")
    if operation.name == "GetBucketLocation":
        return _location(root, namespace)
    if operation.name in INTERLEAVED:
        return _interleaved(f'<{root} xmlns="{namespace}">', f"</{root}>", ref, INTERLEAVED[operation.name], xml)
    return xml.root(ref, root, namespace)


def _location(root: str, namespace: str) -> Writer:
    """GetBucketLocation is text in the root element, and an empty one for us-east-1."""

    def write(put: Put, members: Mapping[str, Any]) -> None:
        place = members.get("LocationConstraint") or ""
        put(f'<{root} xmlns="{namespace}"/>' if not place else f'<{root} xmlns="{namespace}">{escape(place)}</{root}>')

    return write


def _interleaved(opening: str, closing: str, ref: Ref, lists: tuple[str, ...], xml: XmlWriter) -> Writer:
    """Lists of several members in one order: `_entries` holds (member, item) pairs. Without it each list is written by itself."""
    parts = xml.parts(ref)
    whole, by_name = xml.inside(ref), dict(parts)

    def write(put: Put, members: Mapping[str, Any]) -> None:
        put(opening)
        whole(put, members)
        for name, item in members.get(ENTRIES, ()):
            if name not in lists:
                raise AssertionError(f"{name} is not interleaved")
            by_name[name](put, (item,))
        put(closing)

    return write
