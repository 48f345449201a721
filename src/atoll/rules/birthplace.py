"""In which region is a new bucket born?"""

from __future__ import annotations

from collections.abc import Collection

from atoll.domain.errors import ApiError

CLASSIC = "us-east-1"  # the region that needs, and takes, no LocationConstraint
_LEGACY = {"EU": "eu-west-1"}  # S3 API: BucketLocationConstraint


def region(constraint: str | None, *, here: str, regions: Collection[str]) -> str:
    """The region that CreateBucket at the endpoint of `here` asks for.

    us-east-1 creates everywhere, the others only at home. Raises IllegalLocationConstraintException,
    InvalidLocationConstraint. Source: s3.md section 12.
    """
    if not constraint:
        if here != CLASSIC:
            raise _illegal("unspecified")
        return here
    wanted = _LEGACY.get(constraint, constraint)
    if here not in (CLASSIC, wanted):
        raise _illegal(constraint)
    if wanted not in regions or (here == CLASSIC and wanted == CLASSIC):
        raise ApiError(
            "InvalidLocationConstraint",
            "The specified location-constraint is not valid",
            LocationConstraint=constraint,
        )
    return wanted


def _illegal(constraint: str) -> ApiError:
    return ApiError(
        "IllegalLocationConstraintException",
        f"The {constraint} location constraint is incompatible for the region specific endpoint this request was sent to.",
    )


def constraint_of(region: str) -> str:
    """What GetBucketLocation says: nothing for us-east-1."""
    return "" if region == CLASSIC else region
