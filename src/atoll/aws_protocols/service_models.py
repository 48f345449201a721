"""botocore's service models: operations, shapes, and the parts of a message to which members are bound.

The models are the ones botocore ships. They are decoded into typed records that keep what travels and drop the prose, which
makes loading ten times cheaper than botocore's own loader and model classes (S3: 8 ms; importing botocore.model alone: 160 ms).
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from msgspec import Struct
from msgspec.json import Decoder
from msgspec.structs import replace

_GZIP = 31  # zlib's window bits for a gzip header


class Namespace(Struct, frozen=True):
    """An XML namespace; with a prefix it declares the one that attributes use (xsi)."""

    uri: str
    prefix: str = ""


class Ref(Struct, frozen=True, rename="camel"):
    """How one place in a model points to a shape, and what it adds to it."""

    shape: str
    location: str = ""
    location_name: str = ""
    flattened: bool = False
    streaming: bool = False
    xml_attribute: bool = False
    xml_namespace: Namespace | None = None
    timestamp_format: str = ""
    result_wrapper: str = ""


class Shape(Struct, frozen=True, rename="camel"):
    """A type on the wire."""

    type: str
    members: dict[str, Ref] = {}
    required: list[str] = []
    member: Ref | None = None
    key: Ref | None = None
    value: Ref | None = None
    payload: str = ""
    enum: list[str] = []
    flattened: bool = False
    streaming: bool = False
    eventstream: bool = False
    document: bool = False
    location_name: str = ""
    xml_namespace: Namespace | None = None
    timestamp_format: str = ""


class Http(Struct, frozen=True, rename="camel"):
    method: str
    request_uri: str
    response_code: int = 200


class Operation(Struct, frozen=True):
    name: str
    http: Http
    input: Ref | None = None
    output: Ref | None = None
    deprecated: bool = False


class Metadata(Struct, frozen=True, rename="camel"):
    api_version: str
    protocol: str
    json_version: str = "1.0"
    target_prefix: str = ""
    xml_namespace: str = ""


class _Document(Struct, frozen=True):
    metadata: Metadata
    operations: dict[str, Operation]
    shapes: dict[str, Shape]


@dataclass(frozen=True, slots=True)
class Field:
    """One member of a structure (or item of a list): its name in the API, the reference and the shape that it points to."""

    name: str
    ref: Ref
    shape: Shape

    @property
    def type(self) -> str:
        return self.shape.type

    @property
    def wire(self) -> str:
        """Name in the message."""
        return self.ref.location_name or self.shape.location_name or self.name

    @property
    def flattened(self) -> bool:
        return self.ref.flattened or self.shape.flattened

    @property
    def streaming(self) -> bool:
        return self.ref.streaming or self.shape.streaming

    @property
    def timestamp_format(self) -> str:
        return self.ref.timestamp_format or self.shape.timestamp_format

    @property
    def xml_namespace(self) -> Namespace | None:
        return self.ref.xml_namespace or self.shape.xml_namespace


class Model:
    """One service's API."""

    def __init__(self, service: str, document: _Document) -> None:
        self.service = service
        self.metadata = document.metadata
        # Named as botocore calls them: CloudFront's own names have its API version in them.
        self.operations: Mapping[str, Operation] = {key: _named(op, key) for key, op in document.operations.items()}
        self._shapes = document.shapes
        self._members: dict[str, dict[str, Field]] = {}

    @property
    def protocol(self) -> str:
        return self.metadata.protocol

    def shape(self, ref: Ref) -> Shape:
        return self._shapes[ref.shape]

    def field(self, name: str, ref: Ref) -> Field:
        return Field(name, ref, self._shapes[ref.shape])

    def members(self, ref: Ref | None) -> Mapping[str, Field]:
        """The members of a structure in the model's order; none where there is no structure."""
        if ref is None:
            return {}
        known = self._members.get(ref.shape)
        if known is None:
            known = {name: self.field(name, to) for name, to in self._shapes[ref.shape].members.items()}
            self._members[ref.shape] = known
        return known

    def item(self, shape: Shape) -> Field:
        """What a list holds."""
        if shape.member is None:
            raise AssertionError("only lists have items")
        return self.field("member", shape.member)

    def entry(self, shape: Shape) -> tuple[Field, Field]:
        """Key and value of a map."""
        if shape.key is None or shape.value is None:
            raise AssertionError("only maps have entries")
        return self.field("key", shape.key), self.field("value", shape.value)

    def payload(self, ref: Ref | None) -> Field | None:
        """The member that is the message's body all by itself."""
        name = self._shapes[ref.shape].payload if ref else ""
        return self.members(ref)[name] if name else None


def _named(operation: Operation, name: str) -> Operation:
    return operation if operation.name == name else replace(operation, name=name)


@cache
def load(service: str) -> Model:
    """The newest model of `service`, named as botocore names it. LookupError when there is none."""
    folder = files("botocore") / "data" / service
    if not folder.is_dir():
        raise LookupError(f"botocore has no model of {service!r}")
    newest = max((version for version in folder.iterdir() if version.is_dir()), key=lambda version: version.name)
    packed = (newest / "service-2.json.gz").read_bytes()
    return Model(service, Decoder(_Document).decode(zlib.decompress(packed, _GZIP)))
