"""Reads the members of a REST request from its path, query, headers and document.

Each operation is compiled once into tables that are looked up by what the request carries: a GetObject has twenty members bound
to headers, a request names three of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from atoll.aws_protocols import scalar_formats
from atoll.aws_protocols.json_documents import JsonCodec
from atoll.aws_protocols.json_documents import invalid as invalid_json
from atoll.aws_protocols.model_patches import EMPTY_DOCUMENT, LENIENT_DATES, UNSIGNED_HINTS
from atoll.aws_protocols.service_models import Field, Model, Operation, Ref
from atoll.aws_protocols.uri_decoding import query_pairs
from atoll.aws_protocols.xml_document import malformed, parse
from atoll.aws_protocols.xml_reader import XmlReader
from atoll.domain.errors import ApiError
from atoll.domain.http_message import Body, Request

Convert = Callable[[str], Any]
Bound = tuple[str, Convert | None, str]  # member, text -> value (None: text as it is), wire name
Document = Callable[[bytes], dict[str, Any]]


class RestReader:
    """Reads the requests of one operation."""

    def __init__(self, model: Model, operation: Operation, xml: XmlReader, json: JsonCodec) -> None:
        self._operation = operation
        self._labels: list[Bound] = []
        self._headers: dict[str, Bound] = {}
        self._query: dict[str, Bound] = {}
        self._lists: dict[str, Bound] = {}
        self._prefix, self._prefixed = "", ""
        self._rest = ""
        for field in model.members(operation.input).values():
            self._bind(model, field)
        self._required = _required(model, operation)
        self._payload = model.payload(operation.input)
        self._document = _document(model, operation, self._payload, xml, json)
        self._json = model.protocol == "rest-json"
        self.streams = self._payload is not None and self._payload.streaming
        self._plain_labels = all(convert is None and member == wire for member, convert, wire in self._labels)

    def _bind(self, model: Model, field: Field) -> None:
        wire = field.wire
        match field.ref.location:
            case "uri":
                self._labels.append((field.name, scalar_formats.READ.get(field.type), wire))
            case "header":
                self._headers[wire.lower()] = (field.name, _header(model, field), wire)
            case "headers":
                self._prefix, self._prefixed = wire.lower(), field.name
            case "querystring" if field.type == "map":
                self._rest = field.name
            case "querystring" if field.type == "list":
                self._lists[wire] = (field.name, scalar_formats.READ.get(model.item(field.shape).type), wire)
            case "querystring":
                self._query[wire] = (field.name, scalar_formats.READ.get(field.type), wire)

    def read(self, labels: Mapping[str, str], request: Request, document: bytes, body: Body) -> dict[str, Any]:
        """Raises InvalidArgument, InvalidRequest, MalformedXML (or what the JSON protocol says)."""
        params: dict[str, Any] = dict(labels) if self._plain_labels else self._read_labels(labels)
        headers = request.headers
        self._read_headers(params, headers.items() if self._prefix else [pair for pair in headers.items() if pair[0] in self._headers])
        if request.query:
            self._read_query(params, request.query)
        if self.streams:
            params[self._operation_payload()] = body
        elif document:
            params.update(self._read_document(document))
        for name, refuse in self._required:
            if name not in params:
                raise refuse()
        return params

    def _operation_payload(self) -> str:
        return self._payload.name if self._payload else ""

    def _read_document(self, document: bytes) -> dict[str, Any]:
        if self._document is None:
            return {}
        return self._document(document)

    def _read_labels(self, labels: Mapping[str, str]) -> dict[str, Any]:
        return {member: _converted(convert, labels[wire], wire) for member, convert, wire in self._labels}

    def _read_headers(self, params: dict[str, Any], headers: Any) -> None:
        known, prefix = self._headers, self._prefix
        for name, value in headers:
            bound = known.get(name)
            if bound is not None:
                member, convert, wire = bound
                if convert is None:
                    params[member] = value
                elif (converted := _converted(convert, value, wire)) is not None:
                    params[member] = converted
            elif prefix and name.startswith(prefix):
                params.setdefault(self._prefixed, {})[name[len(prefix) :]] = _metadata(value)

    def _read_query(self, params: dict[str, Any], query: str) -> None:
        rest: dict[str, Any] = {}
        hoisted: list[tuple[str, str]] = []
        signed = "Signature=" in query
        for name, value in query_pairs(query):
            if name in self._query:
                self._put(params, self._query[name], value)
            elif name in self._lists:
                member, convert, wire = self._lists[name]
                params.setdefault(member, []).append(_converted(convert, value, wire))
            elif signed and name.lower().startswith("x-amz-"):
                hoisted.append((name.lower(), value))
            elif self._rest:
                rest.setdefault(name, []).append(value)
        if rest:
            params[self._rest] = {name: values[0] if len(values) == 1 else values for name, values in rest.items()}
        if hoisted:
            self._apply(params, hoisted)

    def _put(self, params: dict[str, Any], bound: Bound, value: str) -> None:
        member, convert, wire = bound
        if member in params:
            return  # the first one counts
        if convert is None:
            params[member] = value
        elif value:  # `max-keys=` and `part-number-marker=` say nothing
            params[member] = _converted(convert, value, wire)

    def _apply(self, params: dict[str, Any], hoisted: list[tuple[str, str]]) -> None:
        """Headers that a presigning client moved into the query (s3.md, decision 4). Real headers win."""
        found: dict[str, Any] = {}
        self._read_headers(found, [(name, value) for name, value in hoisted if not name.startswith(UNSIGNED_HINTS)])
        for member, value in found.items():
            params.setdefault(member, value)


def _converted(convert: Convert | None, text: str, wire: str) -> Any:
    if convert is None:
        return text
    try:
        return convert(text)
    except (ValueError, OverflowError) as error:
        raise ApiError(
            "InvalidArgument", f"The value of {wire} is not valid: {error}.", ArgumentName=wire, ArgumentValue=text[:1024]
        ) from error


def _metadata(value: str) -> str:
    """Header values arrive as Latin-1; clients mean UTF-8 where that makes sense."""
    if value.isascii():
        return value
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value


def _header(model: Model, field: Field) -> Convert | None:
    if field.type == "list":
        convert = scalar_formats.READ.get(model.item(field.shape).type, str)
        return lambda text: [convert(part.strip()) for part in text.split(",") if part.strip()]
    if field.type == "timestamp" and field.wire.lower() in LENIENT_DATES:
        return _lenient
    return scalar_formats.READ.get(field.type)


def _lenient(text: str) -> Any:
    try:
        return scalar_formats.timestamp(text)
    except ValueError:
        return None


def _document(model: Model, operation: Operation, payload: Field | None, xml: XmlReader, json: JsonCodec) -> Document | None:
    """How the body is read; None when the operation has none, or has a stream."""
    ref = operation.input
    if ref is None or (payload is not None and payload.streaming):
        return None
    if payload is None:
        if all(f.ref.location for f in model.members(ref).values()):
            return None
        return _whole(model, ref, xml, json)
    name = payload.name
    if payload.type == "blob":
        return lambda document: {name: document}
    if payload.type == "string":
        return lambda document: {name: _text(document, name)}
    inner = _whole(model, payload.ref, xml, json)
    if model.protocol == "rest-json" and name not in model.shape(ref).required:
        return lambda document: {name: value} if (value := inner(document)) else {}  # SDKs send {} for an absent payload
    return lambda document: {name: inner(document)}


def _whole(model: Model, ref: Ref, xml: XmlReader, json: JsonCodec) -> Document:
    if model.protocol == "rest-json":
        return lambda document: json.read(ref, document)
    reader = xml.structure(ref)
    root = ref.location_name or ref.shape

    def read(document: bytes) -> dict[str, Any]:
        element = parse(document)
        if element.name != root:
            raise malformed(f"the root element is {root}, not {element.name}")
        found: dict[str, Any] = reader(element)
        return found

    return read


def _text(document: bytes, name: str) -> str:
    try:
        return document.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ApiError("InvalidRequest", f"{name} is not UTF-8.") from error


def _required(model: Model, operation: Operation) -> list[tuple[str, Callable[[], ApiError]]]:
    """Members that must be there, and what to say when one is not. Labels always are, and a stream may be empty."""
    if operation.input is None:
        return []
    members = model.members(operation.input)
    out: list[tuple[str, Callable[[], ApiError]]] = []
    for name in model.shape(operation.input).required:
        field = members[name]
        if field.ref.location != "uri" and not field.streaming:
            out.append((name, _missing(model, operation, field)))
    return out


def _missing(model: Model, operation: Operation, field: Field) -> Callable[[], ApiError]:
    wire = field.wire
    match field.ref.location:
        case "querystring":
            return lambda: ApiError("InvalidArgument", f"The parameter {wire} is missing.", ArgumentName=wire, ArgumentValue="")
        case "header" | "headers":
            return lambda: ApiError("InvalidRequest", f"The header {wire} is missing.")
    if model.protocol == "rest-json":
        return lambda: invalid_json(f"The document lacks {wire}.")
    code = EMPTY_DOCUMENT.get(operation.name, "MalformedXML") if model.service == "s3" else "MalformedXML"
    if code == "MalformedXML":
        return lambda: malformed(f"{wire} is missing")
    return lambda: ApiError(code, f"The request needs a document: {wire}.")
