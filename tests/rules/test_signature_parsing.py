from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.errors import ApiError
from atoll.domain.http_message import Request
from atoll.rules.canonical_request import EMPTY_SHA256
from atoll.rules.signature_parsing import CREDENTIAL_MAX_CHARS, parse_signature

STAMP = "20261130T165826Z"
SCOPE = "20261130/us-east-1/s3/aws4_request"
V4 = f"AWS4-HMAC-SHA256 Credential=AK/{SCOPE}, SignedHeaders=host;x-amz-date, Signature=ab12"
V4A = "AWS4-ECDSA-P256-SHA256 Credential=AK/20261130/s3/aws4_request, SignedHeaders=host;x-amz-region-set, Signature=30aa"
HEADERS = {"host": "h", "x-amz-date": STAMP, "x-amz-content-sha256": "UNSIGNED-PAYLOAD"}
QUERY = {
    "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
    "X-Amz-Credential": "AK%2F20261130%2Fus-east-1%2Fs3%2Faws4_request",
    "X-Amz-Date": STAMP,
    "X-Amz-Expires": "600",
    "X-Amz-SignedHeaders": "host",
    "X-Amz-Signature": "ab12",
}
V4A_QUERY = {
    **QUERY,
    "X-Amz-Algorithm": "AWS4-ECDSA-P256-SHA256",
    "X-Amz-Credential": "AK%2F20261130%2Fs3%2Faws4_request",
    "X-Amz-Region-Set": "us-%2A%2Ceu-west-1",
}
V2_QUERY = {"AWSAccessKeyId": "AK", "Signature": "c2ln%2B%3D", "Expires": "1796057906"}


def header(line: str, **changed: str | None) -> Request:
    headers = {**HEADERS, "authorization": line, **{name.replace("_", "-"): value for name, value in changed.items()}}
    return Request("GET", "/b/k", {name: value for name, value in headers.items() if value is not None})


def url(members: dict[str, str | None], headers: dict[str, str] | None = None) -> Request:
    query = "&".join(f"{name}={value}" for name, value in members.items() if value is not None)
    return Request("GET", f"/b/k?{query}", headers or {"host": "h"})


def code(request: Request, **options: object) -> tuple[str, int]:
    with pytest.raises(ApiError) as caught:
        parse_signature(request, **options)
    return caught.value.code, caught.value.status


def test_step_1_a_request_without_a_signature_is_anonymous():
    assert parse_signature(Request("GET", "/b/k?X-Amz-Meta=1&prefix=AWSAccessKeyId", {"host": "h"})) is None


@pytest.mark.parametrize("members", [QUERY, V4A_QUERY, V2_QUERY])
def test_step_1_two_signatures_are_one_too_many(members):
    request = url(members, {**HEADERS, "authorization": V4})
    assert code(request) == ("InvalidArgument", 400)
    assert code(request, s3=False) == ("IncompleteSignature", 400)


def test_a_header_is_presented():
    found = parse_signature(header(V4, x_amz_security_token="T"), services=frozenset({"s3"}))
    assert (found.algorithm, found.access_key, found.day, found.region, found.service) == (
        "AWS4-HMAC-SHA256", "AK", "20261130", "us-east-1", "s3",
    )  # fmt: skip
    assert (found.scope, found.amz_date, found.date, found.signature, found.token) == (SCOPE, STAMP, 1_796_057_906, "ab12", "T")
    assert (found.signed, found.expires_s, found.where, found.content_sha256) == (("host", "x-amz-date"), 0, "header", "UNSIGNED-PAYLOAD")
    assert (found.region_set, found.s3) == ("", True)


def test_a_sigv4a_header_is_presented():
    found = parse_signature(header(V4A, x_amz_region_set="us-*,eu-west-1"))
    assert (found.region, found.region_set, found.scope) == ("", "us-*,eu-west-1", "20261130/s3/aws4_request")


@pytest.mark.parametrize(
    "line",
    [
        V4.replace(", ", ","),
        V4.replace(", ", " ,  "),
        f"AWS4-HMAC-SHA256 Signature=ab12, Credential=AK/{SCOPE}, SignedHeaders=host;x-amz-date",
        f"AWS4-HMAC-SHA256 Credential=AK/{SCOPE}, Signature=ab12, SignedHeaders=host;x-amz-date",
        V4 + " ",
    ],
)
def test_the_order_and_the_blanks_of_a_header_are_free(line):
    found = parse_signature(header(line))
    assert (found.signature, found.scope, found.signed) == ("ab12", SCOPE, ("host", "x-amz-date"))


def test_an_access_key_may_hold_a_slash():
    assert parse_signature(header(V4.replace("AK/", "A/K/"))).access_key == "A/K"


def test_a_url_is_presented():
    found = parse_signature(url({**QUERY, "X-Amz-Security-Token": "T%2B%2F", "x-id": "GetObject"}))
    assert (found.access_key, found.region, found.token, found.expires_s, found.where) == ("AK", "us-east-1", "T+/", 600, "query")
    assert found.content_sha256 == "UNSIGNED-PAYLOAD"


def test_a_sigv4a_url_is_presented():
    assert parse_signature(url(V4A_QUERY)).region_set == "us-*,eu-west-1"


def test_an_old_url_is_presented():
    found = parse_signature(url({**V2_QUERY, "X-Amz-Security-Token": "T%2B"}))
    assert (found.algorithm, found.access_key, found.signature, found.token) == ("AWS", "AK", "c2ln+=", "T+")
    assert (found.date + found.expires_s, found.amz_date) == (1_796_057_906, "1796057906")


def test_the_token_of_a_session_has_a_name_of_its_own():
    line = V4.replace("/s3/", "/s3express/")
    assert parse_signature(header(line, x_amz_s3session_token="S", x_amz_security_token="T")).token == "S"
    members = {**QUERY, "X-Amz-Credential": QUERY["X-Amz-Credential"].replace("s3", "s3express"), "X-Amz-S3session-Token": "S"}
    assert parse_signature(url(members)).token == "S"


@pytest.mark.parametrize("line", ["AWS AK:c2ln", "Bearer x", "Basic x", "AWS4-HMAC-SHA512 Credential=a, SignedHeaders=b, Signature=c", ""])
def test_step_2_an_algorithm_that_we_do_not_know_is_refused_naming_the_one_to_use(line):
    with pytest.raises(ApiError, match="InvalidRequest.*AWS4-HMAC-SHA256"):
        parse_signature(header(line))


def test_step_2_without_s3_the_codes_are_those_of_the_query_protocol():
    assert code(header("Bearer x"), s3=False) == ("IncompleteSignature", 400)
    assert code(header(""), s3=False) == ("MissingAuthenticationToken", 403)


def test_step_2_an_algorithm_in_a_url():
    assert code(url({**QUERY, "X-Amz-Algorithm": "AWS4-HMAC-SHA512"})) == ("InvalidRequest", 400)


MALFORMED_LINES = [
    "AWS4-HMAC-SHA256",
    "AWS4-HMAC-SHA256 ",
    f"AWS4-HMAC-SHA256 Credential=AK/{SCOPE}",
    f"AWS4-HMAC-SHA256 Credential=AK/{SCOPE}, SignedHeaders=host",
    f"AWS4-HMAC-SHA256 Credential=AK/{SCOPE}, SignedHeaders=host, Signature=",
    f"AWS4-HMAC-SHA256 Credential=AK/{SCOPE}, Signature=ab",
    "AWS4-HMAC-SHA256 SignedHeaders=host, Signature=ab",
    V4 + ", Other=1",
    V4.replace(" Signature", f" Credential=AK/{SCOPE}, Signature"),
    V4.replace("host;x-amz-date", ""),
    V4.replace("host;x-amz-date", "host;;x-amz-date"),
    V4.replace("host;x-amz-date", "host;host"),
    V4.replace("host;x-amz-date", "Host;x-amz-date"),
    V4.replace("aws4_request", "aws4"),
    V4.replace("/aws4_request", ""),
    V4.replace("/us-east-1", ""),
    V4.replace("us-east-1", ""),
    V4.replace("AK/", "/"),
    V4.replace("20261130", "20261129"),
    V4.replace("20261130", "2026"),
    V4A.replace("/s3/", "/"),
]


@pytest.mark.parametrize("line", MALFORMED_LINES)
def test_step_3_a_malformed_header_is_refused(line):
    assert code(header(line, x_amz_region_set="*")) == ("AuthorizationHeaderMalformed", 400)
    assert code(header(line, x_amz_region_set="*"), s3=False) == ("IncompleteSignature", 400)


@pytest.mark.parametrize("date", [None, "", "20261130", "2026-11-30T16:58:26Z", "20261131T165826Z", "20261129T165826Z"])
def test_step_3_the_date_is_there_and_is_the_day_of_the_scope(date):
    assert code(header(V4, x_amz_date=date)) == ("AuthorizationHeaderMalformed", 400)
    assert code(url({**QUERY, "X-Amz-Date": date})) == ("AuthorizationQueryParametersError", 400)


DATED = V4.replace("x-amz-date", "date")
DATES = ["Mon, 30 Nov 2026 16:58:26 GMT", STAMP]


@pytest.mark.parametrize("date", DATES)
def test_step_3_a_signed_date_header_stands_for_x_amz_date(date):
    for request in (header(DATED, x_amz_date=None, date=date), header(DATED.replace("date,", "date;x-amz-date,"), date="Tue, 01 Dec 2026 16:58:26 GMT")):
        found = parse_signature(request)
        assert (found.amz_date, found.date) == (STAMP, 1_796_057_906)
    v4a = V4A.replace("host;", "date;host;")
    assert parse_signature(header(v4a, x_amz_date=None, date=date, x_amz_region_set="*")).amz_date == STAMP
    assert parse_signature(header(DATED.replace("/s3/", "/iam/"), x_amz_date=None, date=date, x_amz_content_sha256=None), s3=False).amz_date == STAMP


@pytest.mark.parametrize("date", DATES)
def test_step_3_an_unsigned_date_header_dates_nothing(date):
    with pytest.raises(ApiError, match=r"AuthorizationHeaderMalformed.*Date or x-amz-date.*not signed"):
        parse_signature(header(V4.replace(";x-amz-date", ""), x_amz_date=None, date=date))


@pytest.mark.parametrize("date", ["", "Sun, 29 Nov 2026 16:58:26 GMT", "20261129T165826Z", "Mon, 30 Nov 2026 17:58:26 +0100", "soon", "9" * 5000])
def test_step_3_a_date_header_is_of_the_day_of_the_scope_and_of_a_form_that_we_know(date):
    request = header(DATED, x_amz_date=None, date=date)
    assert code(request) == ("AuthorizationHeaderMalformed", 400)
    assert code(request, s3=False) == ("IncompleteSignature", 400)


def test_step_3_x_amz_date_counts_also_when_it_is_no_date():
    assert code(header(DATED, x_amz_date="soon", date=STAMP)) == ("AuthorizationHeaderMalformed", 400)


def test_step_3_sigv4a_names_its_regions():
    assert code(header(V4A)) == ("AuthorizationHeaderMalformed", 400)
    assert code(url({**V4A_QUERY, "X-Amz-Region-Set": None})) == ("AuthorizationQueryParametersError", 400)


@pytest.mark.parametrize("name", list(QUERY))
@pytest.mark.parametrize("given", [None, ""])
def test_step_3_every_member_of_a_url_is_needed(name, given):
    request = url({**QUERY, name: given})
    assert code(request) == ("AuthorizationQueryParametersError", 400)
    assert code(request, s3=False) == ("IncompleteSignature", 400)


@pytest.mark.parametrize("name", [*QUERY, "X-Amz-Security-Token"])
def test_step_3_a_member_that_stands_twice_is_refused(name):
    request = url({"X-Amz-Security-Token": "T", **QUERY})
    twice = Request("GET", f"{request.target}&{name.replace('-', '%2D')}=x", request.headers)
    assert code(twice) == ("AuthorizationQueryParametersError", 400)


def test_step_3_a_credential_that_was_encoded_twice_is_refused():
    twice = QUERY["X-Amz-Credential"].replace("%", "%25")
    assert code(url({**QUERY, "X-Amz-Credential": twice})) == ("AuthorizationQueryParametersError", 400)


@pytest.mark.parametrize("name", list(V2_QUERY)[1:])
def test_half_an_old_url_is_refused(name):
    assert code(url({**V2_QUERY, name: None})) == ("AccessDenied", 403)


@pytest.mark.parametrize("expires", ["soon", "-1", "1.5", "٣", "9" * 30])
def test_an_old_url_ends_at_a_second(expires):
    assert code(url({**V2_QUERY, "Expires": expires})) == ("AccessDenied", 403)


def test_step_4_the_service_is_one_of_this_listener():
    express = frozenset({"s3express"})
    assert code(header(V4), services=express) == ("AuthorizationHeaderMalformed", 400)
    assert code(url(QUERY), services=express) == ("AuthorizationQueryParametersError", 400)
    assert code(header(V4), services=frozenset({"iam"}), s3=False) == ("SignatureDoesNotMatch", 403)
    assert parse_signature(header(V4), services=frozenset({"s3", "s3express"})).service == "s3"


@pytest.mark.parametrize("expires", ["0", "604801", "-1", "1e3", "", "٣", " 60", "9" * 5000])
def test_step_6_a_url_lives_from_one_second_to_a_week(expires):
    assert code(url({**QUERY, "X-Amz-Expires": expires})) == ("AuthorizationQueryParametersError", 400)


@pytest.mark.parametrize("expires", ["1", "604800"])
def test_step_6_the_shortest_and_the_longest_life(expires):
    assert parse_signature(url({**QUERY, "X-Amz-Expires": expires})).expires_s == int(expires)


def test_s3_wants_to_know_the_payload_mode_of_a_signed_header():
    with pytest.raises(ApiError, match="InvalidRequest.*x-amz-content-sha256"):
        parse_signature(header(V4, x_amz_content_sha256=None))
    assert parse_signature(header(V4, x_amz_content_sha256=None), s3=False).content_sha256 == ""


def test_a_plain_sigv4a_signer_leaves_the_hash_of_nothing_out():
    request = header(V4A, x_amz_region_set="*", x_amz_content_sha256=None)
    assert parse_signature(request).content_sha256 == EMPTY_SHA256
    with pytest.raises(ApiError, match="InvalidRequest"):
        parse_signature(header(V4A, x_amz_region_set="*", x_amz_content_sha256=None, content_length="5"))
    with pytest.raises(ApiError, match="InvalidRequest"):
        parse_signature(header(V4A, x_amz_region_set="*", x_amz_content_sha256=None, transfer_encoding="chunked"))


def test_a_url_takes_its_payload_mode_from_what_is_signed():
    assert parse_signature(url({**QUERY, "X-Amz-Content-Sha256": EMPTY_SHA256})).content_sha256 == EMPTY_SHA256
    unsigned = {"host": "h", "x-amz-content-sha256": EMPTY_SHA256}
    assert parse_signature(url(QUERY, unsigned)).content_sha256 == "UNSIGNED-PAYLOAD"
    assert parse_signature(url({**QUERY, "X-Amz-SignedHeaders": "host%3Bx-amz-content-sha256"}, unsigned)).content_sha256 == EMPTY_SHA256


def test_a_very_long_header_is_parsed_all_the_same():
    names = ";".join(f"x-amz-meta-{number:04}" for number in range(CREDENTIAL_MAX_CHARS // 10))
    assert len(parse_signature(header(V4.replace("x-amz-date", names))).signed) == 1 + CREDENTIAL_MAX_CHARS // 10


@pytest.mark.parametrize("text", ["%E2%82%AC", "%FF", "%C3%BC", "\xfc"])
def test_a_credential_or_a_mode_that_is_not_ascii_is_malformed(text):
    scope = QUERY["X-Amz-Credential"].replace("us-east-1", text)
    assert code(url({**QUERY, "X-Amz-Credential": scope})) == ("AuthorizationQueryParametersError", 400)
    assert code(url({**QUERY, "X-Amz-Content-Sha256": text})) == ("AuthorizationQueryParametersError", 400)
    assert code(header(V4.replace("us-east-1", "\xfc"))) == ("AuthorizationHeaderMalformed", 400)


@given(st.sampled_from([V4, V4A]), st.integers(0, 90), st.text(st.characters(max_codepoint=255), max_size=6))
def test_a_header_full_of_garbage_is_read_or_refused_and_never_a_fault_of_ours(line, at, garbage):
    request = header(line[:at] + garbage + line[at + len(garbage) :], x_amz_region_set="*")
    with suppress(ApiError):
        assert parse_signature(request) is not None


@given(st.sampled_from([QUERY, V4A_QUERY, V2_QUERY]), st.integers(0, 5), st.binary(max_size=6))
def test_a_url_full_of_garbage_is_read_or_refused_and_never_a_fault_of_ours(members, place, garbage):
    name = list(members)[place % len(members)]
    request = url({**members, name: "".join(f"%{byte:02X}" for byte in garbage) + members[name]})
    with suppress(ApiError):
        assert parse_signature(request) is not None


def test_an_old_url_signs_the_payload_mode_with_the_other_headers():
    headers = {"host": "h", "x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER"}
    assert parse_signature(url(V2_QUERY, headers)).content_sha256 == "STREAMING-UNSIGNED-PAYLOAD-TRAILER"


@pytest.mark.parametrize("word", ["publicAccessBlock", "policyStatus=", "encryption", "public%41ccessBlock"])
def test_an_old_url_does_not_turn_into_another_operation(word):
    """SigV2 signs the sub-resources of its time alone: a later one may have been added by whoever was given the URL."""
    assert code(Request("DELETE", f"/b?{word}&" + "&".join(f"{name}={value}" for name, value in V2_QUERY.items()), {"host": "h"})) == ("AccessDenied", 403)
