"""Amazon Resource Names as values."""

from __future__ import annotations

from dataclasses import dataclass

from atoll.domain.errors import ApiError
from atoll.domain.resource_names import ACCOUNT, is_bucket_name


@dataclass(frozen=True, slots=True)
class Arn:
    """arn:partition:service:region:account:resource. Source: AWS General Reference, ARN format."""

    service: str
    region: str
    account: str
    resource: str
    partition: str = "aws"

    @classmethod
    def parse(cls, text: str) -> Arn:
        """Raises InvalidArgument for anything that has not six sections."""
        parts = text.split(":", 5)
        if len(parts) != 6 or parts[0] != "arn" or not parts[5]:
            raise ApiError("InvalidArgument", f"{text!r} is not an ARN.")
        return cls(parts[2], parts[3], parts[4], parts[5], parts[1])

    def __str__(self) -> str:
        return f"arn:{self.partition}:{self.service}:{self.region}:{self.account}:{self.resource}"


def bucket_arn(bucket: str) -> str:
    return f"arn:aws:s3:::{bucket}"


def object_arn(bucket: str, key: str) -> str:
    return f"arn:aws:s3:::{bucket}/{key}"


def bucket_of(arn: str) -> str:
    """The bucket's name in arn:aws:s3:::NAME. Raises InvalidArgument for another kind of ARN."""
    name = Arn.parse(arn).resource
    if arn != bucket_arn(name) or not is_bucket_name(name):
        raise ApiError("InvalidArgument", f"{arn!r} is not the ARN of a bucket.")
    return name


def account_in(arn: str) -> str:
    """The account that an ARN names, "" when it names none (buckets, AWS's own policies, patterns, and what is no ARN)."""
    fields = arn.split(":", 5)
    return fields[4] if len(fields) > 5 and ACCOUNT.fullmatch(fields[4]) else ""


def access_point_arn(account: str, alias: str) -> str:
    """ARN of a Multi-Region Access Point: no region, the alias, never the name."""
    return f"arn:aws:s3::{account}:accesspoint/{alias}"
