from __future__ import annotations

import pytest

from atoll.domain.errors import ApiError
from atoll.domain.http_message import Request
from atoll.rules import presigned_url, sigv2, sigv4, sigv4a
from atoll.rules.canonical_request import EMPTY_SHA256, canonical_headers, canonical_request, string_to_sign
from atoll.rules.signature_verification import KeyCache, check_region, check_signed_headers, check_time, parse_signature, verify

CREDENTIALS = sigv4.Credentials("AK", "SK")
NOW = 1_796_057_906
HOST = {"host": "s3.test:4566"}
WEEK = 604_800


def signed(target: str = "/b/k", *, service: str = "s3", region: str = "us-east-1", **headers: str) -> Request:
    request = Request("GET", target, {**HOST, **{name.replace("_", "-"): value for name, value in headers.items()}})
    payload = EMPTY_SHA256
    added = sigv4.sign(request, CREDENTIALS, region=region, now=NOW, payload=payload, service=service)
    return Request("GET", target, {**request.headers, **added})


def signed_v4a(region_set: str = "*") -> Request:
    request = Request("GET", "/k", HOST)
    added = sigv4a.sign(request, CREDENTIALS, now=NOW, payload=EMPTY_SHA256, region_set=region_set)
    return Request("GET", "/k", {**HOST, **added})


def url(*, expires_s: int = 600, region: str = "us-east-1") -> Request:
    return Request("GET", presigned_url.presign(Request("GET", "/b/k", HOST), CREDENTIALS, region=region, now=NOW, expires_s=expires_s), HOST)


def old_url(end: int = NOW + 600) -> Request:
    bare = Request("GET", "/b/k", HOST)
    signature = sigv2.signature("SK", sigv2.string_to_sign(bare, str(end), bucket="b", virtual=False))
    escaped = signature.replace("+", "%2B").replace("/", "%2F").replace("=", "%3D")
    return Request("GET", f"/b/k?AWSAccessKeyId=AK&Expires={end}&Signature={escaped}", HOST)


def timed(request: Request, now: float, **options: bool) -> ApiError:
    with pytest.raises(ApiError) as caught:
        check_time(parse_signature(request, s3=False), now, **options)
    return caught.value


def refused(request: Request, secret: str = "SK", **options: object) -> ApiError:
    with pytest.raises(ApiError) as caught:
        verify(parse_signature(request), request, secret, keys=KeyCache(), **options)
    return caught.value


@pytest.mark.parametrize("off", [-900, -899.5, 0, 900])
def test_step_5_a_clock_may_be_a_quarter_of_an_hour_off(off):
    check_time(parse_signature(signed()), NOW + off)


@pytest.mark.parametrize("off", [-901, 900.5, 86400])
def test_step_5_and_no_more(off):
    error = timed(signed(), NOW + off)
    assert (error.code, error.status) == ("RequestTimeTooSkewed", 403)
    assert error.details["MaxAllowedSkewMilliseconds"] == "900000"
    assert timed(signed(service="iam"), NOW + off).code == "SignatureDoesNotMatch"


@pytest.mark.parametrize("now", [NOW - 900, NOW, NOW + 600])
def test_step_7_a_url_is_good_until_it_expires(now):
    check_time(parse_signature(url()), now)
    check_time(parse_signature(old_url()), now)


def test_step_7_a_url_may_be_days_old():
    check_time(parse_signature(url(expires_s=WEEK)), NOW + WEEK)


def test_step_7_an_expired_url_tells_when_it_ended():
    error = timed(url(), NOW + 601)
    assert (error.code, error.status, error.message) == ("AccessDenied", 403, "Request has expired")
    assert error.details == {"X-Amz-Expires": "600", "Expires": "2026-11-30T17:08:26Z", "ServerTime": "2026-11-30T17:08:27Z"}
    assert timed(old_url(), NOW + 601).details == {"Expires": "2026-11-30T17:08:26Z", "ServerTime": "2026-11-30T17:08:27Z"}


def test_step_7_a_url_from_the_future_is_refused():
    error = timed(url(), NOW - 901)
    assert (error.code, error.message) == ("AccessDenied", "Request is not yet valid")


def test_an_old_url_may_live_longer_than_a_week_unless_we_are_strict():
    far = old_url(NOW + WEEK + 1)
    check_time(parse_signature(far), NOW)
    check_time(parse_signature(far), NOW + 1, strict=True)
    assert timed(far, NOW, strict=True).code == "AccessDenied"
    assert timed(old_url(10**19), NOW, strict=True).details["Expires"] == "9999-12-31T23:59:59Z"


@pytest.mark.parametrize("request_", [signed(), signed_v4a(), url()], ids=["header", "v4a", "url"])
@pytest.mark.parametrize("name", ["x-amz-meta-a", "x-amz-decoded-content-length", "x-amz-acl", "x-amz-security-token"])
def test_step_8_every_amz_header_is_signed(request_, name):
    more = Request("GET", request_.target, {**request_.headers, name: "1", "user-agent": "a", "amz-sdk-request": "b", "content-type": "c"})
    with pytest.raises(ApiError) as caught:
        check_signed_headers(parse_signature(more), more)
    assert (caught.value.code, caught.value.status, caught.value.details) == ("AccessDenied", 403, {"HeadersNotSigned": name})


def test_step_8_host_is_signed():
    request = signed()
    line = request.headers["authorization"].replace("host;", "")
    without = Request("GET", "/b/k", {**request.headers, "authorization": line})
    with pytest.raises(ApiError, match="AccessDenied") as caught:
        check_signed_headers(parse_signature(without), without)
    assert caught.value.details == {"HeadersNotSigned": "host"}


def test_step_8_says_nothing_of_other_headers_nor_of_old_urls():
    more = Request("GET", "/b/k", {**signed().headers, "expect": "100-continue", "range": "bytes=0-1"})
    check_signed_headers(parse_signature(more), more)
    old = Request("GET", old_url().target, {**HOST, "x-amz-meta-a": "1"})
    check_signed_headers(parse_signature(old), old)
    assert refused(old).code == "SignatureDoesNotMatch"


def test_step_10_a_refusal_tells_what_we_hashed():
    error = refused(signed("/b/k?a=1"), "other")
    text = error.details["StringToSign"]
    asked = error.details["CanonicalRequest"]
    assert (error.code, error.status, error.details["AWSAccessKeyId"]) == ("SignatureDoesNotMatch", 403, "AK")
    assert text.startswith("AWS4-HMAC-SHA256\n20261130T165826Z\n20261130/us-east-1/s3/aws4_request\n")
    assert asked.startswith("GET\n/b/k\na=1\nhost:s3.test:4566\n")
    assert bytes.fromhex(error.details["StringToSignBytes"]).decode() == text
    assert bytes.fromhex(error.details["CanonicalRequestBytes"]).decode() == asked
    assert error.details["SignatureProvided"] == parse_signature(signed("/b/k?a=1")).signature


def test_step_10_an_old_url_that_is_wrong_tells_its_string_to_sign():
    error = refused(old_url(), "other")
    assert error.details["StringToSign"] == f"GET\n\n\n{NOW + 600}\n/b/k"
    assert "CanonicalRequest" not in error.details


def test_step_10_a_signed_header_that_did_not_arrive_is_named():
    request = signed(range="bytes=0-1")
    without = {name: value for name, value in request.headers.items() if name != "range"}
    assert "range did not arrive" in refused(Request("GET", "/b/k", without)).message


@pytest.mark.parametrize("signature", ["0", "é", "\xff", "G" * 64, "A" * 5000])
def test_step_10_a_signature_that_is_none_does_not_match(signature):
    line = signed().headers["authorization"].rpartition("Signature=")[0] + f"Signature={signature}"
    assert refused(Request("GET", "/b/k", {**signed().headers, "authorization": line})).code == "SignatureDoesNotMatch"


def test_step_10_the_signature_may_not_hide_in_the_query_of_a_header_form():
    request = signed()
    more = Request("GET", "/b/k?x-id=1", request.headers)
    assert refused(more).code == "SignatureDoesNotMatch"


def test_host_is_signed_as_it_came():
    request = signed()
    assert refused(Request("GET", "/b/k", {**request.headers, "host": "s3.test"})).code == "SignatureDoesNotMatch"


def test_step_11_a_scope_of_another_region():
    request_signature = parse_signature(signed())
    check_region(request_signature, "us-east-1")
    check_region(request_signature, "eu-west-1", any_region=True)
    with pytest.raises(ApiError, match="the region 'us-east-1' is wrong; expecting 'eu-west-1'") as caught:
        check_region(request_signature, "eu-west-1")
    assert (caught.value.code, caught.value.status, caught.value.details) == ("AuthorizationHeaderMalformed", 400, {"Region": "eu-west-1"})
    with pytest.raises(ApiError, match="AuthorizationQueryParametersError.*expecting 'eu-west-1'"):
        check_region(parse_signature(url()), "eu-west-1")
    with pytest.raises(ApiError, match="SignatureDoesNotMatch"):
        check_region(parse_signature(signed(service="iam"), s3=False), "eu-west-1")


@pytest.mark.parametrize("region_set", ["*", "us-*", "eu-west-1,us-east-1"])
def test_step_11_a_region_set_that_covers_the_region(region_set):
    check_region(parse_signature(signed_v4a(region_set)), "us-east-1")


@pytest.mark.parametrize("any_region", [False, True])
def test_step_11_a_region_set_that_does_not_is_refused_in_every_case(any_region):
    with pytest.raises(ApiError) as caught:
        check_region(parse_signature(signed_v4a("eu-*,us-west-2")), "us-east-1", any_region=any_region)
    assert (caught.value.code, caught.value.status) == ("SignatureDoesNotMatch", 403)


def test_step_11_an_old_url_names_no_region():
    check_region(parse_signature(old_url()), "anywhere")


@pytest.mark.parametrize("request_", [signed(), signed_v4a()], ids=["v4", "v4a"])
def test_a_rotated_secret_never_meets_an_old_key(request_):
    keys = KeyCache()
    request_signature = parse_signature(request_)
    verify(request_signature, request_, "SK", keys=keys)
    with pytest.raises(ApiError, match="SignatureDoesNotMatch"):
        verify(request_signature, request_, "rotated", keys=keys)
    with pytest.raises(ApiError, match="SignatureDoesNotMatch"):
        verify(request_signature, request_, "rotated", keys=keys)
    verify(request_signature, request_, "SK", keys=keys)


def test_the_cache_is_bounded_and_forgets_what_was_used_least_recently():
    keys = KeyCache(limit=2)
    regions = [parse_signature(signed(region=region)).credential for region in ("a", "b", "c")]
    first = keys.signing_key(regions[0], "SK")
    second = keys.signing_key(regions[1], "SK")
    assert keys.signing_key(regions[0], "SK") is first
    keys.signing_key(regions[2], "SK")
    assert len(keys) == 2
    assert keys.signing_key(regions[0], "SK") is first
    assert keys.signing_key(regions[1], "SK") is not second


def test_public_keys_are_remembered_too():
    keys = KeyCache()
    assert keys.public_key("AK", "SK") is keys.public_key("AK", "SK")
    assert keys.public_key("AK", "SK") is not keys.public_key("AK", "other")


def test_an_old_url_on_a_bucket_host_covers_its_bucket():
    end = NOW + 600
    bare = Request("GET", "/k", HOST)
    signature = sigv2.signature("SK", sigv2.string_to_sign(bare, str(end), bucket="b", virtual=True))
    escaped = signature.replace("+", "%2B").replace("/", "%2F").replace("=", "%3D")
    request = Request("GET", f"/k?AWSAccessKeyId=AK&Expires={end}&Signature={escaped}", HOST)
    verify(parse_signature(request), request, "SK", keys=KeyCache(), bucket="b", virtual=True)
    assert refused(request, bucket="c", virtual=True).code == "SignatureDoesNotMatch"
    assert refused(request).code == "SignatureDoesNotMatch"


@pytest.mark.parametrize("name", ["X-Amz-Signature", "X-Amz-Security-Token", "X-Amz-Expires", "k"])
@pytest.mark.parametrize("garbage", ["%FF", "%ED%B3%BF", "\xff", "%", "%00"])
def test_a_refusal_is_text_that_can_be_written_whatever_came(name, garbage):
    request = Request("GET", f"{url().target}&{name}2={garbage}".replace(f"{name}2", name), HOST)
    with pytest.raises(ApiError) as caught:
        verify(parse_signature(request), request, "SK", keys=KeyCache())
    "".join((caught.value.message, *caught.value.details.values())).encode()


@pytest.mark.parametrize("garbage", ["%FF", "%ED%B3%BF", "\xff", "%", "%00"])
def test_so_it_is_for_an_old_url(garbage):
    request = Request("GET", f"{old_url().target}{garbage}&acl={garbage}&x-amz-meta-a={garbage}", HOST)
    "".join(refused(request).details.values()).encode()


# -- a raw plus (docs/decisions/0012)


def sent(meant: str, raw: str, how: str = "v4") -> Request:
    """The signature of one target on a request for another, as clients make it that sign an escape and send a plus."""
    if how == "url":
        made = presigned_url.presign(Request("GET", meant, HOST), CREDENTIALS, region="us-east-1", now=NOW, expires_s=600)
        members = [member for member in made.partition("?")[2].split("&") if member.startswith("X-Amz-")]
        return Request("GET", raw + ("&" if "?" in raw else "?") + "&".join(members), HOST)
    request = Request("GET", meant, HOST)
    if how == "v4a":
        added = sigv4a.sign(request, CREDENTIALS, now=NOW, payload=EMPTY_SHA256)
    else:
        added = sigv4.sign(request, CREDENTIALS, region="us-east-1", now=NOW, payload=EMPTY_SHA256)
    return Request("GET", raw, {**HOST, **added})


def executed(request: Request, *, strict: bool = False) -> str:
    target = verify(parse_signature(request), request, "SK", keys=KeyCache(), strict=strict)
    return target.partition("X-Amz-Algorithm")[0].rstrip("&?")


@pytest.mark.parametrize("how", ["v4", "v4a", "url"])
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("meant", ["/b?prefix=a%2Bb", "/b?prefix=a%20b", "/b?%2B=1", "/b?%20=1"])
def test_a_plus_in_a_query_is_executed_as_it_was_signed(meant, strict, how):
    raw = meant.replace("%2B", "+").replace("%20", "+")
    assert executed(sent(meant, raw, how), strict=strict) == meant


@pytest.mark.parametrize("how", ["v4", "v4a", "url"])
def test_a_plus_in_a_path_is_a_blank_and_where_we_are_lenient_what_was_signed(how):
    assert executed(sent("/b/a%20b", "/b/a+b", how), strict=True) == executed(sent("/b/a%20b", "/b/a+b", how)) == "/b/a%20b"
    assert executed(sent("/b/a%2Bb", "/b/a+b", how)) == "/b/a%2Bb"
    error = refused(sent("/b/a%2B%2Bb", "/b/a++b", how), strict=True)
    assert error.details["CanonicalRequest"].startswith("GET\n/b/a%20%20b\n")  # what AWS shows (ngx_aws_auth, issue 87)


@pytest.mark.parametrize("meant", ["/b/%2B?prefix=%20", "/b/%20?prefix=%2B", "/b/%20?prefix=%20", "/b/%2B?prefix=%2B"])
def test_path_and_query_are_read_each_as_it_was_signed(meant):
    assert executed(sent(meant, "/b/+?prefix=+")) == meant


def test_all_pluses_of_a_query_are_read_alike():
    assert refused(sent("/b?prefix=a%2Bb%20c", "/b?prefix=a+b+c")).code == "SignatureDoesNotMatch"


def test_a_target_without_a_plus_is_executed_as_it_came():
    assert executed(signed("/b/%61%2B?prefix=a%20b")) == "/b/%61%2B?prefix=a%20b"


def test_other_services_take_a_path_as_it_is_written_and_a_query_as_it_was_signed():
    request = signed("/a+b?Marker=x%20y", service="iam")
    raw = Request("GET", "/a+b?Marker=x+y", request.headers)
    assert verify(parse_signature(raw, s3=False), raw, "SK", keys=KeyCache(), s3=False, body_sha256=EMPTY_SHA256) == "/a%2Bb?Marker=x%20y"


def test_a_token_with_a_raw_plus_is_never_one_that_was_signed_with_a_blank():
    """The token was looked up with its plus."""
    credentials = sigv4.Credentials("AK", "SK", "to+ken")
    good = presigned_url.presign(Request("GET", "/b/k", HOST), credentials, region="us-east-1", now=NOW, expires_s=600)
    assert "to%2Bken" in good
    raw = Request("GET", good.replace("to%2Bken", "to+ken"), HOST)
    assert verify(parse_signature(raw), raw, "SK", keys=KeyCache()) == good
    blank = presigned_url.presign(Request("GET", "/b/k", HOST), sigv4.Credentials("AK", "SK", "to ken"), region="us-east-1", now=NOW, expires_s=600)
    assert refused(Request("GET", blank.replace("to%20ken", "to+ken"), HOST)).code == "SignatureDoesNotMatch"


@pytest.mark.parametrize(("meant", "path"), [("a%2Bb", "/b/k"), ("a%20b", "/b/k"), ("a%20b", "/b/x+y")])
def test_an_old_url_with_a_plus_is_executed_as_it_was_signed_and_its_path_as_aws_reads_it(meant, path):
    end = str(NOW + 600)
    made = sigv2.signature("SK", sigv2.string_to_sign(Request("GET", f"{path}?response-content-type={meant}", HOST), end, bucket="b", virtual=False))
    escaped = made.replace("+", "%2B").replace("/", "%2F").replace("=", "%3D")
    request = Request("GET", f"{path}?response-content-type=a+b&AWSAccessKeyId=AK&Expires={end}&Signature={escaped}", HOST)
    target = verify(parse_signature(request), request, "SK", keys=KeyCache())
    assert target.startswith(f"{path.replace('+', '%20')}?response-content-type={meant}&")


def test_an_old_url_whose_signature_has_a_raw_plus_is_still_good():
    for end in range(NOW + 600, NOW + 700):
        made = sigv2.signature("SK", sigv2.string_to_sign(Request("GET", "/b/k", HOST), str(end), bucket="b", virtual=False))
        request = Request("GET", f"/b/k?AWSAccessKeyId=AK&Expires={end}&Signature={made}", HOST)
        verify(parse_signature(request), request, "SK", keys=KeyCache())


@pytest.mark.parametrize("date", ["Mon, 30 Nov 2026 16:58:26 GMT", "20261130T165826Z"])
@pytest.mark.parametrize("algorithm", ["v4", "v4a"])
def test_a_signature_dated_by_the_date_header_is_good_within_the_skew_and_for_no_other_date(date, algorithm):
    scheme, scope = (sigv4.ALGORITHM, "20261130/us-east-1/s3/aws4_request") if algorithm == "v4" else (sigv4a.ALGORITHM, "20261130/s3/aws4_request")
    more = {"date": date, "x-amz-content-sha256": EMPTY_SHA256, **({} if algorithm == "v4" else {"x-amz-region-set": "*"})}
    headers = {**HOST, **more}
    names = ";".join(sorted(headers))
    asked = canonical_request("GET", "/b/k", "", headers=canonical_headers(headers, sorted(headers)), names=names, payload=EMPTY_SHA256)
    text = string_to_sign(scheme, "20261130T165826Z", scope, asked)
    if algorithm == "v4":
        made = sigv4.signature(sigv4.signing_key("SK", "20261130", "us-east-1", "s3"), text)
    else:
        made = sigv4a.signature(sigv4a.private_key("AK", "SK"), text)
    request = Request("GET", "/b/k", {**headers, "authorization": sigv4.authorization(scheme, "AK", scope, names, made)})
    request_signature = parse_signature(request)
    check_signed_headers(request_signature, request)
    verify(request_signature, request, "SK", keys=KeyCache())
    check_time(request_signature, NOW + 900)
    assert timed(request, NOW + 901).code == "RequestTimeTooSkewed"
    later = Request("GET", "/b/k", {**request.headers, "date": date.replace("16:58", "16:59").replace("1658", "1659")})
    assert refused(later).code == "SignatureDoesNotMatch"
    with pytest.raises(ApiError, match="HeadersNotSigned|not signed"):
        both = Request("GET", "/b/k", {**request.headers, "x-amz-date": "20261130T165826Z"})
        check_signed_headers(parse_signature(both), both)
