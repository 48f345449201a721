"""Answers as responses: statuses, headers, roots, namespaces, and bytes that stay harmless."""

import asyncio
from datetime import UTC, datetime

import pytest

from atoll.aws_protocols.codec import codec
from atoll.aws_protocols.service_models import load
from atoll.domain.api_call import OperationOutput
from atoll.domain.errors import ApiError
from atoll.domain.http_message import EMPTY, Body

MOMENT = datetime(2026, 1, 1, 12, 0, 1, 234567, tzinfo=UTC)
NS = "http://s3.amazonaws.com/doc/2006-03-01/"
XML = '<?xml version="1.0" encoding="UTF-8"?>\n'


def write(operation, members=None, service="s3", **how):
    return codec(service).write(operation, OperationOutput(members or {}, **how))


def text(operation, members=None, service="s3"):
    document = write(operation, members, service).body.small.decode()
    assert document.startswith(XML)
    return document.removeprefix(XML)


def test_an_object_is_headers_and_a_stream():
    async def chunks():
        yield b"abc"

    body = Body(chunks(), 3)
    response = write(
        "GetObject",
        {
            "Body": body,
            "ETag": '"e"',
            "ContentLength": 3,
            "LastModified": MOMENT,
            "Metadata": {"a": "1"},
            "PartsCount": 2,
            "BucketKeyEnabled": True,
        },
    )
    assert response.body is body
    assert response.status == 200
    assert response.headers == {
        "etag": '"e"',
        "last-modified": "Thu, 01 Jan 2026 12:00:01 GMT",
        "x-amz-meta-a": "1",
        "x-amz-mp-parts-count": "2",
        "x-amz-server-side-encryption-bucket-key-enabled": "true",
        "content-type": "binary/octet-stream",
    }
    assert asyncio.run(response.body.read_small(9)) == b"abc"


def test_a_stream_of_unknown_length_announces_none():
    async def chunks():
        yield b"abc"

    assert write("GetObject", {"Body": Body(chunks(), None), "ContentLength": 3}).headers == {
        "content-type": "binary/octet-stream"
    }


def test_the_status_of_an_answer_and_its_headers_win():
    response = write("GetObject", {"Body": Body.of(b"a"), "ContentRange": "bytes 0-0/2"}, status=206, headers={"X-Extra": "1"})
    assert response.status == 206
    assert response.headers["content-range"] == "bytes 0-0/2"
    assert response.headers["x-extra"] == "1"


def test_a_head_keeps_the_length_and_type_of_the_object():
    response = write("HeadObject", {"ContentLength": 5, "ContentType": "text/plain", "ETag": '"e"'})
    assert response.headers == {"content-length": "5", "content-type": "text/plain", "etag": '"e"'}
    assert response.body is EMPTY


@pytest.mark.parametrize(
    ("operation", "status"),
    [
        ("DeleteObject", 204),
        ("DeleteBucket", 204),
        ("AbortMultipartUpload", 204),
        ("PutBucketPolicy", 204),
        ("DeleteBucketPolicy", 204),
        ("PutBucketVersioning", 200),
        ("CreateBucket", 200),
        ("PutObject", 200),
    ],
)
def test_statuses_without_a_body(operation, status):
    response = write(operation)
    assert (response.status, response.body.length, response.headers) == (status, 0, {})


def test_none_is_absent():
    assert write("PutObject", {"ETag": '"e"', "VersionId": None}).headers == {"etag": '"e"'}


def test_expires_is_text_or_a_date():
    assert write("HeadObject", {"Expires": "tomorrow"}).headers == {"expires": "tomorrow"}
    assert write("HeadObject", {"Expires": MOMENT}).headers == {"expires": "Thu, 01 Jan 2026 12:00:01 GMT"}


def test_metadata_that_is_not_ascii_is_an_encoded_word():
    headers = write("HeadObject", {"Metadata": {"k": "é", "l": "plain", "m": "a\nb"}}).headers
    assert headers == {"x-amz-meta-k": "=?UTF-8?B?w6k=?=", "x-amz-meta-l": "plain", "x-amz-meta-m": "=?UTF-8?B?YQpi?="}


@pytest.mark.parametrize("value", ["a\r\nset-cookie: x", "a\x00", "a\x7f", "日本"])
def test_a_header_value_cannot_smuggle_anything(value):
    with pytest.raises(ApiError, match="InvalidArgument"):
        write("GetObject", {"Body": EMPTY, "ContentDisposition": value})
    with pytest.raises(ApiError, match="InvalidArgument"):
        write("GetObject", {"Body": EMPTY}, headers={"x-a": value})


def test_latin_1_header_values_pass():
    assert write("HeadObject", {"ContentDisposition": "f\xe9\t"}).headers == {"content-disposition": "f\xe9\t"}


def test_a_listing():
    members = {
        "IsTruncated": False,
        "Contents": [
            {
                "Key": "a&<b>\x01\r",
                "LastModified": MOMENT,
                "ETag": '"e"',
                "ChecksumAlgorithm": ["CRC32"],
                "Size": 3,
                "StorageClass": "STANDARD",
                "Owner": {"ID": "me"},
            }
        ],
        "Name": "b",
        "Prefix": "",
        "MaxKeys": 1000,
        "CommonPrefixes": [{"Prefix": "c/"}, {"Prefix": "d/"}],
        "KeyCount": 3,
        "Delimiter": None,
    }
    assert text("ListObjectsV2", members) == (
        f'<ListBucketResult xmlns="{NS}"><IsTruncated>false</IsTruncated><Contents><Key>a&amp;&lt;b&gt;&#x1;&#13;</Key>'
        '<LastModified>2026-01-01T12:00:01.000Z</LastModified><ETag>"e"</ETag><ChecksumAlgorithm>CRC32</ChecksumAlgorithm>'
        "<Size>3</Size><StorageClass>STANDARD</StorageClass><Owner><ID>me</ID></Owner></Contents><Name>b</Name><Prefix></Prefix>"
        "<MaxKeys>1000</MaxKeys><CommonPrefixes><Prefix>c/</Prefix></CommonPrefixes><CommonPrefixes><Prefix>d/</Prefix>"
        "</CommonPrefixes><KeyCount>3</KeyCount></ListBucketResult>"
    )


def test_versions_and_markers_are_interleaved_as_the_operation_ordered_them():
    entries = [
        ("DeleteMarkers", {"Key": "a", "VersionId": "3", "IsLatest": True}),
        ("Versions", {"Key": "a", "VersionId": "2", "IsLatest": False}),
        ("DeleteMarkers", {"Key": "b", "VersionId": "null"}),
    ]
    assert text("ListObjectVersions", {"Name": "b", "_entries": entries}) == (
        f'<ListVersionsResult xmlns="{NS}"><Name>b</Name>'
        "<DeleteMarker><Key>a</Key><VersionId>3</VersionId><IsLatest>true</IsLatest></DeleteMarker>"
        "<Version><Key>a</Key><VersionId>2</VersionId><IsLatest>false</IsLatest></Version>"
        "<DeleteMarker><Key>b</Key><VersionId>null</VersionId></DeleteMarker></ListVersionsResult>"
    )


def test_versions_can_be_given_by_member_too():
    assert text("ListObjectVersions", {"Versions": [{"Key": "a"}]}) == (
        f'<ListVersionsResult xmlns="{NS}"><Version><Key>a</Key></Version></ListVersionsResult>'
    )


def test_an_entry_of_another_member_is_our_mistake():
    with pytest.raises(AssertionError):
        write("ListObjectVersions", {"_entries": [("CommonPrefixes", {"Prefix": "a"})]})


@pytest.mark.parametrize(
    ("members", "document"),
    [
        ({}, f'<LocationConstraint xmlns="{NS}"/>'),
        ({"LocationConstraint": ""}, f'<LocationConstraint xmlns="{NS}"/>'),
        ({"LocationConstraint": "eu-central-1"}, f'<LocationConstraint xmlns="{NS}">eu-central-1</LocationConstraint>'),
    ],
)
def test_a_location_is_text_and_empty_for_us_east_1(members, document):
    assert text("GetBucketLocation", members) == document


@pytest.mark.parametrize(
    ("operation", "root"),
    [
        ("CompleteMultipartUpload", "CompleteMultipartUploadResult"),
        ("CreateMultipartUpload", "InitiateMultipartUploadResult"),
        ("CreateSession", "CreateSessionResult"),
        ("DeleteObjects", "DeleteResult"),
        ("GetBucketAccelerateConfiguration", "AccelerateConfiguration"),
        ("GetBucketAcl", "AccessControlPolicy"),
        ("GetBucketCors", "CORSConfiguration"),
        ("GetBucketLifecycleConfiguration", "LifecycleConfiguration"),
        ("GetBucketLogging", "BucketLoggingStatus"),
        ("GetBucketNotificationConfiguration", "NotificationConfiguration"),
        ("GetBucketRequestPayment", "RequestPaymentConfiguration"),
        ("GetBucketTagging", "Tagging"),
        ("GetBucketVersioning", "VersioningConfiguration"),
        ("GetBucketWebsite", "WebsiteConfiguration"),
        ("GetObjectAcl", "AccessControlPolicy"),
        ("GetObjectAttributes", "GetObjectAttributesResponse"),
        ("GetObjectTagging", "Tagging"),
        ("ListBuckets", "ListAllMyBucketsResult"),
        ("ListDirectoryBuckets", "ListAllMyDirectoryBucketsResult"),
        ("ListMultipartUploads", "ListMultipartUploadsResult"),
        ("ListObjectVersions", "ListVersionsResult"),
        ("ListObjects", "ListBucketResult"),
        ("ListObjectsV2", "ListBucketResult"),
        ("ListParts", "ListPartsResult"),
    ],
)
def test_roots_of_whole_answers(operation, root):
    assert text(operation) == f'<{root} xmlns="{NS}"></{root}>'


@pytest.mark.parametrize(
    ("operation", "member", "root"),
    [
        ("CopyObject", "CopyObjectResult", "CopyObjectResult"),
        ("UploadPartCopy", "CopyPartResult", "CopyPartResult"),
        ("GetPublicAccessBlock", "PublicAccessBlockConfiguration", "PublicAccessBlockConfiguration"),
        ("GetBucketPolicyStatus", "PolicyStatus", "PolicyStatus"),
        ("GetBucketReplication", "ReplicationConfiguration", "ReplicationConfiguration"),
        ("GetBucketEncryption", "ServerSideEncryptionConfiguration", "ServerSideEncryptionConfiguration"),
        ("GetBucketOwnershipControls", "OwnershipControls", "OwnershipControls"),
        ("GetObjectLockConfiguration", "ObjectLockConfiguration", "ObjectLockConfiguration"),
        ("GetObjectRetention", "Retention", "Retention"),
        ("GetObjectLegalHold", "LegalHold", "LegalHold"),
        ("GetBucketInventoryConfiguration", "InventoryConfiguration", "InventoryConfiguration"),
    ],
)
def test_roots_of_single_members(operation, member, root):
    assert text(operation, {member: {}}) == f'<{root} xmlns="{NS}"></{root}>'
    assert write(operation).body is EMPTY


def test_copy_results_have_whole_seconds_and_quoted_etags():
    assert text("CopyObject", {"CopyObjectResult": {"ETag": '"e"', "LastModified": MOMENT}}) == (
        f'<CopyObjectResult xmlns="{NS}"><ETag>"e"</ETag><LastModified>2026-01-01T12:00:01.000Z</LastModified></CopyObjectResult>'
    )


def test_wrapped_lists_and_flattened_ones():
    assert text("GetBucketTagging", {"TagSet": [{"Key": "a", "Value": ""}]}) == (
        f'<Tagging xmlns="{NS}"><TagSet><Tag><Key>a</Key><Value></Value></Tag></TagSet></Tagging>'
    )
    assert text("DeleteObjects", {"Deleted": [{"Key": "a"}], "Errors": [{"Key": "b", "Code": "X"}]}) == (
        f'<DeleteResult xmlns="{NS}"><Deleted><Key>a</Key></Deleted><Error><Key>b</Key><Code>X</Code></Error></DeleteResult>'
    )


def test_a_grantee_has_a_type_attribute():
    grants = [{"Grantee": {"Type": "CanonicalUser", "ID": "me"}, "Permission": "FULL_CONTROL"}]
    assert text("GetBucketAcl", {"Grants": grants}) == (
        f'<AccessControlPolicy xmlns="{NS}"><AccessControlList><Grant><Grantee xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
        'xsi:type="CanonicalUser"><ID>me</ID></Grantee><Permission>FULL_CONTROL</Permission></Grant></AccessControlList>'
        "</AccessControlPolicy>"
    )


def test_documents_are_typed_as_xml():
    assert write("ListBuckets").headers == {"content-type": "application/xml"}


def test_a_policy_is_its_own_text():
    response = write("GetBucketPolicy", {"Policy": '{"Version": "2012-10-17"}'})
    assert response.body.small == b'{"Version": "2012-10-17"}'
    assert response.headers == {"content-type": "application/json"}


CONTROL = "http://awss3control.amazonaws.com/doc/2018-08-20/"


def test_s3control_roots_are_the_result_shapes_in_their_namespace():
    assert text("CreateMultiRegionAccessPoint", {"RequestTokenARN": "arn"}, "s3control") == (
        f'<CreateMultiRegionAccessPointResult xmlns="{CONTROL}"><RequestTokenARN>arn</RequestTokenARN></CreateMultiRegionAccessPointResult>'
    )
    assert text("SubmitMultiRegionAccessPointRoutes", {}, "s3control") == (
        f'<SubmitMultiRegionAccessPointRoutesResult xmlns="{CONTROL}"></SubmitMultiRegionAccessPointRoutesResult>'
    )


def test_an_access_point_has_named_items_and_millisecond_times():
    point = {"Name": "n", "CreatedAt": MOMENT, "Regions": [{"Bucket": "a", "Region": "us-east-1", "BucketAccountId": "1"}]}
    assert text("ListMultiRegionAccessPoints", {"AccessPoints": [point]}, "s3control") == (
        f'<ListMultiRegionAccessPointsResult xmlns="{CONTROL}"><AccessPoints><AccessPoint><Name>n</Name>'
        "<CreatedAt>2026-01-01T12:00:01.234Z</CreatedAt><Regions><Region><Bucket>a</Bucket><Region>us-east-1</Region>"
        "<BucketAccountId>1</BucketAccountId></Region></Regions></AccessPoint></AccessPoints></ListMultiRegionAccessPointsResult>"
    )


def test_a_status_member_is_the_status():
    response = write("Invoke", {"StatusCode": 202, "Payload": b"{}"}, "lambda")
    assert (response.status, response.body.small) == (202, b"{}")


def test_rest_json_documents():
    response = write("GetFunctionConcurrency", {"ReservedConcurrentExecutions": 3}, "lambda")
    assert response.body.small == b'{"ReservedConcurrentExecutions":3}'
    assert response.headers == {"content-type": "application/json"}


def test_event_streams_are_named_as_not_implemented():
    with pytest.raises(ApiError, match="NotImplemented.*event streams"):
        write("SelectObjectContent")


def test_every_s3_answer_with_a_document_is_in_the_namespace():
    model = load("s3")
    for name, operation in model.operations.items():
        if operation.output and not model.shape(operation.output).payload and name != "GetBucketLocation":
            body = write(name).body.small
            assert not body or f'xmlns="{NS}"'.encode() in body
