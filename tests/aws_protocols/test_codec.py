import contextlib
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atoll.aws_protocols.codec import codec
from atoll.domain.errors import ApiError
from atoll.domain.http_message import EMPTY, Request


def test_a_codec_is_made_once():
    assert codec("s3") is codec("s3")
    assert codec("s3").service == "s3"


def test_what_streams():
    streaming = {name for name in codec("s3").operations if codec("s3").streams(name)}
    assert streaming == {"PutObject", "UploadPart", "PutObjectAnnotation", "WriteGetObjectResponse"}


def test_members_are_the_models():
    assert codec("s3").members("DeleteBucket") == {"Bucket", "ExpectedBucketOwner"}
    assert codec("sts").members("GetCallerIdentity") == frozenset()


def test_an_operation_that_does_not_exist_is_a_key_error():
    with pytest.raises(KeyError):
        codec("s3").members("PostObject")


def test_a_route_is_an_operation_and_labels():
    route = codec("s3").route("GET", "/b/k", "", {})
    assert (route.operation, route.labels) == ("GetObject", {"Bucket": "b", "Key": "k"})


def test_loading_needs_neither_a_session_nor_a_network_library():
    code = (
        "import sys; from atoll.aws_protocols.codec import codec; [codec(s) for s in ('s3', 's3control', 'iam', 'sts')]; "
        "print(sorted(m for m in sys.modules if m.split('.')[0] in ('botocore', 'urllib3', 'requests', 'ssl', 'email')))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout.strip() == "['botocore']"


def answers(call):
    """Runs it; it may refuse in AWS's words, and nothing else may come out."""
    with contextlib.suppress(ApiError):
        call()


LATIN = st.text(st.characters(max_codepoint=0xFF), max_size=60)
METHODS = st.sampled_from(["GET", "PUT", "POST", "DELETE", "HEAD", "PATCH", "OPTIONS", "FOO"])


@settings(max_examples=300, deadline=None)
@given(method=METHODS, path=LATIN, query=LATIN, service=st.sampled_from(["s3", "s3control", "lambda", "iam", "transfer"]))
def test_no_target_is_anything_but_an_operation_or_a_refusal(method, path, query, service):
    answers(lambda: codec(service).route(method, "/" + path, query, {}))


@settings(max_examples=300, deadline=None)
@given(
    query=LATIN,
    headers=st.dictionaries(
        st.sampled_from(
            ["range", "content-length", "if-match", "x-amz-meta-a", "expires", "x-amz-object-lock-retain-until-date", "x-amz-acl"]
        ),
        LATIN,
    ),
)
def test_no_header_or_query_is_anything_but_read_or_refused(query, headers):
    def call():
        request = Request("PUT", "/b/k?" + query, headers)
        route = codec("s3").route("PUT", request.path, request.query, headers)
        codec("s3").read(route, request, b"", EMPTY)

    answers(call)


XMLISH = st.lists(
    st.sampled_from(
        [
            b"<Delete>",
            b"</Delete>",
            b"<Object>",
            b"</Object>",
            b"<Key>",
            b"</Key>",
            b"<Quiet/>",
            b"a",
            b"&lt;",
            b"&#1;",
            b"<!DOCTYPE a>",
            b"<![CDATA[",
            b"]]>",
            b"\xff",
            b"<?xml?>",
            b"<a b='c'/>",
        ]
    ),
    max_size=14,
).map(b"".join)


@settings(max_examples=300, deadline=None)
@given(document=st.one_of(st.binary(max_size=60), XMLISH))
def test_no_document_is_anything_but_read_or_refused(document):
    request = Request("POST", "/b?delete", {})
    route = codec("s3").route("POST", "/b", "delete", {})
    answers(lambda: codec("s3").read(route, request, document, EMPTY))


@settings(max_examples=200, deadline=None)
@given(form=st.one_of(st.binary(max_size=60), LATIN.map(lambda text: f"Action=TagUser&UserName=a&{text}".encode())))
def test_no_form_is_anything_but_read_or_refused(form):
    def call():
        route = codec("iam").route("POST", "/", "", {}, form)
        codec("iam").read(route, Request("POST", "/", {}), form, EMPTY)

    answers(call)


@settings(max_examples=200, deadline=None)
@given(key=st.text(min_size=1, max_size=40))
def test_every_key_survives_being_listed_and_every_metadata_value_is_a_safe_header(key):
    from atoll.domain.api_call import OperationOutput

    document = (
        codec("s3").write("ListObjectsV2", OperationOutput({"Contents": [{"Key": key.encode("utf-8", "replace").decode()}]})).body.small
    )
    assert document.decode("utf-8")
    value = (
        codec("s3")
        .write("HeadObject", OperationOutput({"Metadata": {"k": key.encode("utf-8", "replace").decode()}}))
        .headers["x-amz-meta-k"]
    )
    assert value.isascii()
    assert value.isprintable()
