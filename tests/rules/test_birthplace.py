import pytest

from atoll.domain.errors import ApiError
from atoll.rules import birthplace

REGIONS = ("us-east-1", "eu-west-1")


@pytest.mark.parametrize(
    ("constraint", "here", "region"),
    [
        (None, "us-east-1", "us-east-1"),
        ("", "us-east-1", "us-east-1"),
        ("eu-west-1", "us-east-1", "eu-west-1"),
        ("EU", "us-east-1", "eu-west-1"),
        ("EU", "eu-west-1", "eu-west-1"),
        ("eu-west-1", "eu-west-1", "eu-west-1"),
    ],
)
def test_where_a_bucket_is_born(constraint, here, region):
    assert birthplace.region(constraint, here=here, regions=REGIONS) == region


@pytest.mark.parametrize(
    ("constraint", "here", "code"),
    [
        (None, "eu-west-1", "IllegalLocationConstraintException"),
        ("us-east-1", "eu-west-1", "IllegalLocationConstraintException"),
        ("mars-1", "eu-west-1", "IllegalLocationConstraintException"),
        ("us-east-1", "us-east-1", "InvalidLocationConstraint"),
        ("mars-1", "us-east-1", "InvalidLocationConstraint"),
    ],
)
def test_where_it_cannot_be(constraint, here, code):
    with pytest.raises(ApiError, match=code):
        birthplace.region(constraint, here=here, regions=REGIONS)


def test_us_east_1_has_no_name_as_a_location():
    assert [birthplace.constraint_of(region) for region in REGIONS] == ["", "eu-west-1"]
