"""The region of a new bucket, from LocationConstraint."""

from __future__ import annotations

from collections.abc import Collection

from atoll.domain.errors import ApiError

CLASSIC = "us-east-1"  # the region that needs, and takes, no LocationConstraint
_LEGACY = {"EU": "eu-west-1"}  # S3 API: BucketLocationConstraint


def resolve_region(constraint: str | None, *, region_name: str, regions: Collection[str]) -> str:
    """The region that CreateBucket at the endpoint of `region_name` asks for.

    us-east-1 creates everywhere, the others only at home. Raises IllegalLocationConstraintException,
    InvalidLocationConstraint. Source: s3.md section 12.
    """
    if not constraint:
        if region_name != CLASSIC:
            raise _illegal_constraint("unspecified")
        return region_name
    wanted = _LEGACY.get(constraint, constraint)
    if region_name not in (CLASSIC, wanted):
        raise _illegal_constraint(constraint)
    if wanted not in regions or (region_name == CLASSIC and wanted == CLASSIC):
        raise ApiError(
            "InvalidLocationConstraint",
            "The specified location-constraint is not valid",
            LocationConstraint=constraint,
        )
    return wanted


def _illegal_constraint(constraint: str) -> ApiError:
    return ApiError(
        "IllegalLocationConstraintException",
        f"The {constraint} location constraint is incompatible for the region specific endpoint this request was sent to.",
    )


def location_constraint(region: str) -> str:
    """What GetBucketLocation says: nothing for us-east-1."""
    return "" if region == CLASSIC else region
