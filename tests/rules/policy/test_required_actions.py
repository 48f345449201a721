import pytest

from atoll.rules.policy.action_names import known_action
from atoll.rules.policy.required_actions import (
    RequiredAction,
    copy_tags_required_actions,
    delete_required_actions,
    required,
    source_required_action,
)
from atoll.rules.policy.required_actions_s3 import BUCKETS, OBJECTS

A = "111122223333"
BUCKET, OBJECT = "arn:aws:s3:::demo", "arn:aws:s3:::demo/a/b"
SOURCE = "arn:aws:s3:::src/k"


def required_actions(operation, params=None, service="s3", **more):
    found = required(service, operation, params or {}, bucket="demo", key="a/b", account=A, **more)
    return [(required_action.action, required_action.resource) for required_action in found]


@pytest.mark.parametrize(
    ("operation", "version", "action"),
    [
        ("GetObject", False, "GetObject"),
        ("GetObject", True, "GetObjectVersion"),
        ("HeadObject", False, "GetObject"),
        ("HeadObject", True, "GetObjectVersion"),
        ("GetObjectTagging", False, "GetObjectTagging"),
        ("GetObjectTagging", True, "GetObjectVersionTagging"),
        ("PutObjectTagging", True, "PutObjectVersionTagging"),
        ("DeleteObjectTagging", True, "DeleteObjectVersionTagging"),
        ("GetObjectAcl", True, "GetObjectVersionAcl"),
        ("PutObjectAcl", False, "PutObjectAcl"),
        ("PutObject", False, "PutObject"),
        ("CreateMultipartUpload", False, "PutObject"),
        ("UploadPart", False, "PutObject"),
        ("CompleteMultipartUpload", False, "PutObject"),
        ("AbortMultipartUpload", False, "AbortMultipartUpload"),
        ("ListParts", False, "ListMultipartUploadParts"),
        ("DeleteObject", False, "DeleteObject"),
        ("DeleteObject", True, "DeleteObjectVersion"),
        ("GetObjectRetention", False, "GetObjectRetention"),
        ("PutObjectRetention", False, "PutObjectRetention"),
        ("PutObjectLegalHold", False, "PutObjectLegalHold"),
        ("RestoreObject", False, "RestoreObject"),
        ("SelectObjectContent", False, "GetObject"),
    ],
)
def test_operations_on_an_object(operation, version, action):
    assert required_actions(operation, version=version) == [(f"s3:{action}", OBJECT)]


@pytest.mark.parametrize(
    ("operation", "action"),
    [
        ("HeadBucket", "ListBucket"),
        ("ListObjects", "ListBucket"),
        ("ListObjectsV2", "ListBucket"),
        ("ListObjectVersions", "ListBucketVersions"),
        ("ListMultipartUploads", "ListBucketMultipartUploads"),
        ("CreateBucket", "CreateBucket"),
        ("DeleteBucket", "DeleteBucket"),
        ("GetBucketLocation", "GetBucketLocation"),
        ("GetBucketCors", "GetBucketCORS"),
        ("DeleteBucketCors", "PutBucketCORS"),
        ("DeleteBucketTagging", "PutBucketTagging"),
        ("DeleteBucketLifecycle", "PutLifecycleConfiguration"),
        ("DeleteBucketEncryption", "PutEncryptionConfiguration"),
        ("DeleteBucketReplication", "PutReplicationConfiguration"),
        ("DeleteBucketOwnershipControls", "PutBucketOwnershipControls"),
        ("DeletePublicAccessBlock", "PutBucketPublicAccessBlock"),
        ("DeleteBucketPolicy", "DeleteBucketPolicy"),
        ("DeleteBucketWebsite", "DeleteBucketWebsite"),
        ("GetBucketPolicyStatus", "GetBucketPolicyStatus"),
        ("PutBucketReplication", "PutReplicationConfiguration"),
        ("PutBucketLifecycleConfiguration", "PutLifecycleConfiguration"),
        ("GetBucketNotificationConfiguration", "GetBucketNotification"),
        ("GetObjectLockConfiguration", "GetBucketObjectLockConfiguration"),
        ("PutBucketAccelerateConfiguration", "PutAccelerateConfiguration"),
        ("ListBucketInventoryConfigurations", "GetInventoryConfiguration"),
        ("DeleteBucketMetricsConfiguration", "PutMetricsConfiguration"),
        ("PutBucketIntelligentTieringConfiguration", "PutIntelligentTieringConfiguration"),
    ],
)
def test_operations_on_a_bucket(operation, action):
    assert required_actions(operation) == [(f"s3:{action}", BUCKET)]


@pytest.mark.parametrize(
    ("params", "headers", "extra"),
    [
        ({"Tagging": "a=b"}, {}, ["PutObjectTagging"]),
        ({}, {"x-amz-tagging": "a=b"}, ["PutObjectTagging"]),
        ({"ACL": "private"}, {}, ["PutObjectAcl"]),
        ({}, {"x-amz-grant-read": "id=1"}, ["PutObjectAcl"]),
        ({"ObjectLockMode": "GOVERNANCE", "ObjectLockRetainUntilDate": "x"}, {}, ["PutObjectRetention"]),
        ({"ObjectLockLegalHoldStatus": "ON"}, {}, ["PutObjectLegalHold"]),
        ({"Tagging": "a=b", "ACL": "private"}, {}, ["PutObjectTagging", "PutObjectAcl"]),
        ({}, {"x-amz-meta-a": "b"}, []),
    ],
    ids=str,
)
@pytest.mark.parametrize("operation", ["PutObject", "CreateMultipartUpload", "CopyObject"])
def test_a_write_needs_more_for_what_it_brings(operation, params, headers, extra):
    assert required_actions(operation, params, headers=headers) == [(f"s3:{name}", OBJECT) for name in ["PutObject", *extra]]


def test_a_part_needs_nothing_for_headers():
    assert required_actions("UploadPart", headers={"x-amz-tagging": "a=b"}) == [("s3:PutObject", OBJECT)]


@pytest.mark.parametrize("operation", ["CopyObject", "UploadPartCopy"])
@pytest.mark.parametrize(("version", "read"), [("", "s3:GetObject"), ("v1", "s3:GetObjectVersion")])
def test_a_copy_reads_its_source(operation, version, read):
    assert required_actions(operation, source=("src", "k", version)) == [(read, SOURCE), ("s3:PutObject", OBJECT)]


def test_a_rename_takes_its_source_away():
    assert [action for action, _ in required_actions("RenameObject", source=("src", "k", ""))] == ["s3:GetObject", "s3:DeleteObject", "s3:PutObject"]


@pytest.mark.parametrize(
    ("params", "headers"),
    [({"BypassGovernanceRetention": True}, {}), ({}, {"x-amz-bypass-governance-retention": "TRUE"})],
    ids=["as member", "as header"],
)
@pytest.mark.parametrize(("operation", "first"), [("DeleteObject", "s3:DeleteObject"), ("PutObjectRetention", "s3:PutObjectRetention")])
def test_bypassing_governance_is_a_permission_of_its_own(operation, first, params, headers):
    assert required_actions(operation, params, headers=headers) == [(first, OBJECT), ("s3:BypassGovernanceRetention", OBJECT)]


def test_a_bypass_that_is_false_needs_nothing():
    assert required_actions("DeleteObject", {"BypassGovernanceRetention": False}) == [("s3:DeleteObject", OBJECT)]


def test_deleting_many_asks_per_key():
    assert required_actions("DeleteObjects") == []
    assert delete_required_actions("demo", "a/b", version=True, bypass=True) == (
        RequiredAction("s3:DeleteObjectVersion", OBJECT),
        RequiredAction("s3:BypassGovernanceRetention", OBJECT),
    )


@pytest.mark.parametrize(("version", "suffix"), [(False, ""), (True, "Version")])
def test_attributes_need_two_actions(version, suffix):
    assert required_actions("GetObjectAttributes", version=version) == [
        (f"s3:GetObject{suffix}", OBJECT),
        (f"s3:GetObject{suffix}Attributes", OBJECT),
    ]


@pytest.mark.parametrize(
    ("params", "extra"),
    [
        ({"ACL": "private"}, ["PutBucketAcl"]),
        ({"ObjectLockEnabledForBucket": True}, ["PutBucketObjectLockConfiguration", "PutBucketVersioning"]),
        ({"ObjectLockEnabledForBucket": False}, []),
        ({"ObjectOwnership": "BucketOwnerEnforced"}, ["PutBucketOwnershipControls"]),
    ],
    ids=str,
)
def test_creating_a_bucket_needs_more_for_what_it_brings(params, extra):
    assert required_actions("CreateBucket", params) == [(f"s3:{name}", BUCKET) for name in ["CreateBucket", *extra]]


def test_listing_buckets_needs_an_action_without_resource():
    assert required_actions("ListBuckets") == [("s3:ListAllMyBuckets", "*")]


@pytest.mark.parametrize(
    ("service", "operation", "expected"),
    [("s3", "WriteGetObjectResponse", "s3:WriteGetObjectResponse"), ("lambda", "Invoke", "lambda:Invoke"), ("s3control", "ListJobs", "s3:ListJobs")],
)
def test_an_operation_in_no_table_needs_the_action_of_its_name(service, operation, expected):
    assert required_actions(operation, service=service) == [(expected, "*")]


def test_every_action_of_the_tables_exists():
    named = {*BUCKETS.values(), *(action for pair in OBJECTS.values() for action in pair)}
    assert [name for name in sorted(named) if not known_action(name)] == []


def test_reading_the_source_of_a_copy():
    assert source_required_action(("src", "k", "")) == RequiredAction("s3:GetObject", SOURCE)
    assert source_required_action(("src", "k", "v")) == RequiredAction("s3:GetObjectVersion", SOURCE)


@pytest.mark.parametrize(("version", "read"), [("", "s3:GetObjectTagging"), ("v", "s3:GetObjectVersionTagging")])
def test_copying_tags_reads_and_writes_them(version, read):
    assert copy_tags_required_actions(("src", "k", version), "demo", "a/b") == (RequiredAction(read, SOURCE), RequiredAction("s3:PutObjectTagging", OBJECT))
