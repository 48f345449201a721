from __future__ import annotations

import pytest

from atoll.domain.errors import ApiError
from atoll.domain.http_message import Request
from atoll.rules import presigned_url
from atoll.rules.signature_verification import KeyCache, check_signed_headers, check_time, parse_signature, verify
from atoll.rules.sigv4 import Credentials

CREDENTIALS = Credentials("AK", "SK", "to+ken/%25==&")


@pytest.mark.parametrize("target", ["/bucket/key", "/b/a%20b%2B?versionId=1%2F2&x-id=GetObject", "/?uploads"])
def test_a_url_that_we_make_is_good_for_its_request_alone(target):
    request = Request("GET", target, {"host": "s3.test:80"})
    made = presigned_url.presign(request, CREDENTIALS, region="us-east-1", now=1000, expires_s=60)
    later = Request("GET", made, {"host": "s3.test:80", "user-agent": "curl"})
    request_signature = parse_signature(later)
    check_time(request_signature, 1060)
    check_signed_headers(request_signature, later)
    verify(request_signature, later, "SK", keys=KeyCache())
    assert (request_signature.token, request_signature.expires_s, request_signature.region) == (CREDENTIALS.token, 60, "us-east-1")
    with pytest.raises(ApiError, match="SignatureDoesNotMatch"):
        verify(request_signature, Request("PUT", made, later.headers), "SK", keys=KeyCache())


def test_members_are_decoded_and_repeated_names_are_told():
    members, repeated = presigned_url.members("a=1&b=%2B+&a=2&c")
    assert (members, repeated) == ({"a": "1", "b": "++", "c": ""}, frozenset({"a"}))
