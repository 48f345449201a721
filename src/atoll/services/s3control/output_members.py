"""S3 Control's records as output members."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from atoll.services.s3control.access_point_buckets import SWITCHES
from atoll.services.s3control.records import MrapRecord, RequestRecord, Verb

Members = Mapping[str, Any]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
OPERATION_OF: Mapping[Verb, str] = {
    "create": "CreateMultiRegionAccessPoint",
    "delete": "DeleteMultiRegionAccessPoint",
    "put-policy": "PutMultiRegionAccessPointPolicy",
}


def time_of(milliseconds: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=milliseconds)


def mrap(record: MrapRecord) -> Members:
    """MultiRegionAccessPointReport."""
    return {
        "Name": record.name,
        "Alias": record.alias,
        "CreatedAt": time_of(record.created_ms),
        "PublicAccessBlock": {member: getattr(record.block, field) for field, member in SWITCHES.items()},
        "Status": record.status,
        "Regions": [
            {"Bucket": bucket, "Region": region, "BucketAccountId": record.owners[region]}
            for region, bucket in record.members.items()
        ],
    }


def request(record: RequestRecord) -> Members:
    """AsyncOperation. It has no ResponseDetails before its end (mrap.md, section 3.1)."""
    operation = OPERATION_OF[record.verb]
    members = {
        "CreationTime": time_of(record.created_ms),
        "Operation": operation,
        "RequestTokenARN": record.arn,
        "RequestParameters": {f"{operation}Request": record.parameters},
        "RequestStatus": record.status,
    }
    details = _details(record) if record.status in ("SUCCEEDED", "FAILED") else {}
    return {**members, "ResponseDetails": details} if details else members


def _details(record: RequestRecord) -> Members:
    details: dict[str, Any] = {}
    if record.regions:
        regions = [{"Name": region, "RequestStatus": status} for region, status in record.regions.items()]
        details["MultiRegionAccessPointDetails"] = {"Regions": regions}
    if record.failure is not None:
        failure = record.failure
        details["ErrorDetails"] = {
            "Code": failure.code,
            "Message": failure.message,
            "Resource": failure.resource,
            "RequestId": failure.request_id,
        }
    return details
