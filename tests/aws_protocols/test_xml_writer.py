from datetime import UTC, datetime

from atoll.aws_protocols import scalar_formats
from atoll.aws_protocols.service_models import Model, Namespace, Ref, Shape, _Document, load
from atoll.aws_protocols.xml_writer import XmlWriter

SHAPES = {
    "Out": Shape(
        "structure",
        members={
            "Text": Ref("Text"),
            "Renamed": Ref("Text", location_name="other"),
            "On": Ref("Bool"),
            "Count": Ref("Int"),
            "Ratio": Ref("Float"),
            "Raw": Ref("Blob"),
            "When": Ref("Time"),
            "Http": Ref("Time", timestamp_format="rfc822"),
            "Epoch": Ref("Time", timestamp_format="unixTimestamp"),
            "Map": Ref("Map"),
            "FlatMap": Ref("Map", flattened=True),
            "List": Ref("List"),
            "FlatList": Ref("List", flattened=True),
            "Self": Ref("Out"),
            "Tagged": Ref("Tagged"),
            "Header": Ref("Text", location="header"),
        },
    ),
    "Tagged": Shape(
        "structure",
        members={"Kind": Ref("Text", xml_attribute=True, location_name="x:kind"), "Text": Ref("Text")},
        xml_namespace=Namespace("urn:x", "x"),
    ),
    "Text": Shape("string"),
    "Bool": Shape("boolean"),
    "Int": Shape("long"),
    "Float": Shape("double"),
    "Blob": Shape("blob"),
    "Time": Shape("timestamp"),
    "Map": Shape("map", key=Ref("Text", location_name="K"), value=Ref("Text", location_name="V")),
    "List": Shape("list", member=Ref("Text", location_name="item")),
}
MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


def written(members):
    writer = XmlWriter(Model("own", _Document(load("s3").metadata, {}, SHAPES)), scalar_formats.iso_millis)
    pieces = []
    writer.root(Ref("Out"), "R", "urn:r")(pieces.append, members)
    return "".join(pieces).removeprefix('<R xmlns="urn:r">').removesuffix("</R>")


def test_text_is_escaped_and_renamed():
    assert written({"Text": "a<b", "Renamed": "", "Header": "no"}) == "<Text>a&lt;b</Text><other></other>"


def test_members_come_in_the_models_order_and_none_is_absent():
    assert written({"Renamed": "2", "Text": "1", "On": None}) == "<Text>1</Text><other>2</other>"


def test_scalars():
    assert (
        written({"On": False, "Count": 0, "Ratio": 1.5, "Raw": b"\x00"})
        == "<On>false</On><Count>0</Count><Ratio>1.5</Ratio><Raw>AA==</Raw>"
    )


def test_times_in_the_services_form_or_the_models():
    assert written({"When": MOMENT, "Http": MOMENT, "Epoch": MOMENT}) == (
        "<When>2026-01-01T00:00:00.000Z</When><Http>Thu, 01 Jan 2026 00:00:00 GMT</Http><Epoch>1767225600</Epoch>"
    )


def test_maps():
    assert written({"Map": {"a": "1"}}) == "<Map><entry><K>a</K><V>1</V></entry></Map>"
    assert written({"FlatMap": {"a": "1", "b": "2"}}) == "<FlatMap><K>a</K><V>1</V></FlatMap><FlatMap><K>b</K><V>2</V></FlatMap>"


def test_lists():
    assert written({"List": ["a", "b"]}) == "<List><item>a</item><item>b</item></List>"
    assert written({"List": []}) == "<List></List>"
    assert written({"FlatList": ["a", "b"]}) == "<item>a</item><item>b</item>"


def test_a_shape_may_hold_itself():
    assert written({"Self": {"Self": {"Text": "deep"}}}) == "<Self><Self><Text>deep</Text></Self></Self>"


def test_attributes_are_declared_and_escaped():
    assert (
        written({"Tagged": {"Kind": 'a"b', "Text": "t"}}) == '<Tagged xmlns:x="urn:x" x:kind="a&quot;b"><Text>t</Text></Tagged>'
    )
    assert written({"Tagged": {}}) == '<Tagged xmlns:x="urn:x"></Tagged>'
