"""Reads an XML document as a shape. Shapes are compiled once into closures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from atoll.aws_protocols import scalar_formats
from atoll.aws_protocols.service_models import Field, Model, Ref
from atoll.aws_protocols.xml_document import Element, malformed

Reader = Callable[[Element], Any]


class XmlReader:
    """Compiles readers for one model. Elements the model does not know, repeated ones and missing ones are MalformedXML."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._structures: dict[str, Reader] = {}

    def structure(self, ref: Ref) -> Reader:
        """The reader of a structure; location-bound members are not part of its document."""
        known = self._structures.get(ref.shape)
        if known is not None:
            return known
        self._structures[ref.shape] = self._later(ref.shape)
        reader = self._compile(ref)
        self._structures[ref.shape] = reader
        return reader

    def _later(self, shape: str) -> Reader:
        """Stands in for a structure that is being compiled: some hold themselves."""

        def read(element: Element) -> Any:
            return self._structures[shape](element)

        return read

    def _compile(self, ref: Ref) -> Reader:
        inside: dict[str, _Slot] = {}
        attributes: dict[str, str] = {}
        for name, field in self._model.members(ref).items():
            if field.ref.xml_attribute:
                attributes[_local(field.wire)] = name
            elif not field.ref.location:
                slot = self._slot(name, field)
                inside.update(dict.fromkeys(self._wires(field), slot))
        located = self._model.members(ref)
        required = [name for name in self._model.shape(ref).required if not located[name].ref.location]
        return _structure(inside, attributes, required)

    def _wires(self, field: Field) -> tuple[str, ...]:
        """Element names of a member. Flattened lists are written under the list's or under the item's name."""
        if field.type == "list" and field.flattened:
            item = self._model.item(field.shape)
            if item.ref.location_name:
                return (item.ref.location_name, field.wire)
        return (field.wire,)

    def _slot(self, name: str, field: Field) -> _Slot:
        if field.flattened and field.type == "list":
            return _Slot(name, "list", self.value(self._model.item(field.shape)))
        if field.flattened and field.type == "map":
            return _Slot(name, "map", self._entry(field))
        return _Slot(name, "", self.value(field))

    def value(self, field: Field) -> Reader:
        """The reader of one element that holds `field`."""
        if field.type == "structure":
            return self.structure(field.ref)
        if field.type == "list":
            item = self._model.item(field.shape)
            return _list(item.wire, self.value(item))
        if field.type == "map":
            entry = self._entry(field)
            return lambda element: dict(entry(child) for child in _only(element, "entry"))
        return _scalar(scalar_formats.READ.get(field.type), strip=bool(field.shape.enum))

    def _entry(self, field: Field) -> Reader:
        key, value = self._model.entry(field.shape)
        read_key, read_value = self.value(key), self.value(value)

        def read(element: Element) -> tuple[Any, Any]:
            found = {child.name: child for child in element.children}
            if set(found) != {key.wire, value.wire}:
                raise malformed(f"{element.name} holds one {key.wire} and one {value.wire}")
            return read_key(found[key.wire]), read_value(found[value.wire])

        return read


class _Slot:
    """Where a child element's value goes: a member, or one more item of a flattened list or map."""

    __slots__ = ("kind", "name", "read")

    def __init__(self, name: str, kind: str, read: Reader) -> None:
        self.name, self.kind, self.read = name, kind, read

    def put(self, out: dict[str, Any], child: Element) -> None:
        value = self.read(child)
        if self.kind == "list":
            out.setdefault(self.name, []).append(value)
        elif self.kind == "map":
            out.setdefault(self.name, {}).update((value,))
        elif self.name in out:
            raise malformed(f"{child.name} stands there twice")
        else:
            out[self.name] = value


def _local(name: str) -> str:
    return name.rpartition(":")[2]


def _structure(inside: Mapping[str, _Slot], attributes: Mapping[str, str], required: list[str]) -> Reader:
    def read(element: Element) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for name, value in element.attributes.items() if attributes else ():
            member = attributes.get(_local(name))
            if member is not None:
                out[member] = value
        for child in element.children:
            slot = inside.get(child.name)
            if slot is None:
                raise malformed(f"{element.name} holds no {child.name}")
            slot.put(out, child)
        if element.text and not element.text.isspace():
            raise malformed(f"{element.name} holds no text")
        for name in required:
            if name not in out:
                raise malformed(f"{element.name} lacks {name}")
        return out

    return read


def _only(element: Element, name: str) -> list[Element]:
    for child in element.children:
        if child.name != name:
            raise malformed(f"{element.name} holds no {child.name}")
    if element.text and not element.text.isspace():
        raise malformed(f"{element.name} holds no text")
    return element.children


def _list(name: str, read: Reader) -> Reader:
    return lambda element: [read(child) for child in _only(element, name)]


def _scalar(convert: Callable[[str], Any] | None, *, strip: bool) -> Reader:
    def read(element: Element) -> Any:
        if element.children:
            raise malformed(f"{element.name} holds text only")
        if convert is None:
            return element.text.strip() if strip else element.text
        try:
            return convert(element.text.strip())
        except (ValueError, OverflowError) as error:
            raise malformed(f"{element.name}: {error}") from error

    return read
