"""Reads a JSON document as a shape, and writes values as one."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from atoll.aws_protocols import scalar_formats
from atoll.aws_protocols.service_models import Field, Model, Ref
from atoll.domain.errors import ApiError
from atoll.domain.quotas import DOCUMENT_MAX_BYTES

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def malformed(why: str) -> ApiError:
    """AWS JSON protocols: what cannot be deserialised."""
    return ApiError("SerializationException", why, status=400)


def invalid(why: str) -> ApiError:
    return ApiError("ValidationException", why, status=400)


class JsonCodec:
    """JSON documents of one model, in both directions."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def read(self, ref: Ref, document: bytes) -> dict[str, Any]:
        """A structure. Raises SerializationException (no such JSON) or ValidationException (a member is missing or unknown)."""
        if len(document) > DOCUMENT_MAX_BYTES:
            raise ApiError("MaxMessageLengthExceeded", f"The document is larger than {DOCUMENT_MAX_BYTES} bytes.")
        try:
            value = _decode(document)
        except (msgspec.DecodeError, RecursionError) as error:
            raise malformed(f"The document is not JSON: {error}") from error
        found: dict[str, Any] = self._structure(ref, value, "the document")
        return found

    def _structure(self, ref: Ref, value: Any, where: str) -> Any:
        shape = self._model.shape(ref)
        if shape.document:
            return value
        if not isinstance(value, dict):
            raise malformed(f"{where} must be an object.")
        inside = {f.wire: (n, f) for n, f in self._model.members(ref).items() if not f.ref.location}
        out: dict[str, Any] = {}
        for wire, member in value.items():
            if wire not in inside:
                raise invalid(f"{where} has no member {wire!r}.")
            if member is not None:
                name, field = inside[wire]
                out[name] = self._value(field, member, wire)
        for wire, (name, _) in inside.items():
            if name in shape.required and name not in out:
                raise invalid(f"{where} lacks {wire}.")
        return out

    def _value(self, field: Field, value: Any, where: str) -> Any:
        match field.type:
            case "structure":
                return self._structure(field.ref, value, where)
            case "list":
                item = self._model.item(field.shape)
                return [self._value(item, x, where) for x in _as(list, value, where)]
            case "map":
                _, item = self._model.entry(field.shape)
                return {k: self._value(item, x, where) for k, x in _as(dict, value, where).items()}
        return _scalar(field.type, value, where)

    def write(self, ref: Ref, members: Mapping[str, Any]) -> bytes:
        return _encode(self._plain(ref, members))

    def _plain(self, ref: Ref, members: Any) -> Any:
        if self._model.shape(ref).document:
            return members
        fields = self._model.members(ref)
        return {
            field.wire: self._out(field, members[name])
            for name, field in fields.items()
            if not field.ref.location and members.get(name) is not None
        }

    def _out(self, field: Field, value: Any) -> Any:
        match field.type:
            case "structure":
                return self._plain(field.ref, value)
            case "list":
                item = self._model.item(field.shape)
                return [self._out(item, x) for x in value]
            case "map":
                _, item = self._model.entry(field.shape)
                return {k: self._out(item, x) for k, x in value.items()}
            case "timestamp":
                return _moment(field, value)
            case "blob":
                return b64encode(value).decode("ascii")
        return value


def _moment(field: Field, value: datetime) -> float | int | str:
    form = field.timestamp_format
    if form in {"", "unixTimestamp"}:
        return scalar_formats.epoch(value)
    return scalar_formats.moment_writer(form, scalar_formats.iso_seconds)(value)


_SCALARS: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "long": (int,),
    "float": (int, float),
    "double": (int, float),
    "boolean": (bool,),
}


_BITS: Mapping[str, int] = {"integer": scalar_formats.INTEGER_BITS, "long": scalar_formats.LONG_BITS}


def _as(kind: type, value: Any, where: str) -> Any:
    if not isinstance(value, kind):
        raise malformed(f"{where} has the wrong type.")
    return value


def _scalar(kind: str, value: Any, where: str) -> Any:
    try:
        if kind == "timestamp":
            return scalar_formats.timestamp(value) if isinstance(value, str) else scalar_formats.moment_of(_number(value, where))
        if kind == "blob":
            return scalar_formats.blob(_as(str, value, where))
    except (ValueError, OverflowError, TypeError, OSError) as error:
        raise malformed(f"{where}: {error}.") from error
    if not isinstance(value, _SCALARS[kind]) or (isinstance(value, bool) and kind != "boolean"):
        raise malformed(f"{where} has the wrong type.")
    return _in_range(kind, value, where)


def _number(value: Any, where: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise malformed(f"{where} has the wrong type.")
    return value


def _in_range(kind: str, value: Any, where: str) -> Any:
    bits = _BITS.get(kind)
    try:
        return value if bits is None else scalar_formats.whole(value, bits)
    except ValueError as error:
        raise malformed(f"{where}: {error}.") from error
