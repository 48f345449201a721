import asyncio

import pytest

from atoll.domain.api_call import Call, OperationOutput
from atoll.domain.caller import ANONYMOUS
from atoll.domain.errors import ApiError
from atoll.domain.http_message import EMPTY, Request
from atoll.gateway.bound_service import bind, call_operation


async def GetObject(deps, call, *, Bucket: str, Key: str, Range: str | None = None):
    return OperationOutput({"ETag": f"{deps}:{call.operation}:{Bucket}/{Key}"})


PART = bind("s3", {"GetObject": GetObject}, "here")


def call(operation):
    return Call("s3", operation, Request("GET", "/b/k", {}), ANONYMOUS, 0.0, "us-east-1", "1", "R", EMPTY, lambda a, r: None, lambda a, r: True)


def test_an_operation_is_run_with_its_collaborators_filled_in():
    output = asyncio.run(call_operation(PART, call("GetObject"), {"Bucket": "b", "Key": "k"}))
    assert output.members["ETag"] == "here:GetObject:b/k"


def test_an_operation_that_is_not_built_is_refused_by_its_name():
    with pytest.raises(ApiError) as caught:
        PART.operation("SelectObjectContent")
    assert (caught.value.code, caught.value.status) == ("NotImplemented", 501)
    assert "SelectObjectContent" in caught.value.message


def test_a_member_that_the_operation_does_not_take_is_refused_by_its_name():
    with pytest.raises(ApiError) as caught:
        PART.check_members("GetObject", {"Bucket": "b", "Key": "k", "SSECustomerKey": "x", "RequestPayer": "y"})
    assert caught.value.code == "NotImplemented"
    assert "RequestPayer of GetObject" in caught.value.message


def test_members_that_the_operation_takes_pass():
    PART.check_members("GetObject", {"Bucket": "b", "Key": "k", "Range": "bytes=0-1"})


def test_the_members_are_those_of_the_signature_without_the_collaborators():
    assert PART.members["GetObject"] == {"Bucket", "Key", "Range"}
