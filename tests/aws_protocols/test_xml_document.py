import time

import pytest

from atoll.aws_protocols import xml_document
from atoll.domain.errors import ApiError
from atoll.domain.quotas import DOCUMENT_MAX_BYTES


def refused(document):
    with pytest.raises(ApiError) as caught:
        xml_document.parse(document)
    return caught.value.code


def test_a_tree_of_names_attributes_and_text():
    root = xml_document.parse(b'<?xml version="1.0" encoding="UTF-8"?>\n<a x="1"><b>t &amp; u</b><c/></a>')
    assert (root.name, root.attributes, [c.name for c in root.children]) == ("a", {"x": "1"}, ["b", "c"])
    assert [c.text for c in root.children] == ["t & u", ""]


def test_namespaces_do_not_count():
    root = xml_document.parse(b'<s3:a xmlns:s3="urn:x"><s3:b/></s3:a>')
    assert (root.name, root.children[0].name) == ("a", "b")


def test_text_in_pieces_is_one_text():
    assert xml_document.parse(b"<a>1<!-- no -->2<![CDATA[<3>]]>&#52;</a>").text == "12<3>4"


def test_utf_16_with_its_mark_is_read():
    assert xml_document.parse("<a>é</a>".encode("utf-16")).text == "é"


def test_latin_1_is_read_where_it_is_declared():
    assert xml_document.parse(b'<?xml version="1.0" encoding="ISO-8859-1"?><a>\xe9</a>').text == "é"


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"   ",
        b"text",
        b"<a>",
        b"<a></b>",
        b"<a/><b/>",
        b"<a>&unknown;</a>",
        b"<a>\x01</a>",
        b"<a>&#1;</a>",
        b"<a>\xff</a>",
        b'<?xml version="1.0" encoding="x-none"?><a/>',
        b'<?xml version="1.0" encoding="shift_jis"?><a>\x83\x40</a>',
        b"\x00\x00",
        b"{}",
    ],
)
def test_what_is_not_well_formed_is_malformed(document):
    assert refused(document) == "MalformedXML"


@pytest.mark.parametrize(
    "document",
    [
        b"<!DOCTYPE a><a/>",
        b'<!DOCTYPE a SYSTEM "http://127.0.0.1/x.dtd"><a/>',
        b'<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>',
        b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
        b'<!DOCTYPE a [<!ENTITY l "l"><!ENTITY m "&l;&l;&l;&l;"><!ENTITY n "&m;&m;&m;&m;">]><a>&n;</a>',
        '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>'.encode("utf-16"),
    ],
)
def test_document_types_and_entities_are_refused(document):
    assert refused(document) == "MalformedXML"


def test_depth_is_bounded():
    deepest = xml_document.DEPTH_MAX
    assert xml_document.parse(b"<a>" * deepest + b"</a>" * deepest).name == "a"
    assert refused(b"<a>" * (deepest + 1) + b"</a>" * (deepest + 1)) == "MalformedXML"


def test_elements_are_counted():
    assert refused(b"<a>" + b"<b/>" * xml_document.ELEMENTS_MAX + b"</a>") == "MalformedXML"


def test_attributes_are_counted():
    many = b" ".join(b'a%d="1"' % i for i in range(xml_document.ATTRIBUTES_MAX + 1))
    assert refused(b"<a " + many + b"/>") == "MalformedXML"


def test_size_is_bounded():
    assert refused(b"<a>" + b" " * DOCUMENT_MAX_BYTES + b"</a>") == "MaxMessageLengthExceeded"


def test_the_place_of_the_fault_is_told():
    with pytest.raises(ApiError, match="line 2, column 5"):
        xml_document.parse(b"<a>\n<b></a>")


def test_markup_is_escaped_and_the_rest_is_left_alone():
    assert xml_document.escape("Net & Works <é> \"'\n\t") == "Net &amp; Works &lt;é&gt; \"'\n\t"


def test_control_characters_become_references():
    assert xml_document.escape("a\x01b\rc\x1f\x0b") == "a&#x1;b&#13;c&#x1f;&#xb;"


def test_attributes_escape_quotes_and_line_breaks_too():
    assert xml_document.escape_attribute('a"b\n<') == "a&quot;b&#xa;&lt;"


def test_what_is_escaped_is_read_back():
    text = 'a&b<c>]]>\r\n\t"é🐘'
    assert xml_document.parse(f"<a>{xml_document.escape(text)}</a>".encode()).text == text


def cost(document):
    """CPU seconds of reading, the least of three: what other processes do meanwhile does not count."""
    spent = []
    for _ in range(3):
        began = time.process_time()
        xml_document.parse(document)
        spent.append(time.process_time() - began)
    return min(spent)


def test_text_between_many_children_costs_no_more_than_its_size():
    """Against the same children without text: each piece copied onto the text so far took ten times as long."""
    with_text = b"<a>" + b"<b/>x" * 199_000 + b"</a>"
    assert cost(with_text) < 4 * cost(b"<a>" + b"<b/>" * 199_000 + b"</a>")
    root = xml_document.parse(with_text)
    assert (len(root.children), root.text) == (199_000, "x" * 199_000)
