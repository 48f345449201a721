"""Writes values as XML. Shapes are compiled once into closures that append pieces of text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from atoll.aws_protocols import scalar_formats
from atoll.aws_protocols.service_models import Field, Model, Namespace, Ref
from atoll.aws_protocols.xml_document import escape, escape_attribute

Put = Callable[[str], None]
Writer = Callable[[Put, Any], None]  # (append a piece, value)
Parts = list[tuple[str, Writer]]  # member name, its writer


class XmlWriter:
    """Compiles writers for one model. `moment` writes timestamps for which the model names no format."""

    def __init__(self, model: Model, moment: Callable[[datetime], str]) -> None:
        self._model = model
        self._moment = moment
        self._inside: dict[str, Writer] = {}

    def root(self, ref: Ref, name: str, namespace: str) -> Writer:
        """The writer of a document's root element."""
        attribute = f' xmlns="{namespace}"' if namespace else ""
        return _tagged(f"<{name}{attribute}>", f"</{name}>", self.inside(ref))

    def inside(self, ref: Ref) -> Writer:
        """The writer of what stands between the tags of a structure."""
        known = self._inside.get(ref.shape)
        if known is not None:
            return known
        self._inside[ref.shape] = self._later(ref.shape)
        writer = _members(self.parts(ref))
        self._inside[ref.shape] = writer
        return writer

    def _later(self, shape: str) -> Writer:
        """Stands in for a structure that is being compiled: some hold themselves."""

        def write(put: Put, value: Any) -> None:
            self._inside[shape](put, value)

        return write

    def parts(self, ref: Ref) -> Parts:
        """Writers of the members that stand in the document."""
        return [
            (name, self.element(field, self._wire(field)))
            for name, field in self._model.members(ref).items()
            if not field.ref.location and not field.ref.xml_attribute
        ]

    def _wire(self, field: Field) -> str:
        if field.type == "list" and field.flattened:
            return self._model.item(field.shape).ref.location_name or field.wire
        return field.wire

    def element(self, field: Field, name: str) -> Writer:
        """The writer of one member: its element, or its elements when it is flattened."""
        opening, closing = f"<{name}{_declaration(field.xml_namespace)}>", f"</{name}>"
        if field.type == "structure":
            attributes = [(n, f.wire) for n, f in self._model.members(field.ref).items() if f.ref.xml_attribute]
            body = self.inside(field.ref)
            return _attributed(opening[:-1], closing, attributes, body) if attributes else _tagged(opening, closing, body)
        if field.type == "list":
            item = self._model.item(field.shape)
            if field.flattened:
                return _each(self.element(item, name))
            return _tagged(opening, closing, _each(self.element(item, item.wire)))
        if field.type == "map":
            entry = self._entry(field, name if field.flattened else "entry")
            return entry if field.flattened else _tagged(opening, closing, entry)
        return self._scalar(field, opening, closing)

    def _entry(self, field: Field, name: str) -> Writer:
        key, value = self._model.entry(field.shape)
        write_key, write_value = self.element(key, key.wire), self.element(value, value.wire)

        def write(put: Put, entries: Mapping[str, Any]) -> None:
            for k, v in entries.items():
                put(f"<{name}>")
                write_key(put, k)
                write_value(put, v)
                put(f"</{name}>")

        return write

    def _scalar(self, field: Field, opening: str, closing: str) -> Writer:
        if field.type == "string":
            return lambda put, value: put(f"{opening}{escape(value)}{closing}")
        text = scalar_formats.text_writer(field.type, field.timestamp_format, self._moment)
        return lambda put, value: put(f"{opening}{text(value)}{closing}")


def _declaration(namespace: Namespace | None) -> str:
    """Only prefixed ones: they are used by attributes. The default namespace stands on the root."""
    return f' xmlns:{namespace.prefix}="{namespace.uri}"' if namespace and namespace.prefix else ""


def _members(parts: Parts) -> Writer:
    def write(put: Put, value: Mapping[str, Any]) -> None:
        get = value.get
        for name, part in parts:
            member = get(name)
            if member is not None:
                part(put, member)

    return write


def _tagged(opening: str, closing: str, body: Writer) -> Writer:
    def write(put: Put, value: Any) -> None:
        put(opening)
        body(put, value)
        put(closing)

    return write


def _attributed(opening: str, closing: str, attributes: list[tuple[str, str]], body: Writer) -> Writer:
    def write(put: Put, value: Mapping[str, Any]) -> None:
        put(opening)
        for member, wire in attributes:
            if member in value:
                put(f' {wire}="{escape_attribute(value[member])}"')
        put(">")
        body(put, value)
        put(closing)

    return write


def _each(item: Writer) -> Writer:
    def write(put: Put, values: Any) -> None:
        for value in values:
            item(put, value)

    return write
