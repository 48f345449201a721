import inspect

import pytest

from atoll.aws_protocols.api_coverage import coverage
from atoll.services.s3.operations import OPERATIONS


def test_every_operation_is_the_function_of_its_name():
    assert {name: function.__name__ for name, function in OPERATIONS.items()} == {name: name for name in OPERATIONS}


def test_every_parameter_is_a_member_of_aws():
    assert {row.operation for row in coverage("s3", OPERATIONS) if row.built} == set(OPERATIONS)


@pytest.mark.parametrize("member", ["ServerSideEncryption", "SSECustomerKey", "SSEKMSKeyId", "ObjectLockMode", "WebsiteRedirectLocation"])
def test_what_is_not_built_is_not_taken(member):
    takers = [name for name, function in OPERATIONS.items() if member in inspect.signature(function).parameters]
    assert takers == []


@pytest.mark.parametrize("operation", ["PutBucketEncryption", "PutBucketLifecycleConfiguration", "PutBucketCors", "PutObjectRetention"])
def test_settings_without_effect_cannot_be_put(operation):
    assert operation not in OPERATIONS
