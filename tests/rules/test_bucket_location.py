import pytest

from atoll.domain.errors import ApiError
from atoll.rules import bucket_location

REGIONS = ("us-east-1", "eu-west-1")


@pytest.mark.parametrize(
    ("constraint", "region_name", "region"),
    [
        (None, "us-east-1", "us-east-1"),
        ("", "us-east-1", "us-east-1"),
        ("eu-west-1", "us-east-1", "eu-west-1"),
        ("EU", "us-east-1", "eu-west-1"),
        ("EU", "eu-west-1", "eu-west-1"),
        ("eu-west-1", "eu-west-1", "eu-west-1"),
    ],
)
def test_where_a_bucket_is_born(constraint, region_name, region):
    assert bucket_location.resolve_region(constraint, region_name=region_name, regions=REGIONS) == region


@pytest.mark.parametrize(
    ("constraint", "region_name", "code"),
    [
        (None, "eu-west-1", "IllegalLocationConstraintException"),
        ("us-east-1", "eu-west-1", "IllegalLocationConstraintException"),
        ("mars-1", "eu-west-1", "IllegalLocationConstraintException"),
        ("us-east-1", "us-east-1", "InvalidLocationConstraint"),
        ("mars-1", "us-east-1", "InvalidLocationConstraint"),
    ],
)
def test_where_it_cannot_be(constraint, region_name, code):
    with pytest.raises(ApiError, match=code):
        bucket_location.resolve_region(constraint, region_name=region_name, regions=REGIONS)


def test_us_east_1_has_no_name_as_a_location():
    assert [bucket_location.location_constraint(region) for region in REGIONS] == ["", "eu-west-1"]
