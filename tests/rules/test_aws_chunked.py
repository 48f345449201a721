from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.errors import ApiError
from atoll.rules import aws_chunked, sigv4, sigv4a
from atoll.rules.aws_chunked import HEAD_MAX_BYTES, MODES, TRAILER_MAX_BYTES, Chunked, ChunkVerifier
from streams import CREDENTIALS, ECDSA, ECDSA_TRAILER, HMAC, HMAC_TRAILER, SIGNED, UNSIGNED_TRAILER, send

CRC = {"x-amz-checksum-crc32": "NhCmhg=="}
HELLO = b"5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n"  # signing.md 5.2, from the wire
UNSIGNED = MODES[UNSIGNED_TRAILER]


def decoded(reader: Chunked, *pieces: bytes) -> tuple[bytes, dict[str, str]]:
    found = b"".join(b"".join(reader.feed(piece)) for piece in pieces)
    return found, reader.finish()


def code(reader: Chunked, body: bytes) -> str:
    with pytest.raises(ApiError) as caught:
        decoded(reader, body)
    return caught.value.code


def test_the_body_of_a_real_client_is_decoded():
    assert decoded(Chunked(UNSIGNED), HELLO) == (b"hello", CRC)


def test_an_empty_object_is_one_last_chunk_and_its_trailer():
    body = b"0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n"
    assert decoded(Chunked(UNSIGNED), body) == (b"", {"x-amz-checksum-crc32": "AAAAAA=="})


def test_a_body_without_any_trailer_is_whole():
    assert decoded(Chunked(UNSIGNED), b"5\r\nhello\r\n0\r\n\r\n") == (b"hello", {})


def test_sizes_come_in_upper_and_lower_case():
    data = bytes(0xAB)
    body = b"%s\r\n" + data + b"\r\n0\r\n\r\n"
    assert decoded(Chunked(UNSIGNED), body % b"AB")[0] == data
    assert decoded(Chunked(UNSIGNED), body % b"ab")[0] == data
    assert decoded(Chunked(UNSIGNED), body % b"00aB")[0] == data


@pytest.mark.parametrize("mode", list(MODES))
@pytest.mark.parametrize("upper", [False, True])
def test_every_mode_is_decoded_byte_by_byte_and_in_one_piece(mode, upper):
    chunks = (b"x" * 171, b"y" * 10)
    trailers = CRC if MODES[mode].trailer else {}
    sent = send(mode, chunks, trailers=trailers, upper=upper)
    assert decoded(sent.reader(), sent.body) == (b"".join(chunks), trailers)
    assert decoded(sent.reader(), *[bytes((byte,)) for byte in sent.body]) == (b"".join(chunks), trailers)


@given(st.data())
def test_where_the_network_cuts_a_body_does_not_matter(data):
    chunks = data.draw(st.lists(st.binary(min_size=1, max_size=40), max_size=4))
    sent = send(HMAC_TRAILER, chunks, trailers=CRC)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(sent.body)), max_size=6)))
    pieces = [sent.body[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(sent.body)], strict=True)]
    assert decoded(sent.reader(), *pieces) == (b"".join(chunks), CRC)


def test_a_piece_inside_a_chunk_is_passed_on_without_a_copy():
    reader = Chunked(UNSIGNED)
    reader.feed(b"100000\r\n")
    piece = bytes(65536)
    assert reader.feed(piece)[0] is piece


@pytest.mark.parametrize("mode", list(MODES))
def test_a_body_that_ends_early_anywhere_is_incomplete(mode):
    sent = send(mode, (b"hello", b"there"), trailers=CRC if MODES[mode].trailer else {})
    assert {code(sent.reader(), sent.body[:length]) for length in range(len(sent.body))} == {"IncompleteBody"}


@pytest.mark.parametrize("mode", SIGNED)
def test_a_flipped_byte_in_a_signed_chunk_is_refused(mode):
    sent = send(mode, (b"hello", b"there"), trailers=CRC if MODES[mode].trailer else {})
    assert code(sent.reader(), sent.body.replace(b"hello", b"hellp")) == "SignatureDoesNotMatch"
    assert code(sent.reader(), sent.body.replace(b"there", b"Xhere")) == "SignatureDoesNotMatch"


@pytest.mark.parametrize("mode", [HMAC, HMAC_TRAILER])
def test_no_byte_of_a_signed_stream_can_be_changed(mode):
    sent = send(mode, (b"hello", b"there"), trailers=CRC if MODES[mode].trailer else {})
    flips = [sent.body[:at] + bytes((sent.body[at] ^ 1,)) + sent.body[at + 1 :] for at in range(len(sent.body))]
    assert {code(sent.reader(), flip) for flip in flips} <= {"SignatureDoesNotMatch", "InvalidRequest", "IncompleteBody"}


@pytest.mark.parametrize("mode", [ECDSA, ECDSA_TRAILER])
def test_no_byte_of_a_stream_signed_with_sigv4a_can_be_changed(mode):
    sent = send(mode, (b"hello",), trailers=CRC if MODES[mode].trailer else {})
    padding = {at for at, byte in enumerate(sent.body) if byte == ord("*")}  # says nothing, so it may be anything of its kind
    flips = [sent.body[:at] + bytes((sent.body[at] ^ 1,)) + sent.body[at + 1 :] for at in range(len(sent.body)) if at not in padding]
    assert {code(sent.reader(), flip) for flip in flips} <= {"SignatureDoesNotMatch", "InvalidRequest", "IncompleteBody"}


@pytest.mark.parametrize("mode", SIGNED)
def test_chunks_cannot_change_places(mode):
    sent = send(mode, (b"hello", b"there"), trailers=CRC if MODES[mode].trailer else {})
    lines = sent.body.split(b"\r\n")
    lines[0:2], lines[2:4] = lines[2:4], lines[0:2]
    assert code(sent.reader(), b"\r\n".join(lines)) == "SignatureDoesNotMatch"


@pytest.mark.parametrize("mode", SIGNED)
def test_a_chunk_cannot_be_left_out(mode):
    sent = send(mode, (b"hello", b"there"), trailers=CRC if MODES[mode].trailer else {})
    assert code(sent.reader(), b"\r\n".join(sent.body.split(b"\r\n")[2:])) == "SignatureDoesNotMatch"


def test_the_chunks_of_one_request_do_not_fit_another():
    first, second = send(HMAC, (b"hello",)), send(HMAC, (b"hello",), headers={"x-amz-meta-a": "1"})
    assert code(second.reader(), first.body) == "SignatureDoesNotMatch"


@pytest.mark.parametrize("mode", [HMAC_TRAILER, ECDSA_TRAILER])
def test_a_signed_trailer_is_covered_by_its_signature(mode):
    sent = send(mode, (b"hello",), trailers=CRC)
    assert code(sent.reader(), sent.body.replace(b"NhCmhg", b"NhCmhh")) == "SignatureDoesNotMatch"
    without = b"".join(line + b"\r\n" for line in sent.body.split(b"\r\n")[:-2] if not line.startswith(b"x-amz-trailer-signature"))
    assert code(sent.reader(), without + b"\r\n") == "SignatureDoesNotMatch"


def test_an_unsigned_trailer_needs_no_signature_and_may_have_one():
    body = HELLO.removesuffix(b"\r\n") + b"x-amz-trailer-signature:00\r\n\r\n"
    assert decoded(Chunked(UNSIGNED), body) == (b"hello", CRC)


def test_padding_behind_a_sigv4a_chunk_signature_is_no_part_of_it():
    sent = send(ECDSA, (b"hello",))
    assert b"*\r\n" in sent.body
    assert decoded(sent.reader(), sent.body.replace(b"*", b""))[0] == b"hello"


@pytest.mark.parametrize(
    "body",
    [
        b"5;chunk-signature=00\r\nhello\r\n0\r\n\r\n",  # nobody asked for a signature
        b"5;other=1\r\nhello\r\n0\r\n\r\n",
        b"0x5\r\nhello\r\n0\r\n\r\n",
        b"+5\r\nhello\r\n0\r\n\r\n",
        b"-5\r\nhello\r\n0\r\n\r\n",
        b"1_0\r\nhellohellohello!\r\n0\r\n\r\n",
        b" 5\r\nhello\r\n0\r\n\r\n",
        b"\r\nhello\r\n0\r\n\r\n",
        b"zz\r\nhello\r\n0\r\n\r\n",
        b"5\r\nhelloX\r\n0\r\n\r\n",
        b"5\r\nhelloXX0\r\n\r\n",
        b"5\r\nhello\r\r\n0\r\n\r\n",
        b"ffffffffffffffff\r\n",
        b"5\r\nhello\r\n0\r\n\r\nmore",
        b"5\r\nhello\r\n0\r\n\r\n\r\n",
        b"0\r\nno colon\r\n\r\n",
        b"0\r\n:no name\r\n\r\n",
        b"0\r\na b:blank in the name\r\n\r\n",
        b"0\r\na:1\r\nA:2\r\n\r\n",
        b"5" * (HEAD_MAX_BYTES + 1),
        b"0\r\na:" + b"x" * TRAILER_MAX_BYTES + b"\r\n\r\n",
        b"0\r\na:" + b"x" * (TRAILER_MAX_BYTES + 1),
        b"0\r\n" + b"".join(b"name-%d:%s\r\n" % (number, b"x" * 90) for number in range(100)) + b"\r\n",
    ],
)
def test_malformed_framing_is_refused(body):
    assert code(Chunked(UNSIGNED), body) == "InvalidRequest"


def test_a_line_that_never_ends_is_not_kept():
    reader = Chunked(UNSIGNED)
    with pytest.raises(ApiError, match="InvalidRequest"):
        [reader.feed(b"5") for _ in range(HEAD_MAX_BYTES + 1)]


def test_a_signed_mode_wants_a_signature_on_every_chunk():
    assert code(send(HMAC, ()).reader(), b"5\r\nhello\r\n0\r\n\r\n") == "InvalidRequest"


@pytest.mark.parametrize("mode", [HMAC, ECDSA])
def test_a_mode_without_trailer_takes_none(mode):
    sent = send(mode, (b"hello",))
    assert code(sent.reader(), sent.body.removesuffix(b"\r\n") + b"x-amz-checksum-crc32:NhCmhg==\r\n\r\n") == "InvalidRequest"


def test_an_anonymous_sender_cannot_sign_chunks():
    with pytest.raises(ApiError, match="InvalidRequest"):
        Chunked(MODES[HMAC])


def test_the_algorithm_of_the_chunks_is_the_one_of_the_request():
    verifier = ChunkVerifier(sigv4.ALGORITHM, "", "", "", holds=lambda text, signature: True)
    with pytest.raises(ApiError, match="AWS4-ECDSA-P256-SHA256"):
        Chunked(MODES[ECDSA], verifier)


def test_the_chain_equals_the_published_example():
    """Source: S3 API reference, "Transferring payload in multiple chunks", the example with 65 + 1 KiB."""
    key = sigv4.SigningKey(sigv4.signing_key("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "20130524", "us-east-1", "s3"))
    verifier = ChunkVerifier(
        sigv4.ALGORITHM,
        "20130524T000000Z",
        "20130524/us-east-1/s3/aws4_request",
        "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9",
        holds=lambda text, signature: key.signature(text) == signature,
    )
    verifier.update(b"a" * 65536)
    verifier.chunk("ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648")
    verifier.update(b"a" * 1024)
    verifier.chunk("0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497")
    verifier.chunk("b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9")


def test_the_strings_equal_the_published_constants_of_aws_c_auth():
    chunk = aws_chunked.chunk_string(sigv4a.ALGORITHM, "D", "SC", "p", hashlib.sha256(b"a" * 65536).hexdigest()).decode().split("\n")
    assert chunk == [
        "AWS4-ECDSA-P256-SHA256-PAYLOAD",
        "D",
        "SC",
        "p",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "bf718b6f653bebc184e1479f1935b8da974d701b893afcf49e701f3e2f9f9c5a",
    ]
    trailer = aws_chunked.trailer_string(sigv4a.ALGORITHM, "D", "SC", "p", {"third": "3rd", "first": "1st", "second": "2nd"})
    assert trailer.endswith(b"83d8f190334fb741bc8daf73c891689d320bd8017756bc730c540021ed48001f")


def test_a_refused_chunk_tells_what_was_hashed():
    sent = send(HMAC, (b"hello",))
    with pytest.raises(ApiError) as caught:
        decoded(sent.reader(), sent.body.replace(b"hello", b"HELLO"))
    assert caught.value.details["StringToSign"].startswith("AWS4-HMAC-SHA256-PAYLOAD\n")
    assert CREDENTIALS.secret not in str(caught.value.details)
