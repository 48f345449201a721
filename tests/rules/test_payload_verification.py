from __future__ import annotations

import base64
import hashlib

import pytest

from atoll.domain.errors import ApiError
from atoll.domain.objects import Checksum
from atoll.domain.quotas import OBJECT_PUT_MAX_BYTES
from atoll.rules.aws_chunked import MODES
from atoll.rules.payload_verification import Claims, PayloadCheck, PayloadReader, digest, has_nothing, strip_aws_chunked
from atoll.rules.signature_verification import KeyCache, parse_signature
from streams import CREDENTIALS, HMAC, HMAC_TRAILER, UNSIGNED_TRAILER, send

SHA256 = hashlib.sha256(b"hello").hexdigest()
EMPTY = hashlib.sha256(b"").hexdigest()
MD5 = base64.b64encode(hashlib.md5(b"hello").digest()).decode()
ANNOUNCED = {"x-amz-content-sha256": UNSIGNED_TRAILER, "x-amz-trailer": "x-amz-checksum-crc32"}
FRAMED = b"5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n"
BARE = b"5\r\nhello\r\n0\r\n\r\n"


def value(algorithm: str, data: bytes = b"hello") -> str:
    found = digest(algorithm)
    found.update(data)
    return found.value()


def reader(headers: dict[str, str], **options: bool) -> PayloadReader:
    return PayloadReader.of(headers, None, "", KeyCache(), **options)


def refusal(headers: dict[str, str], body: bytes = b"hello", **options: bool) -> ApiError:
    with pytest.raises(ApiError) as caught:
        reader(headers, **options).whole(body)
    return caught.value


def test_a_body_without_claims_gets_the_default_checksum():
    found = reader({"content-length": "5"})
    assert found.whole(b"hello") == b"hello"
    assert found.check.checksum == Checksum("CRC64NVME", "FULL_OBJECT", value("CRC64NVME"))
    assert (found.check.md5_hex, found.check.size) == (hashlib.md5(b"hello").hexdigest(), 5)


@pytest.mark.parametrize("algorithm", ["CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"])
def test_a_checksum_header_is_compared_and_kept(algorithm):
    header = f"x-amz-checksum-{algorithm.lower()}"
    found = reader({header: value(algorithm), "x-amz-sdk-checksum-algorithm": algorithm})
    found.whole(b"hello")
    assert found.check.checksum == Checksum(algorithm, "FULL_OBJECT", value(algorithm))
    wrong = refusal({header: value(algorithm, b"other")})
    assert (wrong.code, wrong.status) == ("BadDigest", 400)
    assert wrong.details == {"ExpectedDigest": value(algorithm, b"other"), "CalculatedDigest": value(algorithm)}


@pytest.mark.parametrize("algorithm", ["CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"])
def test_a_checksum_trailer_is_compared_and_kept(algorithm):
    name = f"x-amz-checksum-{algorithm.lower()}"
    headers = {"x-amz-content-sha256": UNSIGNED_TRAILER, "x-amz-trailer": name, "x-amz-sdk-checksum-algorithm": algorithm}
    body = b"5\r\nhello\r\n0\r\n%s:%s\r\n\r\n"
    found = reader(headers)
    assert found.whole(body % (name.encode(), value(algorithm).encode())) == b"hello"
    assert found.check.checksum == Checksum(algorithm, "FULL_OBJECT", value(algorithm))
    assert refusal(headers, body % (name.encode(), value(algorithm, b"other").encode())).code == "BadDigest"


def test_the_hash_of_the_body_is_compared():
    reader({"x-amz-content-sha256": SHA256}).whole(b"hello")
    reader({"x-amz-content-sha256": SHA256.upper()}).whole(b"hello")
    wrong = refusal({"x-amz-content-sha256": SHA256}, b"hellp")
    assert (wrong.code, wrong.status) == ("XAmzContentSHA256Mismatch", 400)
    assert refusal({"x-amz-content-sha256": EMPTY}).code == "XAmzContentSHA256Mismatch"


def test_content_md5_is_of_the_decoded_bytes_and_goes_with_a_trailer():
    reader({**ANNOUNCED, "content-md5": MD5}).whole(FRAMED)
    wrong = refusal({**ANNOUNCED, "content-md5": "XUFAKrxLKna5cZ2REBfFkw=="}, FRAMED)
    assert wrong.code == "BadDigest"
    assert wrong.details == {"ExpectedDigest": "XUFAKrxLKna5cZ2REBfFkw==", "CalculatedDigest": MD5}


@pytest.mark.parametrize("text", ["", "nonsense", "NhCmhg==", MD5 + "AAAA"])
def test_a_content_md5_that_is_none_is_told_apart_from_a_wrong_one(text):
    wrong = refusal({"content-md5": text})
    assert (wrong.code, wrong.details) == ("InvalidDigest", {"Content-MD5": text})


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        pytest.param({"x-amz-checksum-crc32": "NhCmhg==", "x-amz-checksum-sha1": value("SHA1")}, b"hello", id="two headers"),
        pytest.param({"x-amz-checksum-crc32": "no base64"}, b"hello", id="not base64"),
        pytest.param({"x-amz-checksum-crc32": value("CRC64NVME")}, b"hello", id="wrong length"),
        pytest.param({"x-amz-checksum-sha512": "AAAA"}, b"hello", id="SHA512"),
        pytest.param({"x-amz-checksum-xxhash64": "AAAA"}, b"hello", id="XXHASH64"),
        pytest.param({"x-amz-checksum-md5": MD5}, b"hello", id="MD5 as a checksum"),
        pytest.param({"x-amz-sdk-checksum-algorithm": "XXHASH128"}, b"hello", id="asked for XXHASH128"),
        pytest.param({**ANNOUNCED, "x-amz-checksum-crc32": "NhCmhg=="}, FRAMED, id="header and trailer"),
        pytest.param({**ANNOUNCED, "x-amz-checksum-sha1": value("SHA1")}, FRAMED, id="header and another trailer"),
        pytest.param({**ANNOUNCED, "x-amz-sdk-checksum-algorithm": "SHA1"}, FRAMED, id="trailer and another algorithm"),
        pytest.param({"x-amz-checksum-crc32": "NhCmhg==", "x-amz-sdk-checksum-algorithm": "SHA1"}, b"hello", id="header and another"),
        pytest.param(ANNOUNCED, BARE, id="announced but missing"),
        pytest.param({"x-amz-content-sha256": UNSIGNED_TRAILER}, FRAMED, id="not announced"),
        pytest.param({**ANNOUNCED, "x-amz-trailer": "x-amz-checksum-crc32c"}, FRAMED, id="another one announced"),
        pytest.param({**ANNOUNCED, "x-amz-trailer": "x-amz-checksum-sha512"}, FRAMED, id="unknown one announced"),
        pytest.param({**ANNOUNCED, "x-amz-trailer": "x-amz-meta-a"}, FRAMED, id="no checksum announced"),
        pytest.param({**ANNOUNCED, "x-amz-trailer": "x-amz-checksum-crc32,x-amz-checksum-sha1"}, FRAMED, id="two announced"),
        pytest.param({"x-amz-trailer": "x-amz-checksum-crc32"}, b"hello", id="announced on a plain body"),
        pytest.param(ANNOUNCED, FRAMED.replace(b"NhCmhg==", b"nonsense"), id="trailer not base64"),
        pytest.param(ANNOUNCED, FRAMED.replace(b"hello\r\n", b"hello"), id="broken framing"),
        pytest.param({"x-amz-content-sha256": HMAC}, BARE, id="anonymous with signed chunks"),
    ],
)
def test_combinations_that_s3_refuses(headers, body):
    wrong = refusal(headers, body)
    assert (wrong.code, wrong.status) == ("InvalidRequest", 400)


def test_a_framed_body_without_any_trailer_gets_the_default_checksum():
    found = reader({"x-amz-content-sha256": UNSIGNED_TRAILER})
    assert found.whole(BARE) == b"hello"
    assert found.check.checksum.algorithm == "CRC64NVME"


def test_naming_an_algorithm_without_a_value_asks_for_it():
    found = reader({"x-amz-sdk-checksum-algorithm": "sha256"})
    found.whole(b"hello")
    assert found.check.checksum == Checksum("SHA256", "FULL_OBJECT", value("SHA256"))


def test_headers_about_checksums_that_are_no_values_claim_nothing():
    reader({"x-amz-checksum-mode": "ENABLED", "x-amz-checksum-type": "FULL_OBJECT", "x-amz-checksum-algorithm": "CRC32"}).whole(b"hello")


def test_a_checksum_of_the_object_is_not_one_of_the_document_that_completes_it():
    headers = {"x-amz-checksum-crc32": "AAAAAA=="}
    assert refusal(headers).code == "BadDigest"
    assert reader(headers, of_body=False).whole(b"hello") == b"hello"


@pytest.mark.parametrize("length", ["4", "6"])
def test_the_decoded_length_holds(length):
    assert refusal({**ANNOUNCED, "x-amz-decoded-content-length": length}, FRAMED).code == "IncompleteBody"
    assert refusal({"content-length": length}).code == "IncompleteBody"


def test_the_decoded_length_may_be_missing_and_the_length_on_the_wire_is_another():
    found = reader({**ANNOUNCED, "content-length": str(len(FRAMED))})
    assert found.decoded_length is None
    assert found.whole(FRAMED) == b"hello"
    assert reader({**ANNOUNCED, "x-amz-decoded-content-length": "5"}).decoded_length == 5


def test_too_many_bytes_are_refused_before_the_end():
    found = reader({"content-length": "3"})
    with pytest.raises(ApiError, match="IncompleteBody"):
        found.feed(b"hello")


def test_a_body_beyond_five_gibibytes_is_refused_before_it_comes():
    too_large = str(OBJECT_PUT_MAX_BYTES + 1)
    assert refusal({"content-length": too_large}).details["MaxSizeAllowed"] == "5368709120"
    assert refusal({**ANNOUNCED, "x-amz-decoded-content-length": too_large}).code == "EntityTooLarge"


@pytest.mark.parametrize("text", ["", "-1", "+5", "5.0", "٥", "9" * 30])
def test_a_length_is_a_number(text):
    assert refusal({**ANNOUNCED, "x-amz-decoded-content-length": text}, FRAMED).code == "InvalidArgument"


@pytest.mark.parametrize("mode", ["", "unsigned-payload", "STREAMING-OTHER", SHA256[1:], SHA256 + "0", "x" * 64, "STREAMING-"])
def test_a_payload_mode_that_is_none_is_refused(mode):
    wrong = refusal({"x-amz-content-sha256": mode})
    assert (wrong.code, wrong.details["ArgumentValue"]) == ("InvalidArgument", mode)


@pytest.mark.parametrize("mode", list(MODES))
def test_all_framed_modes_pass_and_a_flipped_byte_does_not(mode):
    trailers = {"x-amz-checksum-crc32": value("CRC32", b"hellothere")} if MODES[mode].trailer else {}
    headers = {"x-amz-decoded-content-length": "10", **({"x-amz-trailer": "x-amz-checksum-crc32"} if trailers else {})}
    sent = send(mode, (b"hello", b"there"), trailers=trailers, headers=headers)

    def fresh() -> PayloadReader:
        return PayloadReader.of(sent.request.headers, parse_signature(sent.request), CREDENTIALS.secret, KeyCache())

    assert fresh().whole(sent.body) == b"hellothere"
    with pytest.raises(ApiError, match="SignatureDoesNotMatch|BadDigest"):
        fresh().whole(sent.body.replace(b"there", b"thexe"))
    with pytest.raises(ApiError, match="IncompleteBody"):
        fresh().whole(sent.body[:-2])


def test_a_body_whose_framing_another_process_took_off_is_passed_on_checked_by_its_length():
    trailer = {"x-amz-trailer": "x-amz-checksum-crc32", "x-amz-decoded-content-length": "5"}
    sent = send(HMAC_TRAILER, (b"hello",), trailers={"x-amz-checksum-crc32": "NhCmhg=="}, headers=trailer)
    found = PayloadReader.of(sent.request.headers, None, "", KeyCache(), framed=False)
    assert found.whole(b"hello") == b"hello"
    assert found.check.checksum == Checksum("CRC32", "FULL_OBJECT", "NhCmhg==")
    with pytest.raises(ApiError, match="IncompleteBody"):
        PayloadReader.of(sent.request.headers, None, "", KeyCache(), framed=False).whole(b"hell")


def test_md5_is_left_out_where_nobody_wants_it_but_not_where_it_was_claimed():
    plain, claimed = reader({}, md5=False), reader({"content-md5": MD5}, md5=False)
    plain.whole(b"hello")
    claimed.whole(b"hello")
    assert (plain.check.md5_hex, claimed.check.md5_hex) == ("", hashlib.md5(b"hello").hexdigest())


def test_a_large_body_passes_in_pieces():
    found = reader({**ANNOUNCED, "x-amz-trailer": "x-amz-checksum-crc64nvme", "x-amz-decoded-content-length": str(3 << 20)})
    piece = bytes(1 << 20)
    frames = [b"100000\r\n", piece, b"\r\n"] * 3 + [b"0\r\nx-amz-checksum-crc64nvme:", value("CRC64NVME", piece * 3).encode(), b"\r\n\r\n"]
    assert sum(len(out) for frame in frames for out in found.feed(frame)) == 3 << 20
    found.finish()


def test_a_check_can_be_used_alone():
    check = PayloadCheck(Claims(sha256=SHA256, algorithm="SHA1", value=value("SHA1")))
    check.update(b"hel")
    check.update(b"lo")
    check.finish({})
    assert check.size == 5


@pytest.mark.parametrize(
    ("sha256", "headers", "nothing"),
    [
        (EMPTY, {}, True),
        (EMPTY, {"content-length": "0", "x-amz-checksum-mode": "ENABLED"}, True),
        ("UNSIGNED-PAYLOAD", {}, True),
        (EMPTY, {"content-length": "5"}, False),
        (EMPTY, {"transfer-encoding": "chunked"}, False),
        (EMPTY, {"x-amz-checksum-crc32": "AAAAAA=="}, False),
        (EMPTY, {"content-md5": "1B2M2Y8AsgTpgAmY7PhCfg=="}, False),
        (SHA256, {}, False),
    ],
)
def test_a_request_without_a_body_needs_no_reader(sha256, headers, nothing):
    assert has_nothing(sha256, headers) is nothing


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("aws-chunked", ""),
        ("gzip,aws-chunked", "gzip"),
        ("aws-chunked,gzip", "gzip"),
        ("aws-chunked, gzip, AWS-chunked", "gzip"),
        ("gzip, br", "gzip, br"),
        ("gzip", "gzip"),
        ("", ""),
    ],
)
def test_aws_chunked_is_no_content_encoding(sent, stored):
    assert strip_aws_chunked(sent) == stored
