from datetime import UTC, datetime

import pytest

from atoll.services.s3control import output_members
from atoll.services.s3control.records import Failure, RequestRecord


def record(**changes):
    fields = {"arn": "arn", "account": "1", "verb": "create", "name": "demo", "parameters": {"Name": "demo"}, "created_ms": 1_500}
    return RequestRecord(**{**fields, **changes})


@pytest.mark.parametrize("status", ["NEW", "INPROGRESS"])
def test_a_request_tells_no_details_before_its_end(status):
    running = record(status=status, regions={"us-east-1": status}, failure=Failure("NoSuchBucket", "m", "demo", "R"))
    assert "ResponseDetails" not in output_members.request(running)


def test_a_request_that_succeeded_tells_of_each_region():
    found = output_members.request(record(status="SUCCEEDED", regions={"us-east-1": "SUCCEEDED"}))
    regions = [{"Name": "us-east-1", "RequestStatus": "SUCCEEDED"}]
    assert found["ResponseDetails"] == {"MultiRegionAccessPointDetails": {"Regions": regions}}


def test_a_request_that_failed_tells_why():
    found = output_members.request(record(status="FAILED", failure=Failure("NoSuchBucket", "None.", "demo", "R")))
    error = {"Code": "NoSuchBucket", "Message": "None.", "Resource": "demo", "RequestId": "R"}
    assert found["ResponseDetails"] == {"ErrorDetails": error}


@pytest.mark.parametrize(
    ("verb", "operation"),
    [
        ("create", "CreateMultiRegionAccessPoint"),
        ("delete", "DeleteMultiRegionAccessPoint"),
        ("put-policy", "PutMultiRegionAccessPointPolicy"),
    ],
)
def test_a_request_is_called_as_its_operation(verb, operation):
    found = output_members.request(record(verb=verb))
    assert found["Operation"] == operation
    assert found["RequestParameters"] == {f"{operation}Request": {"Name": "demo"}}


def test_times_are_exact_to_the_millisecond():
    assert output_members.time_of(1_796_067_480_208) == datetime(2026, 11, 30, 19, 38, 0, 208_000, tzinfo=UTC)
