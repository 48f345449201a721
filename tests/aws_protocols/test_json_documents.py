from datetime import UTC, datetime

import pytest

from atoll.aws_protocols.json_documents import JsonCodec
from atoll.aws_protocols.service_models import Model, Ref, Shape, _Document, load
from atoll.domain.errors import ApiError
from atoll.domain.quotas import DOCUMENT_MAX_BYTES

SHAPES = {
    "In": Shape(
        "structure",
        members={
            "Name": Ref("Text", location_name="name"),
            "Count": Ref("Int"),
            "Ratio": Ref("Float"),
            "On": Ref("Bool"),
            "When": Ref("Time"),
            "Day": Ref("Time", timestamp_format="iso8601"),
            "Raw": Ref("Blob"),
            "Tags": Ref("Tags"),
            "Many": Ref("Many"),
            "Any": Ref("Any"),
            "Self": Ref("In"),
            "Header": Ref("Text", location="header"),
        },
        required=["Name"],
    ),
    "Text": Shape("string"),
    "Int": Shape("integer"),
    "Float": Shape("double"),
    "Bool": Shape("boolean"),
    "Time": Shape("timestamp"),
    "Blob": Shape("blob"),
    "Tags": Shape("map", key=Ref("Text"), value=Ref("Text")),
    "Many": Shape("list", member=Ref("Int")),
    "Any": Shape("structure", document=True),
}
JSON = JsonCodec(Model("own", _Document(load("lambda").metadata, {}, SHAPES)))
MOMENT = datetime(2026, 1, 1, tzinfo=UTC)

FULL = {
    "Name": "n",
    "Count": 3,
    "Ratio": 1.5,
    "On": True,
    "When": MOMENT,
    "Day": MOMENT,
    "Raw": b"\x00",
    "Tags": {"a": "b"},
    "Many": [1, 2],
    "Any": {"free": [None, 1]},
    "Self": {"Name": "inner"},
}
WRITTEN = (
    b'{"name":"n","Count":3,"Ratio":1.5,"On":true,"When":1767225600,"Day":"2026-01-01T00:00:00Z","Raw":"AA==",'
    b'"Tags":{"a":"b"},"Many":[1,2],"Any":{"free":[null,1]},"Self":{"name":"inner"}}'
)


def test_a_full_document_is_written():
    assert JSON.write(Ref("In"), {**FULL, "Header": "h"}) == WRITTEN


def test_a_full_document_is_read():
    assert JSON.read(Ref("In"), WRITTEN) == FULL


def test_null_is_absent():
    assert JSON.read(Ref("In"), b'{"name": "n", "Count": null}') == {"Name": "n"}
    assert JSON.write(Ref("In"), {"Name": "n", "Count": None}) == b'{"name":"n"}'


def test_fractions_of_seconds():
    assert JSON.read(Ref("In"), b'{"name": "n", "When": 1767225600.5}')["When"].microsecond == 500000


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"{",
        b"[]",
        b'"x"',
        b"\xff",
        b'{"name": 1}',
        b'{"name": "n", "Count": "3"}',
        b'{"name": "n", "Count": true}',
        b'{"name": "n", "Count": 1.5}',
        b'{"name": "n", "Count": 2147483648}',
        b'{"name": "n", "Count": ' + b"9" * 5000 + b"}",
        b'{"name": "n", "On": 1}',
        b'{"name": "n", "Tags": []}',
        b'{"name": "n", "Many": {}}',
        b'{"name": "n", "Many": ["x"]}',
        b'{"name": "n", "Raw": 1}',
        b'{"name": "n", "Raw": "a"}',
        b'{"name": "n", "When": "never"}',
        b'{"name": "n", "When": []}',
        b'{"name": "n", "When": 1e300}',
        b'{"name": "n", "When": 999999999999}',
        b'{"name": "n", "When": true}',
        b'{"name": "n", "When": ' + b"9" * 5000 + b"}",
        b'{"name": "n", "When": "0001-01-01T00:00:00+14:00"}',
        b'{"name": "n", "Self": []}',
        b"[" * 100_000,
    ],
)
def test_what_cannot_be_deserialised(document):
    with pytest.raises(ApiError, match="SerializationException"):
        JSON.read(Ref("In"), document)


def test_a_missing_member_is_named():
    with pytest.raises(ApiError, match="ValidationException.*name"):
        JSON.read(Ref("In"), b"{}")


def test_an_unknown_member_is_named():
    with pytest.raises(ApiError, match="ValidationException.*'Name'"):
        JSON.read(Ref("In"), b'{"Name": "n"}')


def test_size_is_bounded():
    with pytest.raises(ApiError, match="MaxMessageLengthExceeded"):
        JSON.read(Ref("In"), b" " * (DOCUMENT_MAX_BYTES + 1))
