"""Documents as clients write them, and as they should not."""

from datetime import UTC, datetime

import pytest

from atoll.aws_protocols.codec import codec
from atoll.domain.errors import ApiError
from atoll.domain.http_message import EMPTY, Request

NS = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'


def read(method, target, document, service="s3", headers=None):
    request = Request(method, target, headers or {})
    api = codec(service)
    route = api.route(method, request.path, request.query, request.headers)
    return api.read(route, request, document.encode() if isinstance(document, str) else document, EMPTY)


def malformed(method, target, document):
    with pytest.raises(ApiError) as caught:
        read(method, target, document)
    assert (caught.value.code, caught.value.status) == ("MalformedXML", 400)
    return caught.value.message


VERSIONING = {"Status": "Enabled"}


@pytest.mark.parametrize(
    "document",
    [
        f"<VersioningConfiguration {NS}><Status>Enabled</Status></VersioningConfiguration>",
        "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>",
        f'<?xml version="1.0" encoding="UTF-8"?>\n<VersioningConfiguration {NS}>\n  <Status>\n Enabled </Status>\n</VersioningConfiguration>\n',
        '<s:VersioningConfiguration xmlns:s="urn:any"><s:Status>Enabled</s:Status></s:VersioningConfiguration>',
        '<VersioningConfiguration xmlns="urn:other"><!-- on --><Status>Enabled</Status></VersioningConfiguration>',
    ],
)
def test_a_document_is_read_however_it_is_written(document):
    assert read("PUT", "/b?versioning", document)["VersioningConfiguration"] == VERSIONING


def test_flattened_lists_in_any_order():
    document = (
        "<Delete><Object><VersionId>v</VersionId><Key>a</Key></Object><Quiet>true</Quiet><Object><Key> b </Key></Object></Delete>"
    )
    assert read("POST", "/b?delete", document)["Delete"] == {
        "Objects": [{"Key": "a", "VersionId": "v"}, {"Key": " b "}],
        "Quiet": True,
    }


def test_wrapped_lists():
    document = "<Tagging><TagSet><Tag><Key>k</Key><Value/></Tag><Tag><Value>w</Value><Key>l</Key></Tag></TagSet></Tagging>"
    assert read("PUT", "/b?tagging", document)["Tagging"] == {"TagSet": [{"Key": "k", "Value": ""}, {"Key": "l", "Value": "w"}]}


def test_an_empty_list():
    assert read("PUT", "/b?tagging", "<Tagging><TagSet/></Tagging>")["Tagging"] == {"TagSet": []}


def test_numbers_and_times():
    document = "<LifecycleConfiguration><Rule><Status>Enabled</Status><Expiration><Days> 3 </Days></Expiration></Rule><Rule><Prefix>a</Prefix><Status>Disabled</Status><Expiration><Date>2026-01-01T00:00:00.000Z</Date></Expiration></Rule></LifecycleConfiguration>"
    rules = read("PUT", "/b?lifecycle", document)["LifecycleConfiguration"]["Rules"]
    assert [rule["Expiration"] for rule in rules] == [{"Days": 3}, {"Date": datetime(2026, 1, 1, tzinfo=UTC)}]


def test_an_attribute_is_a_member():
    document = (
        '<AccessControlPolicy><AccessControlList><Grant><Grantee xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
        'xsi:type="CanonicalUser"><ID>me</ID></Grantee><Permission>READ</Permission></Grant></AccessControlList></AccessControlPolicy>'
    )
    grants = read("PUT", "/b?acl", document)["AccessControlPolicy"]["Grants"]
    assert grants == [{"Grantee": {"Type": "CanonicalUser", "ID": "me"}, "Permission": "READ"}]


def test_a_policy_inside_a_document_is_unescaped():
    document = (
        '<PutMultiRegionAccessPointPolicyRequest xmlns="http://awss3control.amazonaws.com/doc/2018-08-20/"><Details><Name>n</Name>'
        '<Policy>{"a":"&lt;&amp;&gt;"}</Policy></Details><ClientToken>t</ClientToken></PutMultiRegionAccessPointPolicyRequest>'
    )
    target = "/v20180820/async-requests/mrap/put-policy"
    found = read("POST", target, document, "s3control", {"x-amz-account-id": "123456789012"})
    assert found == {"AccountId": "123456789012", "ClientToken": "t", "Details": {"Name": "n", "Policy": '{"a":"<&>"}'}}


def test_javascript_writes_a_declaration_and_another_order():
    document = (
        '<?xml version="1.0" encoding="UTF-8"?><CreateMultiRegionAccessPointRequest><Details><Name>n</Name><Regions>'
        "<Region><Bucket>a</Bucket></Region><Region><Bucket>b</Bucket><BucketAccountId>1</BucketAccountId></Region></Regions></Details>"
        "<ClientToken>t</ClientToken></CreateMultiRegionAccessPointRequest>"
    )
    headers = {"x-amz-account-id": "123456789012"}
    found = read("POST", "/v20180820/async-requests/mrap/create", document, "s3control", headers)
    assert found["Details"]["Regions"] == [{"Bucket": "a"}, {"Bucket": "b", "BucketAccountId": "1"}]


def test_a_word_that_is_not_in_the_enum_passes():
    document = "<VersioningConfiguration><Status>enabled</Status></VersioningConfiguration>"
    assert read("PUT", "/b?versioning", document)["VersioningConfiguration"] == {"Status": "enabled"}


@pytest.mark.parametrize(
    ("target", "document", "result"),
    [
        ("/b?versioning", "<Versioning><Status>Enabled</Status></Versioning>", "VersioningConfiguration"),
        ("/b?versioning", "<VersioningConfiguration><State>Enabled</State></VersioningConfiguration>", "State"),
        ("/b?versioning", "<VersioningConfiguration>Enabled</VersioningConfiguration>", "no text"),
        ("/b?versioning", "<VersioningConfiguration><Status>A</Status><Status>B</Status></VersioningConfiguration>", "twice"),
        ("/b?versioning", "<VersioningConfiguration><Status><b/></Status></VersioningConfiguration>", "text only"),
        ("/b?tagging", "<Tagging/>", "lacks TagSet"),
        ("/b?tagging", "<Tagging><TagSet><Tag><Key>k</Key></Tag></TagSet></Tagging>", "lacks Value"),
        ("/b?tagging", "<Tagging><TagSet><tag/></TagSet></Tagging>", "no tag"),
        ("/b?tagging", "<Tagging><TagSet>x</TagSet></Tagging>", "no text"),
        ("/b?replication", "<ReplicationConfiguration><Role>r</Role></ReplicationConfiguration>", "lacks Rules"),
        (
            "/b?lifecycle",
            "<LifecycleConfiguration><Rule><Status>Enabled</Status><Expiration><Days>x</Days></Expiration></Rule></LifecycleConfiguration>",
            "Days",
        ),
        (
            "/b?lifecycle",
            "<LifecycleConfiguration><Rule><Status>Enabled</Status><Expiration><Date>x</Date></Expiration></Rule></LifecycleConfiguration>",
            "Date",
        ),
        (
            "/b?publicAccessBlock",
            "<PublicAccessBlockConfiguration><BlockPublicAcls>1</BlockPublicAcls></PublicAccessBlockConfiguration>",
            "BlockPublicAcls",
        ),
        ("/b?tagging", "not xml", "line 1"),
        ("/b?tagging", "", "missing"),
    ],
)
def test_what_the_schema_does_not_hold_is_malformed(target, document, result):
    assert result in malformed("PUT", target, document)


def test_an_absent_versioning_document_has_its_own_code():
    with pytest.raises(ApiError, match="IllegalVersioningConfigurationException"):
        read("PUT", "/b?versioning", "")


def test_a_shape_that_holds_itself_is_read():
    expression = "<Or><Or><Tags><Key>k</Key><Values><member>v</member></Values></Tags></Or></Or>"
    from atoll.aws_protocols.service_models import Model, load
    from atoll.aws_protocols.xml_document import parse
    from atoll.aws_protocols.xml_reader import XmlReader

    model = recursive(Model, load("s3"))
    reader = XmlReader(model)
    assert reader.structure(model.operations["Put"].input)(parse(f"<Tree>{expression}</Tree>".encode()))["Or"]["Or"]["Tags"] == [
        {"Key": "k", "Values": ["v"]}
    ]


def recursive(kind, like):
    """A small model of our own: no REST-XML service has a recursive shape among its requests."""
    from atoll.aws_protocols.service_models import Http, Operation, Ref, Shape, _Document

    shapes = {
        "Tree": Shape("structure", members={"Or": Ref("Tree"), "Tags": Ref("Tags", flattened=True)}),
        "Tags": Shape("list", member=Ref("Tag")),
        "Tag": Shape("structure", members={"Key": Ref("Text"), "Values": Ref("Texts")}),
        "Texts": Shape("list", member=Ref("Text")),
        "Text": Shape("string"),
    }
    operations = {"Put": Operation("Put", Http("PUT", "/"), input=Ref("Tree"))}
    return kind("own", _Document(like.metadata, operations, shapes))


def test_maps_are_read():
    from atoll.aws_protocols.service_models import Field, Model, Ref, Shape, _Document, load
    from atoll.aws_protocols.xml_document import parse
    from atoll.aws_protocols.xml_reader import XmlReader

    shapes = {"Map": Shape("map", key=Ref("Text"), value=Ref("Text")), "Text": Shape("string")}
    reader = XmlReader(Model("own", _Document(load("s3").metadata, {}, shapes))).value(Field("Map", Ref("Map"), shapes["Map"]))
    assert reader(parse(b"<Map><entry><key>a</key><value>1</value></entry><entry><value/><key>b</key></entry></Map>")) == {
        "a": "1",
        "b": "",
    }
    with pytest.raises(ApiError, match="MalformedXML"):
        reader(parse(b"<Map><entry><key>a</key></entry></Map>"))
    with pytest.raises(ApiError, match="MalformedXML"):
        reader(parse(b"<Map><item/></Map>"))
