from __future__ import annotations

import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.http_message import Request
from atoll.rules import sigv4
from atoll.rules.canonical_request import EMPTY_SHA256
from atoll.rules.signature_verification import KeyCache, parse_signature, verify

TRAILER = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
S3CMD_ATTRS = (
    "atime:1796057754/ctime:1796057752/gid:0/gname:root/md5:764efa883dda1e11db47671c4a3bbd9e/mode:33188/mtime:1796057752/uid:0/uname:root"
)
# s3.md 3.2: seen on the wire, access key AK, secret SK. (client, method, target, signed headers, signature)
SEEN = [
    ("awscli", "PUT", "/plain/k", {
        "content-encoding": "aws-chunked", "host": "127.0.0.1:5604", "x-amz-content-sha256": TRAILER, "x-amz-date": "20261130T165826Z",
        "x-amz-decoded-content-length": "3", "x-amz-sdk-checksum-algorithm": "CRC32", "x-amz-trailer": "x-amz-checksum-crc32",
    }, "16155a9b53dc0082a48e6b3b99ee33a1fbf005e5fc1731daefa7360b65cb0916"),
    ("awscrt", "PUT", "/plain/s", {
        "content-encoding": "aws-chunked", "content-length": "46", "host": "127.0.0.1:5604", "x-amz-content-sha256": TRAILER,
        "x-amz-date": "20261130T165837Z", "x-amz-decoded-content-length": "5", "x-amz-trailer": "x-amz-checksum-crc32",
    }, "d9f57512cad2ae1c69edf05f7a5d5830e9440a589439bd8308596e7f7bb777fe"),
    ("rclone", "PUT", "/plain/sm%20all%2B%C3%BC.txt", {
        "content-length": "3", "content-md5": "dk76iD3aHhHbR2ccSju9ng==", "content-type": "text/plain; charset=utf-8",
        "host": "127.0.0.1:5602", "x-amz-acl": "private", "x-amz-content-sha256": "UNSIGNED-PAYLOAD", "x-amz-date": "20261130T165907Z",
        "x-amz-meta-mtime": "1796057752.652120983",
    }, "d1b466c3c558a0f45c6d9c917eef8dac124aba870a1373fe8b02ba3ded14237c"),
    ("s3cmd", "PUT", "/plain/sm%20all%2B%C3%BC.txt", {
        "content-length": "3", "content-type": "text/plain", "host": "127.0.0.1:5602",
        "x-amz-content-sha256": "98ea6e4f216f2fb4b69fff9b3a44842c38686ca685f3f55dc48c5d3fb1107be4", "x-amz-date": "20261130T165828Z",
        "x-amz-meta-s3cmd-attrs": S3CMD_ATTRS, "x-amz-storage-class": "STANDARD",
    }, "4c42348a1766d8d029dcac5ae23ec3e5e64002127f6da9cd5564d1c975dfa257"),
    ("rclone list", "GET", "/plain?delimiter=&max-keys=1000&prefix=", {
        "host": "127.0.0.1:5602", "x-amz-content-sha256": EMPTY_SHA256, "x-amz-date": "20261130T165908Z",
    }, "c6f8e40334dc094fb83c8e738cfa53d12e796ba39a584d3c28421500f77c78a4"),
    ("s3cmd list", "GET", "/plain/?delimiter=%2F", {
        "host": "127.0.0.1:5602", "x-amz-content-sha256": EMPTY_SHA256, "x-amz-date": "20261130T165829Z",
    }, "cb753b181074c2f711bb3030dd189d056f3d207b33dc54e1cf7a39ce80840829"),
]  # fmt: skip


@pytest.mark.parametrize(("client", "method", "target", "headers", "signature"), SEEN)
@pytest.mark.parametrize("comma", [", ", ","])
def test_a_signature_seen_on_the_wire_is_good(client, method, target, headers, signature, comma):
    names = ";".join(sorted(headers))
    line = comma.join(
        ("AWS4-HMAC-SHA256 Credential=AK/20261130/us-east-1/s3/aws4_request", f"SignedHeaders={names}", f"Signature={signature}")
    )
    request = Request(method, target, {**headers, "authorization": line})
    verify(parse_signature(request), request, "SK", keys=KeyCache())


def test_the_published_signing_key():
    """Source: IAM user guide, "Create a signed AWS API request", examples of signing keys."""
    key = sigv4.signing_key("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "20120215", "us-east-1", "iam")
    assert key.hex() == "f4780e2d9f65fa895f9c67b32ce1baf0b0d8a43505a000a1a9e090d414db404d"


@given(st.binary(min_size=1, max_size=64), st.binary(max_size=300))
def test_a_prepared_key_makes_the_same_hmac(key, text):
    prepared = sigv4.SigningKey(key)
    assert prepared.signature(text) == prepared.signature(text) == hmac.digest(key, text, "sha256").hex()


def test_what_a_proxy_may_change_is_not_signed():
    request = Request("PUT", "/k", {"host": "h", "user-agent": "a", "expect": "100-continue", "content-length": "3", "x-amz-acl": "private"})
    line = sigv4.sign(request, sigv4.Credentials("AK", "SK"), region="r", now=0, payload="UNSIGNED-PAYLOAD")["authorization"]
    assert "SignedHeaders=host;x-amz-acl;x-amz-content-sha256;x-amz-date," in line


def test_a_token_is_sent_and_signed_and_other_services_get_no_payload_header():
    added = sigv4.sign(
        Request("POST", "/", {"host": "sts"}), sigv4.Credentials("AK", "SK", "T"), region="r", now=0, payload=EMPTY_SHA256, service="sts"
    )
    assert sorted(added) == ["authorization", "x-amz-date", "x-amz-security-token"]
    assert "SignedHeaders=host;x-amz-date;x-amz-security-token," in added["authorization"]
