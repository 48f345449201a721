"""The protocols with one address: query (IAM, STS) and json (Global Accelerator, Transfer)."""

from datetime import UTC, datetime

import pytest

from atoll.aws_protocols.codec import codec
from atoll.domain.api_call import OperationOutput
from atoll.domain.errors import ApiError
from atoll.domain.http_message import EMPTY, Request

IAM = codec("iam")
STS = codec("sts")
FORM = b"Action=GetUser&Version=2010-05-08&UserName=ann"


def test_the_action_in_the_document_is_the_operation():
    assert IAM.route("POST", "/", "", {}, FORM).operation == "GetUser"


def test_the_action_in_the_query_of_a_get_is_the_operation():
    query = "Action=GetCallerIdentity&Version=2011-06-15&X-Amz-Algorithm=A&X-Amz-Signature=0"
    route = STS.route("GET", "/", query, {})
    assert route.operation == "GetCallerIdentity"
    assert STS.read(route, Request("GET", f"/?{query}", {}), b"", EMPTY) == {}


@pytest.mark.parametrize("form", [b"", b"Action=", b"Action=Nothing", b"Version=1", b"action=GetUser"])
def test_an_unknown_action_is_invalid(form):
    with pytest.raises(ApiError) as caught:
        IAM.route("POST", "/", "", {}, form)
    assert (caught.value.code, caught.value.status) == ("InvalidAction", 400)


def test_other_methods_are_not_allowed():
    with pytest.raises(ApiError, match="MethodNotAllowed"):
        IAM.route("PUT", "/", "", {}, FORM)


def test_a_form_is_read():
    route = IAM.route("POST", "/", "", {}, FORM)
    assert IAM.read(route, Request("POST", "/", {}), FORM, EMPTY) == {"UserName": "ann"}


def test_nothing_streams():
    assert not IAM.streams("GetUser")
    assert not codec("transfer").streams("CreateServer")


def test_a_result_stands_in_a_response():
    members = {
        "User": {
            "Path": "/",
            "UserName": "a&b",
            "CreateDate": datetime(2026, 1, 1, tzinfo=UTC),
            "Tags": [{"Key": "k", "Value": "v"}],
        }
    }
    response = IAM.write("GetUser", OperationOutput(members), "R1")
    assert response.body.small.decode() == (
        '<?xml version="1.0" encoding="UTF-8"?>\n<GetUserResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/"><GetUserResult>'
        "<User><Path>/</Path><UserName>a&amp;b</UserName><CreateDate>2026-01-01T00:00:00Z</CreateDate>"
        "<Tags><member><Key>k</Key><Value>v</Value></member></Tags></User></GetUserResult>"
        "<ResponseMetadata><RequestId>R1</RequestId></ResponseMetadata></GetUserResponse>"
    )
    assert (response.status, response.headers) == (200, {"content-type": "text/xml"})


def test_an_operation_without_output_has_no_result():
    assert (
        IAM.write("DeleteUser", OperationOutput(), "R1")
        .body.small.decode()
        .endswith(
            '<DeleteUserResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/">'
            "<ResponseMetadata><RequestId>R1</RequestId></ResponseMetadata></DeleteUserResponse>"
        )
    )


def test_an_empty_result_is_still_there():
    assert b"<ListUsersResult></ListUsersResult>" in IAM.write("ListUsers", OperationOutput(), "R1").body.small


TRANSFER = codec("transfer")


def test_a_header_names_the_operation_of_a_json_service():
    route = TRANSFER.route("POST", "/", "", {"x-amz-target": "TransferService.CreateServer"})
    assert route.operation == "CreateServer"
    assert TRANSFER.read(route, Request("POST", "/", {}), b'{"Protocols": ["SFTP"]}', EMPTY) == {"Protocols": ["SFTP"]}


@pytest.mark.parametrize("target", ["", "CreateServer", "Other.CreateServer", "TransferService.Nothing"])
def test_an_unknown_target_is_an_unknown_operation(target):
    with pytest.raises(ApiError, match="UnknownOperationException"):
        TRANSFER.route("POST", "/", "", {"x-amz-target": target})


def test_a_json_answer():
    response = TRANSFER.write("CreateServer", OperationOutput({"ServerId": "s-1"}))
    assert response.body.small == b'{"ServerId":"s-1"}'
    assert response.headers == {"content-type": "application/x-amz-json-1.1"}


def test_a_json_operation_without_output_answers_an_object():
    assert TRANSFER.write("DeleteServer", OperationOutput()).body.small == b"{}"
