"""Parses XML documents within limits, and escapes text for writing them.

Reading uses expat directly, without namespace processing: AWS takes documents with and without `xmlns`, and only local names
count. Document types are refused, and with them every entity beyond the five predefined ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NoReturn
from xml.parsers import expat

from atoll.domain.errors import ApiError
from atoll.domain.quotas import DOCUMENT_MAX_BYTES

DEPTH_MAX = 32  # ours: the deepest document of AWS's models has 12 levels
ELEMENTS_MAX = 200_000  # ours: CompleteMultipartUpload of 10,000 parts with checksums has 40,001
ATTRIBUTES_MAX = 16  # ours, per element: AWS uses xmlns, xmlns:xsi and xsi:type

DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'


class Element:
    """One element: local name, attributes by local name, children in order, text of a leaf."""

    __slots__ = ("attributes", "children", "name", "text")

    def __init__(self, name: str, attributes: Mapping[str, str]) -> None:
        self.name = name
        self.attributes = attributes
        self.children: list[Element] = []
        self.text = ""


def malformed(why: str) -> ApiError:
    return ApiError("MalformedXML", f"The XML you provided was not well-formed or did not validate against our schema: {why}.")


class _Builder:
    """Takes expat's events and keeps a tree within the limits."""

    def __init__(self) -> None:
        self.top = Element("", {})
        self.stack = [self.top]
        self.texts: list[list[str]] = [[]]  # of each open element; joined once, as text between 200,000 children comes in as many pieces
        self.count = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if self.count > ELEMENTS_MAX or len(self.stack) > DEPTH_MAX or len(attributes) > ATTRIBUTES_MAX:
            raise malformed(f"no more than {ELEMENTS_MAX} elements, {DEPTH_MAX} levels and {ATTRIBUTES_MAX} attributes are taken")
        element = Element(name.rpartition(":")[2], attributes)
        self.stack[-1].children.append(element)
        self.stack.append(element)
        self.texts.append([])

    def end(self, name: str) -> None:
        self.stack.pop().text = "".join(self.texts.pop())

    def text(self, data: str) -> None:
        self.texts[-1].append(data)


def _no_doctype(*_: object) -> NoReturn:
    raise malformed("document types and entities are not taken")


def parse(document: bytes) -> Element:
    """The root element. Raises MalformedXML, or MaxMessageLengthExceeded beyond DOCUMENT_MAX_BYTES."""
    if len(document) > DOCUMENT_MAX_BYTES:
        raise ApiError("MaxMessageLengthExceeded", f"The document is larger than {DOCUMENT_MAX_BYTES} bytes.")
    builder, parser = _Builder(), expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _no_doctype
    parser.EntityDeclHandler = _no_doctype
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.text
    try:
        parser.Parse(document, True)
    except expat.ExpatError as error:
        raise malformed(f"line {error.lineno}, column {error.offset}: {expat.ErrorString(error.code)}") from error
    except (LookupError, ValueError) as error:  # an encoding that Python does not know, or that is not one byte a character
        raise malformed("the encoding is not known") from error
    return builder.top.children[0]


# Everything a parser would change or refuse: markup, CR (read as LF), and control characters, which S3 writes as references.
_SPECIAL = re.compile("[&<>\r\x00-\x08\x0b\x0c\x0e-\x1f]")
_IN_ATTRIBUTES = re.compile('[&<>"\r\n\t\x00-\x1f]')
_NAMED = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\r": "&#13;"}


def _reference(found: re.Match[str]) -> str:
    character = found.group()
    return _NAMED.get(character) or f"&#x{ord(character):x};"


_special = _SPECIAL.search
_replace = _SPECIAL.sub


def escape(text: str) -> str:
    """Text as element content."""
    return _replace(_reference, text) if _special(text) else text


def escape_attribute(text: str) -> str:
    return _IN_ATTRIBUTES.sub(_reference, text)
