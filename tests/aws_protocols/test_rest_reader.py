"""What a REST request says in its path, query and headers."""

from datetime import UTC, datetime

import pytest

from atoll.aws_protocols.codec import codec
from atoll.domain.errors import ApiError
from atoll.domain.http_message import EMPTY, Body, Request


def read(method, target, headers=None, document=b"", body=EMPTY, service="s3"):
    request = Request(method, target, headers or {})
    api = codec(service)
    route = api.route(method, request.path, request.query, request.headers)
    return api.read(route, request, document, body)


def refusal(*arguments, **named):
    with pytest.raises(ApiError) as caught:
        read(*arguments, **named)
    return caught.value


SIGNED = {
    "host": "127.0.0.1",
    "authorization": "AWS4-HMAC-SHA256 ...",
    "x-amz-date": "20260101T000000Z",
    "x-amz-content-sha256": "e3b0",
}


def test_a_plain_get_has_bucket_and_key_only():
    assert read("GET", "/b/k", SIGNED) == {"Bucket": "b", "Key": "k"}


def test_headers_are_typed_by_the_model():
    headers = {"range": "bytes=0-1", "if-modified-since": "Sun, 06 Nov 1994 08:49:37 GMT", "x-amz-checksum-mode": "ENABLED"}
    assert read("GET", "/b/k?partNumber=3&versionId=v&response-content-type=text%2Fplain", headers) == {
        "Bucket": "b",
        "Key": "k",
        "Range": "bytes=0-1",
        "IfModifiedSince": datetime(1994, 11, 6, 8, 49, 37, tzinfo=UTC),
        "ChecksumMode": "ENABLED",
        "PartNumber": 3,
        "VersionId": "v",
        "ResponseContentType": "text/plain",
    }


def test_a_put_has_its_body_as_it_is():
    body = Body.of(b"x")
    found = read("PUT", "/b/k", {"content-length": "1", "content-type": "text/plain", "x-amz-bypass": "no"}, body=body)
    assert found == {"Bucket": "b", "Key": "k", "ContentLength": 1, "ContentType": "text/plain", "Body": body}
    assert found["Body"] is body


def test_metadata_is_a_map_of_lower_case_names():
    found = read("PUT", "/b/k", {"x-amz-meta-a": "1", "x-amz-meta-b-c": "", "x-amz-metadata-directive": "COPY"})
    assert found["Metadata"] == {"a": "1", "b-c": ""}


def test_metadata_in_raw_utf_8_is_understood():
    assert read("PUT", "/b/k", {"x-amz-meta-a": "é".encode().decode("latin-1")})["Metadata"] == {"a": "é"}


def test_metadata_in_latin_1_is_kept():
    assert read("PUT", "/b/k", {"x-amz-meta-a": "\xe9"})["Metadata"] == {"a": "é"}


def test_expires_is_kept_as_text():
    assert read("PUT", "/b/k", {"expires": "tomorrow"})["Expires"] == "tomorrow"


def test_a_truth_value():
    assert read("DELETE", "/b/k", {"x-amz-bypass-governance-retention": "True"})["BypassGovernanceRetention"] is True


def test_a_list_in_a_header_may_hold_blanks():
    found = read("GET", "/b/k?attributes", {"x-amz-object-attributes": "ETag, ObjectSize,,Checksum"})
    assert found["ObjectAttributes"] == ["ETag", "ObjectSize", "Checksum"]


@pytest.mark.parametrize("value", ["x", "-", "1.5", "99999999999999999999", "1_0"])
def test_a_number_that_is_none_is_named(value):
    error = refusal("GET", f"/b?list-type=2&max-keys={value}")
    assert (error.code, error.status) == ("InvalidArgument", 400)
    assert error.details == {"ArgumentName": "max-keys", "ArgumentValue": value}


def test_a_bad_truth_value_is_named():
    error = refusal("DELETE", "/b/k", {"x-amz-bypass-governance-retention": "maybe"})
    assert error.details["ArgumentName"] == "x-amz-bypass-governance-retention"


def test_a_bad_date_makes_a_condition_absent():
    assert "IfModifiedSince" not in read("GET", "/b/k", {"if-modified-since": "yesterday"})


def test_a_bad_date_elsewhere_is_named():
    error = refusal("PUT", "/b/k", {"x-amz-object-lock-retain-until-date": "soon"})
    assert error.details["ArgumentName"] == "x-amz-object-lock-retain-until-date"


def test_empty_words_are_words():
    assert read("GET", "/b?list-type=2&prefix=&delimiter=&start-after=") == {
        "Bucket": "b",
        "Prefix": "",
        "Delimiter": "",
        "StartAfter": "",
    }


def test_empty_numbers_say_nothing():
    assert read("GET", "/b?max-keys=") == {"Bucket": "b"}


def test_the_first_of_two_counts():
    assert read("GET", "/b?prefix=a&prefix=b")["Prefix"] == "a"


def test_a_plus_in_a_query_is_a_blank():
    assert read("GET", "/b?prefix=a+b%2Bc")["Prefix"] == "a b+c"


def test_header_members_do_not_come_from_the_query():
    assert read("PUT", "/b/k?content-type=text%2Fplain&x-amz-acl=public-read") == {"Bucket": "b", "Key": "k", "Body": EMPTY}


def test_a_presigned_query_carries_headers():
    target = "/b/k?X-Amz-Algorithm=A&X-Amz-Signature=0&x-amz-acl=private&x-amz-tagging=a%3Db&x-amz-meta-k=v"
    found = read("PUT", target)
    assert (found["ACL"], found["Tagging"], found["Metadata"]) == ("private", "a=b", {"k": "v"})


def test_a_real_header_wins_over_the_presigned_query():
    assert read("PUT", "/b/k?X-Amz-Signature=0&x-amz-acl=private", {"x-amz-acl": "public-read"})["ACL"] == "public-read"


def test_checksums_in_a_presigned_query_are_ignored():
    target = "/b/k?X-Amz-Signature=0&x-amz-checksum-crc32=AAAAAA%3D%3D&x-amz-sdk-checksum-algorithm=CRC32"
    assert read("PUT", target) == {"Bucket": "b", "Key": "k", "Body": EMPTY}


def test_a_presigned_copy():
    found = read("PUT", "/b/k?X-Amz-Signature=0&x-amz-copy-source=b%2Fa")
    assert found == {"Bucket": "b", "Key": "k", "CopySource": "b/a"}


def test_a_missing_query_member_is_named():
    error = refusal("PUT", "/b/k?uploadId=u")
    assert (error.code, error.details["ArgumentName"]) == ("InvalidArgument", "partNumber")


def test_a_missing_header_is_named():
    error = refusal("GET", "/b/k?attributes")
    assert (error.code, error.status) == ("InvalidRequest", 400)
    assert "x-amz-object-attributes" in error.message


def test_an_acl_in_headers_needs_no_document():
    assert read("PUT", "/b/k?acl", {"x-amz-acl": "private", "x-amz-checksum-crc32": "AAAAAA=="})["ACL"] == "private"


def test_a_policy_is_text():
    assert read("PUT", "/b?policy", document=b'{"a": "\xc3\xa9"}')["Policy"] == '{"a": "é"}'


def test_a_policy_that_is_not_utf_8_is_refused():
    assert refusal("PUT", "/b?policy", document=b"\xff").code == "InvalidRequest"


def test_a_document_where_none_belongs_is_not_read():
    assert read("GET", "/b/k", document=b"<x>") == {"Bucket": "b", "Key": "k"}


def test_the_account_of_s3control_is_a_header():
    found = read("GET", "/v20180820/mrap/instances?maxResults=3", {"x-amz-account-id": "123456789012"}, service="s3control")
    assert found == {"AccountId": "123456789012", "MaxResults": 3}


def test_a_missing_account_is_an_invalid_request():
    assert refusal("GET", "/v20180820/mrap/instances", service="s3control").code == "InvalidRequest"


def test_repeated_query_names_are_a_list():
    found = read("DELETE", "/2017-03-31/tags/x?tagKeys=a&tagKeys=b", service="lambda")
    assert found == {"Resource": "x", "TagKeys": ["a", "b"]}


def test_a_blob_payload_is_bytes():
    found = read("POST", "/2015-03-31/functions/f/invocations", document=b'{"a":1}', service="lambda")
    assert found == {"FunctionName": "f", "Payload": b'{"a":1}'}


def test_json_members_are_read():
    found = read("PUT", "/2017-10-31/functions/f/concurrency", document=b'{"ReservedConcurrentExecutions": 3}', service="lambda")
    assert found == {"FunctionName": "f", "ReservedConcurrentExecutions": 3}


def test_a_missing_json_member_is_named():
    error = refusal("PUT", "/2017-10-31/functions/f/concurrency", service="lambda")
    assert error.code == "ValidationException"
    assert "ReservedConcurrentExecutions" in error.message
