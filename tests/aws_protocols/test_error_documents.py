import pytest

from atoll.aws_protocols.codec import codec
from atoll.domain.errors import ApiError
from atoll.domain.http_message import EMPTY

XML = '<?xml version="1.0" encoding="UTF-8"?>\n'


def fault(service, error, **named):
    return codec(service).fault(error, request_id="R1", host_id="H1", **named)


NO_KEY = ApiError("NoSuchKey", "No such <key>.", Key="a&b")


def test_s3_documents_are_not_wrapped_and_have_no_namespace():
    response = fault("s3", NO_KEY, resource="/b/a&b")
    assert response.body.small.decode() == (
        f"{XML}<Error><Code>NoSuchKey</Code><Message>No such &lt;key&gt;.</Message><Key>a&amp;b</Key>"
        "<Resource>/b/a&amp;b</Resource><RequestId>R1</RequestId><HostId>H1</HostId></Error>"
    )
    assert response.status == 404
    assert response.headers["content-type"] == "application/xml"


def test_ids_are_headers_of_every_answer():
    headers = fault("s3", NO_KEY, head=True).headers
    assert (headers["x-amz-request-id"], headers["x-amz-id-2"]) == ("R1", "H1")


def test_details_keep_their_order():
    error = ApiError("InvalidRange", "", RangeRequested="bytes=9-", ActualObjectSize="3")
    assert b"<RangeRequested>bytes=9-</RangeRequested><ActualObjectSize>3</ActualObjectSize>" in fault("s3", error).body.small


def test_control_characters_in_details_do_not_break_the_document():
    error = ApiError("SignatureDoesNotMatch", "", StringToSign="a\n\x01")
    assert b"<StringToSign>a\n&#x1;</StringToSign>" in fault("s3", error).body.small


def test_headers_of_the_error_travel():
    assert fault("s3", ApiError("MethodNotAllowed", headers={"Allow": "DELETE"})).headers["allow"] == "DELETE"


def test_a_head_has_no_body():
    response = fault("s3", NO_KEY, head=True)
    assert (response.status, response.body) == (404, EMPTY)
    assert "content-type" not in response.headers


def test_not_modified_has_no_body():
    response = fault("s3", ApiError("NotModified", headers={"etag": '"e"'}))
    assert (response.status, response.body, response.headers["etag"]) == (304, EMPTY, '"e"')


def test_s3control_documents_are_wrapped_with_the_ids_outside():
    response = fault("s3control", ApiError("NoSuchMultiRegionAccessPoint", "None."))
    assert response.body.small.decode() == (
        f"{XML}<ErrorResponse><Error><Code>NoSuchMultiRegionAccessPoint</Code><Message>None.</Message></Error>"
        "<RequestId>R1</RequestId><HostId>H1</HostId></ErrorResponse>"
    )


@pytest.mark.parametrize(
    ("service", "namespace"),
    [("iam", "https://iam.amazonaws.com/doc/2010-05-08/"), ("sts", "https://sts.amazonaws.com/doc/2011-06-15/")],
)
def test_query_documents_say_whose_fault_it_was(service, namespace):
    response = fault(service, ApiError("NoSuchEntity", "None."))
    assert response.body.small.decode() == (
        f'{XML}<ErrorResponse xmlns="{namespace}"><Error><Type>Sender</Type><Code>NoSuchEntity</Code><Message>None.</Message>'
        "</Error><RequestId>R1</RequestId></ErrorResponse>"
    )
    assert response.headers["content-type"] == "text/xml"


def test_our_own_fault_is_the_receivers():
    assert b"<Type>Receiver</Type>" in fault("iam", ApiError("InternalError")).body.small


def test_cloudfront_shares_the_typed_form():
    assert b'xmlns="http://cloudfront.amazonaws.com/doc/2020-05-31/"' in fault("cloudfront", ApiError("AccessDenied")).body.small


def test_json_documents_are_typed_by_name():
    response = fault("transfer", ApiError("AccessDenied", "No."))
    assert response.body.small == b'{"__type":"AccessDenied","message":"No."}'
    assert response.headers["content-type"] == "application/x-amz-json-1.1"
    assert response.headers["x-amzn-errortype"] == "AccessDenied"


def test_rest_json_documents_are_plain_json():
    assert fault("lambda", ApiError("AccessDenied")).headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("service", "protocol"),
    [("s3", "rest-xml"), ("s3control", "rest-xml"), ("iam", "query"), ("transfer", "json"), ("lambda", "rest-json")],
)
def test_botocore_reads_code_message_and_status(service, protocol):
    from botocore.awsrequest import HeadersDict
    from botocore.parsers import create_parser

    response = fault(service, ApiError("AccessDenied", "Not you."))
    raw = {"status_code": response.status, "headers": HeadersDict(response.headers), "body": response.body.small, "context": {}}
    parsed = create_parser(protocol).parse(raw, None)
    assert (parsed["Error"]["Code"], parsed["Error"]["Message"]) == ("AccessDenied", "Not you.")
    assert parsed["ResponseMetadata"]["HTTPStatusCode"] == 403
    assert parsed["ResponseMetadata"]["RequestId"] == "R1"
