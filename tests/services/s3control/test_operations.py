import pytest

from atoll.aws_protocols.api_coverage import coverage
from atoll.services.s3control.operations import OPERATIONS

POINT_OPERATIONS = [row for row in coverage("s3control", OPERATIONS) if "MultiRegionAccessPoint" in row.operation]


def test_all_ten_operations_of_access_points_are_there():
    assert all(row.built for row in POINT_OPERATIONS)
    assert len(POINT_OPERATIONS) == 10


def test_the_three_operations_of_an_accounts_public_access_block_are_there():
    built = {row.operation: row.refused for row in coverage("s3control", OPERATIONS) if row.operation.endswith("PublicAccessBlock")}
    assert built == {"DeletePublicAccessBlock": (), "GetPublicAccessBlock": (), "PutPublicAccessBlock": ()}


@pytest.mark.parametrize("row", POINT_OPERATIONS, ids=lambda row: row.operation)
def test_no_member_of_theirs_is_refused(row):
    assert row.refused == ()


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_an_operation_is_called_as_aws_calls_it(name):
    assert OPERATIONS[name].__name__ == name
