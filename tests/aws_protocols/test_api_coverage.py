import pytest

from atoll.aws_protocols.api_coverage import Row, coverage, markdown, signature_members


async def HeadBucket(here, call, *, Bucket, ExpectedBucketOwner=None):
    """A whole operation."""


async def ListBuckets(here, call, *, Prefix=None):
    """Half an operation."""


def rows():
    return {row.operation: row for row in coverage("s3", {"HeadBucket": HeadBucket, "ListBuckets": ListBuckets})}


def test_keyword_parameters_are_the_members_taken():
    assert signature_members(HeadBucket) == {"Bucket", "ExpectedBucketOwner"}


def test_every_operation_of_the_model_has_a_row():
    assert len(rows()) == 116


def test_a_whole_operation_refuses_nothing():
    assert rows()["HeadBucket"] == Row("s3", "HeadBucket", True, False, ("Bucket", "ExpectedBucketOwner"), ())


def test_what_a_signature_lacks_is_refused():
    row = rows()["ListBuckets"]
    assert (row.taken, row.refused) == (("Prefix",), ("BucketRegion", "ContinuationToken", "MaxBuckets"))


def test_what_is_not_built_has_no_members():
    assert rows()["GetObject"] == Row("s3", "GetObject", False, False, (), ())


def test_an_operation_that_aws_does_not_have_is_an_error():
    with pytest.raises(LookupError, match="HeadBuckets"):
        coverage("s3", {"HeadBuckets": HeadBucket})


def test_a_member_that_aws_does_not_have_is_an_error():
    with pytest.raises(LookupError, match="ExpectedBucketOwner"):
        coverage("s3", {"ListBuckets": HeadBucket})


def test_the_document_lists_services_operations_and_refused_members():
    text = markdown([*rows().values(), *coverage("sts", {})])
    assert text.startswith("# Coverage of AWS's APIs\n")
    assert "## s3: 2 of 116 operations" in text
    assert "| HeadBucket | all | - |" in text
    assert "| ListBuckets | 1 of 4 | BucketRegion, ContinuationToken, MaxBuckets |" in text
    assert (
        "Deprecated by AWS and not built: GetBucketLifecycle, GetBucketNotification, PutBucketLifecycle, PutBucketNotification."
        in text
    )
    assert "## sts: 0 of 12 operations" in text
    assert "Not built (12): AssumeRole" in text
    assert text.endswith("\n")
    assert "\n\n\n" not in text
