from datetime import UTC, datetime

import pytest

from atoll.domain.caller import ANONYMOUS, Authentication, Caller, ForwardedContext
from atoll.domain.http_message import Request
from atoll.rules.policy.context import Overlay, request_context

A = "111122223333"
NOW = 1_767_225_600.5  # 2026-01-01T00:00:00.5Z
USER = Caller("user", A, f"arn:aws:iam::{A}:user/ann", "AIDAANN", "ann", tags={"Team": "sea"})
SESSION = Caller(
    "role", A, f"arn:aws:sts::{A}:assumed-role/r/s", "AROAR:s", "r", role_arn=f"arn:aws:iam::{A}:role/r", tags={"Team": "air"}
)
ROOT = Caller("root", A, f"arn:aws:iam::{A}:root", A)
SERVICE = Caller("service", service="cloudfront.amazonaws.com", source_arn=f"arn:aws:cloudfront::{A}:distribution/E1")
POINT = f"arn:aws:s3::{A}:accesspoint/m.mrap"


def context(params=None, operation="GetObject", caller=USER, headers=None, authentication=None, forwarded=None, secure=True, **more):
    return request_context(
        request=Request("GET", "/demo/k", headers or {}, peer="203.0.113.7", secure=secure, forwarded=forwarded),
        caller=caller,
        authentication=authentication or Authentication(),
        now=NOW,
        region="eu-west-1",
        resource_account=A,
        params=params or {},
        operation=operation,
        **more,
    )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("aws:sourceip", "203.0.113.7"),
        ("aws:securetransport", "true"),
        ("aws:currenttime", "2026-01-01T00:00:00Z"),
        ("aws:epochtime", "1767225600"),
        ("aws:useragent", "curl"),
        ("aws:referer", "https://example.com/"),
        ("aws:requestedregion", "eu-west-1"),
        ("aws:resourceaccount", A),
        ("s3:resourceaccount", A),
        ("s3:authtype", "REST-QUERY-STRING"),
        ("s3:signatureversion", "AWS4-HMAC-SHA256"),
        ("s3:signatureage", "600000"),
        ("s3:x-amz-content-sha256", "UNSIGNED-PAYLOAD"),
        ("s3:tlsversion", "1.2"),
        ("s3:x-amz-anything-else", "x"),
        ("s3:prefix", None),
        ("s3:delimiter", None),
        ("s3:max-keys", None),
        ("s3:versionid", None),
        ("aws:sourcearn", None),
        ("aws:principalorgid", None),
        ("s3:dataaccesspointarn", None),
        ("s3:accesspointnetworkorigin", None),
        ("no:such", None),
        ("no:such/tag", None),
    ],
)
def test_what_every_request_tells(key, value):
    found = context(
        headers={"user-agent": "curl", "referer": "https://example.com/", "x-amz-anything-else": "x"},
        authentication=Authentication("REST-QUERY-STRING", "AWS4-HMAC-SHA256", 600_000, "UNSIGNED-PAYLOAD"),
    )
    assert found.get(key) == value


@pytest.mark.parametrize(
    ("caller", "key", "value"),
    [
        (USER, "aws:principalarn", USER.arn),
        (USER, "aws:principalaccount", A),
        (USER, "aws:principaltype", "User"),
        (USER, "aws:username", "ann"),
        (USER, "aws:userid", "AIDAANN"),
        (USER, "aws:principaltag/team", "sea"),
        (USER, "aws:principalisawsservice", "false"),
        (SESSION, "aws:principalarn", SESSION.role_arn),
        (SESSION, "aws:principaltype", "AssumedRole"),
        (SESSION, "aws:username", None),
        (SESSION, "aws:userid", "AROAR:s"),
        (ROOT, "aws:principalarn", ROOT.arn),
        (ROOT, "aws:principaltype", "Account"),
        (ROOT, "aws:userid", A),
        (ROOT, "aws:username", None),
        (ANONYMOUS, "aws:principalarn", None),
        (ANONYMOUS, "aws:principalaccount", None),
        (ANONYMOUS, "aws:principaltype", "Anonymous"),
        (ANONYMOUS, "aws:userid", "anonymous"),
        (ANONYMOUS, "aws:principalisawsservice", None),
        (SERVICE, "aws:sourcearn", SERVICE.source_arn),
        (SERVICE, "aws:sourceaccount", A),
        (SERVICE, "aws:principalservicename", "cloudfront.amazonaws.com"),
        (SERVICE, "aws:principalisawsservice", "true"),
        (SERVICE, "aws:principaltype", None),
        (SERVICE, "aws:userid", None),
    ],
)
def test_what_is_known_of_the_caller(caller, key, value):
    assert context(caller=caller).get(key) == value


def test_principal_tags_can_be_given():
    assert context(principal_tags={"Team": "sky"}).get("aws:principaltag/team") == "sky"


@pytest.mark.parametrize(
    ("params", "operation", "key", "value"),
    [
        ({"Prefix": "a/"}, "ListObjectsV2", "s3:prefix", "a/"),
        ({"Prefix": ""}, "ListObjectsV2", "s3:prefix", ""),
        ({"MaxKeys": 10}, "ListObjectsV2", "s3:max-keys", "10"),
        ({"Delimiter": "/"}, "ListObjectsV2", "s3:delimiter", "/"),
        ({"VersionId": "v1"}, "GetObject", "s3:versionid", "v1"),
        ({"ACL": "private"}, "PutObject", "s3:x-amz-acl", "private"),
        ({"GrantRead": "id=1"}, "PutObject", "s3:x-amz-grant-read", "id=1"),
        ({"MetadataDirective": "COPY"}, "CopyObject", "s3:x-amz-metadata-directive", "COPY"),
        ({"ServerSideEncryption": "AES256"}, "PutObject", "s3:x-amz-server-side-encryption", "AES256"),
        ({"SSEKMSKeyId": "k"}, "PutObject", "s3:x-amz-server-side-encryption-aws-kms-key-id", "k"),
        ({"StorageClass": "STANDARD"}, "PutObject", "s3:x-amz-storage-class", "STANDARD"),
        ({"ObjectOwnership": "ObjectWriter"}, "CreateBucket", "s3:x-amz-object-ownership", "ObjectWriter"),
        ({"IfNoneMatch": "*"}, "PutObject", "s3:if-none-match", "*"),
        ({"IfMatch": '"e"'}, "PutObject", "s3:if-match", '"e"'),
        ({"CopySource": "src/a%20b?versionId=v"}, "CopyObject", "s3:x-amz-copy-source", ("src/a b?versionId=v", "/src/a b?versionId=v")),
        ({"CopySource": "/src/k"}, "CopyObject", "s3:x-amz-copy-source", ("src/k", "/src/k")),
        ({}, "PutObject", "s3:x-amz-copy-source", None),
        ({}, "PutObject", "s3:objectcreationoperation", "true"),
        ({}, "CompleteMultipartUpload", "s3:objectcreationoperation", "true"),
        ({}, "UploadPart", "s3:objectcreationoperation", "false"),
        ({}, "GetObject", "s3:objectcreationoperation", None),
        ({"CreateBucketConfiguration": {"LocationConstraint": "eu-west-1"}}, "CreateBucket", "s3:locationconstraint", "eu-west-1"),
        ({}, "CreateBucket", "s3:locationconstraint", None),
        ({"ObjectLockMode": "GOVERNANCE"}, "PutObject", "s3:object-lock-mode", "GOVERNANCE"),
        ({"Retention": {"Mode": "COMPLIANCE"}}, "PutObjectRetention", "s3:object-lock-mode", "COMPLIANCE"),
        ({"LegalHold": {"Status": "ON"}}, "PutObjectLegalHold", "s3:object-lock-legal-hold", "ON"),
        ({"ObjectLockRetainUntilDate": datetime(2026, 1, 11, 1, tzinfo=UTC)}, "PutObject", "s3:object-lock-retain-until-date", "2026-01-11T01:00:00Z"),
        ({"ObjectLockRetainUntilDate": "2026-01-11T01:00:00Z"}, "PutObject", "s3:object-lock-remaining-retention-days", "10"),
        ({"ObjectLockRetainUntilDate": "2026-01-11"}, "PutObject", "s3:object-lock-remaining-retention-days", "9"),
        ({"ObjectLockRetainUntilDate": "soon"}, "PutObject", "s3:object-lock-remaining-retention-days", None),
        ({}, "PutObject", "s3:object-lock-remaining-retention-days", None),
        ({"Tagging": "a=1&b=2"}, "PutObject", "s3:requestobjecttag/a", "1"),
        ({"Tagging": "a=1&b="}, "PutObject", "s3:requestobjecttagkeys", ("a", "b")),
        ({"Tagging": {"TagSet": [{"Key": "a", "Value": "1"}]}}, "PutObjectTagging", "s3:requestobjecttag/a", "1"),
        ({"Tags": [{"Key": "Team", "Value": "x"}]}, "CreateUser", "aws:requesttag/team", "x"),
        ({"Tags": [{"Key": "Team", "Value": "x"}]}, "CreateUser", "aws:tagkeys", ("Team",)),
        ({}, "PutObject", "s3:requestobjecttagkeys", None),
        ({"BypassGovernanceRetention": True}, "DeleteObject", "s3:prefix", None),
    ],
    ids=str,
)  # fmt: skip
def test_what_the_members_of_the_call_tell(params, operation, key, value):
    assert context(params, operation).get(key) == value


def test_tags_of_a_header_count_as_well():
    assert context(headers={"x-amz-tagging": "a=1"}).get("s3:requestobjecttag/a") == "1"


@pytest.mark.parametrize(
    ("tags", "value"),
    [({"Team": "sea"}, "sea"), ({"team": "a", "Team": "b"}, ("a", "b")), ({}, None), (None, None)],
    ids=["one", "two that differ in case", "none", "not read"],
)
def test_tags_of_the_object(tags, value):
    assert context(existing_tags=tags).get("s3:existingobjecttag/team") == value


def test_what_an_access_point_adds():
    found = context(access_point=POINT, access_point_account=A)
    keys = ("s3:dataaccesspointarn", "s3:dataaccesspointaccount", "s3:accesspointnetworkorigin")
    assert [found.get(key) for key in keys] == [POINT, A, "Internet"]


def test_a_process_that_took_the_request_vouches_for_the_client():
    found = context(forwarded=ForwardedContext("198.51.100.9", secure=False))
    assert (found.get("aws:sourceip"), found.get("aws:securetransport"), found.get("s3:tlsversion")) == ("198.51.100.9", "false", None)


def test_plain_http_is_said_to_be_so():
    assert context(secure=False).get("aws:securetransport") == "false"


def test_an_overlay_replaces_and_removes_keys():
    found = Overlay(context(existing_tags={"a": "1"}), {"s3:prefix": "k", "s3:existingobjecttag/a": None})
    assert (found.get("s3:prefix"), found.get("s3:existingobjecttag/a"), found.get("aws:username")) == ("k", None, "ann")
