from dataclasses import dataclass
from urllib.parse import quote

import pytest

from atoll.domain.caller import Caller
from atoll.domain.errors import ApiError
from atoll.domain.http_message import Request
from atoll.gateway.authenticate import UNAUTHENTICATED, Authenticate
from atoll.rules import presigned_url, sigv2
from atoll.rules.endpoint_hostnames import named, scope_of
from atoll.rules.signature_verification import KeyCache
from atoll.rules.sigv4 import Credentials
from gateway.pipeline_setup import signed

NOW = 1_796_057_906.0
ADA = Credentials("AKIDEXAMPLE0000000AA", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
CALLER = Caller("user", "111122223333", "arn:aws:iam::111122223333:user/ada", "AIDA", "ada")


@dataclass(frozen=True)
class Key:
    secret: str = ADA.secret
    token: str = ""
    caller: Caller = CALLER
    active: bool = True
    expires: float = 0.0


class Ring:
    """The keys of a world: one."""

    def __init__(self, key):
        self.held = key

    def key(self, access_key, token, now):
        return self.held if access_key == ADA.access_key else None


def authenticate(request, key=Key(), *, region="us-east-1", now=NOW, **more):
    name = named(request.headers["host"], request.path, scope_of(request.headers.get("authorization", ""), request.query))
    return Authenticate(Ring(key), KeyCache())(request, name, region=region, now=now, **more)


def request(method="GET", target="/b/k", host="127.0.0.1", **headers):
    return Request(method, target, {"host": host, **headers})


def refused(*arguments, **more):
    with pytest.raises(ApiError) as caught:
        authenticate(*arguments, **more)
    return caught.value


def test_a_request_without_a_signature_is_nobody():
    assert authenticate(request()) is UNAUTHENTICATED
    assert UNAUTHENTICATED.caller.kind == "anonymous"


@pytest.mark.parametrize(("how", "algorithm"), [("v4", "AWS4-HMAC-SHA256"), ("v4a", "AWS4-ECDSA-P256-SHA256")])
def test_a_signature_tells_who_asks_and_how_it_was_proved(how, algorithm):
    known = authenticate(signed(request(), ADA, how, now=NOW))
    assert known.caller == CALLER
    assert (known.authentication.auth_type, known.authentication.version, known.authentication.age_ms) == ("REST-HEADER", algorithm, None)
    assert len(known.authentication.content_sha256) == 64
    assert known.secret == ADA.secret


def test_a_presigned_url_tells_its_age():
    target = presigned_url.presign(request(), ADA, region="us-east-1", now=NOW - 2, expires_s=60)
    known = authenticate(request(target=target))
    assert (known.authentication.auth_type, known.authentication.age_ms) == ("REST-QUERY-STRING", 2000)


def test_an_old_presigned_url_in_sigv2_is_good_and_has_no_age():
    bare = request()
    made = sigv2.signature(ADA.secret, sigv2.string_to_sign(bare, str(int(NOW) + 60), bucket="b", virtual=False))
    query = f"AWSAccessKeyId={ADA.access_key}&Expires={int(NOW) + 60}&Signature={made.replace('+', '%2B').replace('/', '%2F').replace('=', '%3D')}"
    known = authenticate(request(target=f"/b/k?{query}"))
    assert (known.caller, known.authentication.version, known.authentication.age_ms) == (CALLER, "AWS", None)


@pytest.mark.parametrize(("compat", "good"), [("lenient", True), ("strict", False)])
def test_a_sigv2_url_that_lives_for_more_than_a_week_is_good_in_a_lenient_world_alone(compat, good):
    bare, end = request(), int(NOW) + 604_801
    made = sigv2.signature(ADA.secret, sigv2.string_to_sign(bare, str(end), bucket="b", virtual=False))
    old = request(target=f"{bare.target}?AWSAccessKeyId={ADA.access_key}&Expires={end}&Signature={quote(made, safe='')}")
    ask = Authenticate(Ring(Key()), KeyCache(), compat)
    if good:
        assert ask(old, named("127.0.0.1", old.path, None), region="us-east-1", now=NOW).caller == CALLER
    else:
        with pytest.raises(ApiError, match="more than a week"):
            ask(old, named("127.0.0.1", old.path, None), region="us-east-1", now=NOW)


def test_an_unknown_key_is_said_in_the_words_of_the_service():
    stranger = Credentials("AKIDSTRANGER00000000", "x" * 40)
    assert refused(signed(request(), stranger, now=NOW)).code == "InvalidAccessKeyId"
    assert refused(signed(request("POST", "/"), stranger, now=NOW, service="iam")).code == "InvalidClientTokenId"


def test_a_key_that_was_switched_off_is_as_unknown_as_any():
    assert refused(signed(request(), ADA, now=NOW), Key(active=False)).code == "InvalidAccessKeyId"


def test_the_wrong_secret_does_not_match():
    assert refused(signed(request(), Credentials(ADA.access_key, "wrong"), now=NOW)).code == "SignatureDoesNotMatch"


def test_a_token_that_is_not_the_keys_own_is_refused():
    request_with_token = signed(request(), Credentials(ADA.access_key, ADA.secret, "other"), now=NOW)
    assert refused(request_with_token, Key(token="mine")).code == "InvalidToken"
    assert refused(signed(request(), ADA, now=NOW), Key(token="mine")).code == "InvalidToken"


def test_temporary_credentials_end_on_the_second():
    lent = Key(token="mine", expires=NOW)
    asked = signed(request(), Credentials(ADA.access_key, ADA.secret, "mine"), now=NOW - 1)
    assert authenticate(asked, lent, now=NOW - 1).caller == CALLER
    assert refused(asked, lent, now=NOW).code == "ExpiredToken"


def test_a_clock_that_is_off_by_more_than_a_quarter_of_an_hour_is_refused():
    assert refused(signed(request(), ADA, now=NOW - 901)).code == "RequestTimeTooSkewed"
    assert authenticate(signed(request(), ADA, now=NOW - 899)).caller == CALLER


def test_a_header_that_arrived_unsigned_is_refused():
    asked = signed(request(), ADA, now=NOW)
    asked.headers = {**asked.headers, "x-amz-acl": "public-read"}
    assert refused(asked).details["HeadersNotSigned"] == "x-amz-acl"


def test_s3_wants_its_own_region_and_says_which():
    refusal = refused(signed(request(), ADA, now=NOW, region="eu-central-1"))
    assert (refusal.code, refusal.details["Region"]) == ("AuthorizationHeaderMalformed", "us-east-1")


def test_where_no_region_is_expected_any_will_do():
    assert authenticate(signed(request(), ADA, now=NOW, region="eu-central-1"), region="").caller == CALLER


def test_control_operations_are_answered_in_whichever_region_is_left():
    asked = signed(request("POST", "/"), ADA, now=NOW, service="iam", region="mars-north-1")
    assert authenticate(asked).caller == CALLER


def test_the_body_of_a_query_call_is_under_its_signature():
    asked = signed(request("POST", "/"), ADA, now=NOW, service="sts", payload="a" * 64)
    assert authenticate(asked, body_sha256="a" * 64).caller == CALLER
    assert refused(asked, body_sha256="b" * 64).code == "SignatureDoesNotMatch"


@pytest.mark.parametrize("service", ["iam", "sts", "lambda", "s3control"])
def test_a_signature_for_another_service_does_not_open_s3(service):
    stray = signed(request(host="b.s3.us-east-1.amazonaws.com", target="/k"), ADA, now=NOW, service=service, payload="UNSIGNED-PAYLOAD")
    headers = {**stray.headers, "x-amz-content-sha256": "UNSIGNED-PAYLOAD"}
    assert refused(Request("GET", "/k", headers)).code == "AuthorizationHeaderMalformed"


def test_a_signature_for_s3_does_not_open_iam():
    assert refused(signed(request("POST", "/", host="iam.amazonaws.com"), ADA, now=NOW)).code == "SignatureDoesNotMatch"


def test_an_old_url_does_not_open_s3_control():
    bare = request(host="s3-control.us-east-1.amazonaws.com", target="/v20180820/mrap/instances")
    target = f"{bare.target}?AWSAccessKeyId={ADA.access_key}&Expires={int(NOW) + 60}&Signature=x"
    assert refused(Request("GET", target, bare.headers)).code == "InvalidRequest"
