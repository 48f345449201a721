"""Row by row the table of s3.md §2.2, the traps beside it, and the forms in which clients write the same thing."""

import pytest

from atoll.aws_protocols.codec import codec
from atoll.domain.errors import ApiError

S3 = codec("s3")
COPY = {"x-amz-copy-source": "b/k"}


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE"])
@pytest.mark.parametrize("query", ["", "?tagging", "?uploadId=u"])
def test_a_key_of_more_than_1024_bytes_is_too_long_for_every_operation(method, query):
    refused = refusal(method, f"/b/{'%C3%BC' * 512}k{query}")
    assert (refused.code, refused.details) == ("KeyTooLongError", {"Size": "1025", "MaxSizeAllowed": "1024"})


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE"])
def test_a_key_of_1024_bytes_is_not(method):
    assert labels(method, f"/b/{'%C3%BC' * 512}")["Key"] == "ü" * 512


def operation(method, target, headers=None):
    path, _, query = target.partition("?")
    return S3.route(method, path, query, headers or {}).operation


def labels(method, target, headers=None):
    path, _, query = target.partition("?")
    return S3.route(method, path, query, headers or {}).labels


def refusal(method, target, headers=None):
    with pytest.raises(ApiError) as caught:
        operation(method, target, headers)
    return caught.value


@pytest.mark.parametrize(
    ("method", "target", "expected"),
    [
        ("GET", "/", "ListBuckets"),
        ("POST", "/WriteGetObjectResponse", "WriteGetObjectResponse"),
        ("GET", "/b", "ListObjects"),
        ("HEAD", "/b", "HeadBucket"),
        ("PUT", "/b", "CreateBucket"),
        ("DELETE", "/b", "DeleteBucket"),
        ("GET", "/b?list-type=2", "ListObjectsV2"),
        ("GET", "/b?versions", "ListObjectVersions"),
        ("GET", "/b?uploads", "ListMultipartUploads"),
        ("GET", "/b?location", "GetBucketLocation"),
        ("POST", "/b?delete", "DeleteObjects"),
        ("GET", "/b?acl", "GetBucketAcl"),
        ("PUT", "/b?acl", "PutBucketAcl"),
        ("GET", "/b?versioning", "GetBucketVersioning"),
        ("PUT", "/b?versioning", "PutBucketVersioning"),
        ("GET", "/b?logging", "GetBucketLogging"),
        ("PUT", "/b?logging", "PutBucketLogging"),
        ("GET", "/b?requestPayment", "GetBucketRequestPayment"),
        ("PUT", "/b?requestPayment", "PutBucketRequestPayment"),
        ("GET", "/b?accelerate", "GetBucketAccelerateConfiguration"),
        ("PUT", "/b?accelerate", "PutBucketAccelerateConfiguration"),
        ("GET", "/b?notification", "GetBucketNotificationConfiguration"),
        ("PUT", "/b?notification", "PutBucketNotificationConfiguration"),
        ("GET", "/b?object-lock", "GetObjectLockConfiguration"),
        ("PUT", "/b?object-lock", "PutObjectLockConfiguration"),
        ("GET", "/b?abac", "GetBucketAbac"),
        ("PUT", "/b?abac", "PutBucketAbac"),
        ("GET", "/b?policy", "GetBucketPolicy"),
        ("PUT", "/b?policy", "PutBucketPolicy"),
        ("DELETE", "/b?policy", "DeleteBucketPolicy"),
        ("GET", "/b?cors", "GetBucketCors"),
        ("PUT", "/b?cors", "PutBucketCors"),
        ("DELETE", "/b?cors", "DeleteBucketCors"),
        ("GET", "/b?lifecycle", "GetBucketLifecycleConfiguration"),
        ("PUT", "/b?lifecycle", "PutBucketLifecycleConfiguration"),
        ("DELETE", "/b?lifecycle", "DeleteBucketLifecycle"),
        ("GET", "/b?tagging", "GetBucketTagging"),
        ("PUT", "/b?tagging", "PutBucketTagging"),
        ("DELETE", "/b?tagging", "DeleteBucketTagging"),
        ("GET", "/b?website", "GetBucketWebsite"),
        ("PUT", "/b?website", "PutBucketWebsite"),
        ("DELETE", "/b?website", "DeleteBucketWebsite"),
        ("GET", "/b?replication", "GetBucketReplication"),
        ("PUT", "/b?replication", "PutBucketReplication"),
        ("DELETE", "/b?replication", "DeleteBucketReplication"),
        ("GET", "/b?encryption", "GetBucketEncryption"),
        ("PUT", "/b?encryption", "PutBucketEncryption"),
        ("DELETE", "/b?encryption", "DeleteBucketEncryption"),
        ("GET", "/b?ownershipControls", "GetBucketOwnershipControls"),
        ("PUT", "/b?ownershipControls", "PutBucketOwnershipControls"),
        ("DELETE", "/b?ownershipControls", "DeleteBucketOwnershipControls"),
        ("GET", "/b?publicAccessBlock", "GetPublicAccessBlock"),
        ("PUT", "/b?publicAccessBlock", "PutPublicAccessBlock"),
        ("DELETE", "/b?publicAccessBlock", "DeletePublicAccessBlock"),
        ("GET", "/b?policyStatus", "GetBucketPolicyStatus"),
        ("GET", "/b?inventory", "ListBucketInventoryConfigurations"),
        ("GET", "/b?inventory&id=1", "GetBucketInventoryConfiguration"),
        ("GET", "/b?id=1&inventory", "GetBucketInventoryConfiguration"),
        ("PUT", "/b?inventory&id=1", "PutBucketInventoryConfiguration"),
        ("DELETE", "/b?inventory&id=1", "DeleteBucketInventoryConfiguration"),
        ("GET", "/b?metrics", "ListBucketMetricsConfigurations"),
        ("GET", "/b?metrics&id=1", "GetBucketMetricsConfiguration"),
        ("GET", "/b?analytics", "ListBucketAnalyticsConfigurations"),
        ("GET", "/b?analytics&id=1", "GetBucketAnalyticsConfiguration"),
        ("GET", "/b?intelligent-tiering", "ListBucketIntelligentTieringConfigurations"),
        ("GET", "/b?intelligent-tiering&id=1", "GetBucketIntelligentTieringConfiguration"),
        ("GET", "/b?session", "CreateSession"),
        ("GET", "/b/k", "GetObject"),
        ("HEAD", "/b/k", "HeadObject"),
        ("PUT", "/b/k", "PutObject"),
        ("DELETE", "/b/k", "DeleteObject"),
        ("POST", "/b/k?uploads", "CreateMultipartUpload"),
        ("GET", "/b/k?uploadId=u", "ListParts"),
        ("PUT", "/b/k?partNumber=1&uploadId=u", "UploadPart"),
        ("POST", "/b/k?uploadId=u", "CompleteMultipartUpload"),
        ("DELETE", "/b/k?uploadId=u", "AbortMultipartUpload"),
        ("GET", "/b/k?partNumber=2", "GetObject"),
        ("HEAD", "/b/k?partNumber=2", "HeadObject"),
        ("GET", "/b/k?acl", "GetObjectAcl"),
        ("PUT", "/b/k?acl", "PutObjectAcl"),
        ("GET", "/b/k?tagging", "GetObjectTagging"),
        ("PUT", "/b/k?tagging", "PutObjectTagging"),
        ("DELETE", "/b/k?tagging", "DeleteObjectTagging"),
        ("GET", "/b/k?retention", "GetObjectRetention"),
        ("PUT", "/b/k?retention", "PutObjectRetention"),
        ("GET", "/b/k?legal-hold", "GetObjectLegalHold"),
        ("PUT", "/b/k?legal-hold", "PutObjectLegalHold"),
        ("GET", "/b/k?attributes", "GetObjectAttributes"),
        ("GET", "/b/k?torrent", "GetObjectTorrent"),
        ("PUT", "/b/k?renameObject", "RenameObject"),
        ("PUT", "/b/k?encryption", "UpdateObjectEncryption"),
        ("GET", "/b/k?annotation", "ListObjectAnnotations"),
        ("PUT", "/b/k?annotation&annotationName=a", "PutObjectAnnotation"),
        ("POST", "/b/k?restore", "RestoreObject"),
        ("POST", "/b/k?select&select-type=2", "SelectObjectContent"),
        ("DELETE", "/b/k?versionId=v", "DeleteObject"),
    ],
)
def test_method_and_sub_resource_decide(method, target, expected):
    assert operation(method, target) == expected


@pytest.mark.parametrize(
    "flag", ["?uploads", "?uploads=", "?x-id=A&uploads", "?uploads=&max-uploads=3", "?prefix=uploads&uploads"]
)
def test_a_flag_counts_with_and_without_an_equals_sign_and_in_any_place(flag):
    assert operation("GET", f"/b{flag}") == "ListMultipartUploads"


def test_an_encoded_flag_is_the_flag():
    assert operation("GET", "/b?polic%79") == "GetBucketPolicy"


def test_a_copy_source_header_makes_a_put_a_copy():
    assert operation("PUT", "/b/k", COPY) == "CopyObject"


def test_a_copy_source_header_makes_a_part_a_part_copy():
    assert operation("PUT", "/b/k?partNumber=1&uploadId=u", COPY) == "UploadPartCopy"


def test_a_copy_source_in_a_presigned_query_makes_a_put_a_copy():
    assert operation("PUT", "/b/k?x-amz-copy-source=b%2Fk&X-Amz-Signature=0") == "CopyObject"


def test_a_copy_source_header_does_not_change_a_get():
    assert operation("GET", "/b/k", COPY) == "GetObject"


@pytest.mark.parametrize(
    "query", ["x-id=PutObject", "x-amz-user-agent=aws-sdk-js", "foo=bar", "foo=", "versioned=1", "X-Amz-Signature=0"]
)
def test_unknown_names_with_a_value_never_change_the_operation(query):
    assert operation("PUT", f"/b/k?{query}") == "PutObject"


@pytest.mark.parametrize("target", ["/plain", "/plain/"])
def test_a_final_slash_after_the_bucket_is_the_bucket(target):
    assert operation("PUT", target) == "CreateBucket"
    assert labels("PUT", target) == {"Bucket": "plain"}


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("/b//k", "/k"),
        ("/b///", "//"),
        ("/b/a//b", "a//b"),
        ("/b/a/", "a/"),
        ("/b/a/../b/./c", "a/../b/./c"),
        ("/b/a%2Fb", "a/b"),
        ("/b/%252F", "%2F"),
        ("/b/a+b", "a+b"),
        ("/b/a%20b%2Bc", "a b+c"),
        ("/b/%C3%A9%F0%9F%90%98", "é🐘"),
        ("/b/\xc3\xa9", "é"),
        ("/b/=@()+&,;$", "=@()+&,;$"),
        ("/b/%3FversionId=1", "?versionId=1"),
    ],
)
def test_keys_are_decoded_once_and_kept_exactly(path, key):
    assert labels("GET", path) == {"Bucket": "b", "Key": key}


@pytest.mark.parametrize("path", ["/b/%FF", "/b/%C3%28", "/b/%zz", "/b/%4", "/b/\xff", "/%FFb"])
def test_what_is_not_utf_8_after_decoding_is_invalid(path):
    assert refusal("GET", path).code == "InvalidURI"


def test_a_path_without_a_bucket_is_refused():
    assert refusal("GET", "//k").code == "InvalidBucketName"


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("POST", "/b?policy"),
        ("DELETE", "/b?acl"),
        ("PUT", "/b?uploads"),
        ("PUT", "/b?location"),
        ("DELETE", "/b?versioning"),
        ("PUT", "/b?policyStatus"),
        ("DELETE", "/b?uploads"),
        ("GET", "/b?delete"),
        ("PUT", "/b?retention"),
        ("PUT", "/b/k?policy"),
        ("PUT", "/b/k?torrent"),
        ("DELETE", "/b/k?acl"),
        ("DELETE", "/b/k?retention"),
        ("HEAD", "/b/k?uploadId=u"),
        ("GET", "/b?uploadId=u"),
        ("POST", "/b/k"),
        ("PATCH", "/b/k"),
        ("PATCH", "/b"),
        ("PUT", "/"),
        ("GET", "/?policy"),
    ],
)
def test_a_known_sub_resource_without_an_operation_for_the_method_is_not_allowed(method, target):
    assert refusal(method, target).code == "MethodNotAllowed"


def test_a_refused_method_names_the_allowed_ones():
    error = refusal("DELETE", "/b?acl")
    assert error.headers == {"allow": "GET, PUT"}
    assert error.details == {"Method": "DELETE", "ResourceType": "BUCKET"}


@pytest.mark.parametrize(
    ("method", "target"),
    [("PUT", "/b?frobnicate"), ("DELETE", "/b?frobnicate"), ("PUT", "/b/k?frobnicate"), ("DELETE", "/b/k?x&y=1")],
)
def test_an_unknown_bare_flag_never_creates_or_deletes(method, target):
    assert refusal(method, target).code == "NotImplemented"


def test_an_unknown_bare_flag_is_named():
    assert "'frobnicate'" in refusal("PUT", "/b?frobnicate").message


def test_an_unknown_bare_flag_does_not_disturb_a_read():
    assert operation("GET", "/b/k?frobnicate") == "GetObject"


def test_a_post_form_upload_is_named_as_not_implemented():
    error = refusal("POST", "/b")
    assert (error.code, error.status) == ("NotImplemented", 501)
    assert "POST form upload" in error.message


def test_a_part_without_its_upload_is_no_put():
    error = refusal("PUT", "/b/k?partNumber=1")
    assert (error.code, error.details["ArgumentName"]) == ("InvalidArgument", "uploadId")


def test_two_sub_resources_conflict():
    error = refusal("GET", "/b?acl&policy")
    assert (error.code, error.details["ArgumentName"]) == ("InvalidArgument", "ResourceType")


@pytest.mark.parametrize("value", ["1", "3", ""])
def test_only_list_type_2_exists(value):
    error = refusal("GET", f"/b?list-type={value}")
    assert (error.code, error.details["ArgumentName"]) == ("InvalidArgument", "list-type")


def test_the_scope_s3express_lists_directory_buckets():
    scope = {
        "authorization": "AWS4-HMAC-SHA256 Credential=A/20260101/us-east-1/s3express/aws4_request, SignedHeaders=host, Signature=0"
    }
    assert operation("GET", "/", scope) == "ListDirectoryBuckets"


def test_no_operation_of_the_model_is_out_of_reach():
    from atoll.aws_protocols.service_models import load

    alive = {name for name, op in load("s3").operations.items() if not op.deprecated}
    tables = S3._protocol._router._tables.values()
    reached = {
        c.operation for t in tables for methods in (t.plain, *t.subs.values()) for choices in methods.values() for c in choices
    }
    assert alive - reached == {"ListDirectoryBuckets", "WriteGetObjectResponse"}
