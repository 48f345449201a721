import pytest

from atoll.domain.caller import ANONYMOUS, Caller
from atoll.domain.errors import ApiError
from atoll.rules.temporary_credential_restrictions import check_session, of_session_token

A = "111122223333"
SHORT = [Caller("user", A, access_key="ASIAAAAAAAAAAAAAAAAA"), Caller("root", A, access_key="ASIAAAAAAAAAAAAAAAAA")]
OTHERS = [
    Caller("user", A, access_key="AKIAAAAAAAAAAAAAAAAA"), Caller("root", A, access_key="AKIAAAAAAAAAAAAAAAAA"), ANONYMOUS,
    Caller("role", A, access_key="ASIAAAAAAAAAAAAAAAAA"), Caller("service", A, service="s3.amazonaws.com"),
]  # fmt: skip


@pytest.mark.parametrize("caller", SHORT, ids=lambda caller: caller.kind)
def test_a_session_without_mfa_calls_nothing_of_iam_and_two_operations_of_sts(caller):
    assert of_session_token(caller)
    for service, operation in (("iam", "CreateAccessKey"), ("iam", "GetUser"), ("sts", "GetSessionToken"), ("sts", "GetFederationToken")):
        with pytest.raises(ApiError) as caught:
            check_session(caller, service, operation)
        assert (caught.value.code, caught.value.status) == ("AccessDenied", 403)
    for service, operation in (("sts", "AssumeRole"), ("sts", "GetCallerIdentity"), ("s3", "PutObject"), ("s3control", "GetPublicAccessBlock")):
        check_session(caller, service, operation)


@pytest.mark.parametrize("caller", OTHERS, ids=lambda caller: f"{caller.kind} {caller.access_key[:4]}")
def test_nobody_else_is_held_back_here(caller):
    assert not of_session_token(caller)
    check_session(caller, "iam", "CreateAccessKey")
    check_session(caller, "sts", "GetSessionToken")
