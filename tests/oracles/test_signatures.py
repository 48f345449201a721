"""Signatures of awscrt, botocore and boto3, made at test time: each is good, and with anything altered it is not."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from atoll.domain.errors import ApiError
from atoll.domain.http_message import Request
from atoll.rules import presigned_url, sigv4, sigv4a
from atoll.rules.signature_verification import KeyCache, parse_signature
from signers import (
    ACCESS_KEY,
    NOW,
    SECRET,
    TOKEN,
    V4,
    V4A,
    accept,
    alterations,
    boto3_client,
    botocore,
    crt,
    from_url,
    joined,
)

HELLO = hashlib.sha256(b"hello").hexdigest()
EMPTY = hashlib.sha256(b"").hexdigest()
RECORDED = json.loads((Path(__file__).parent.parent / "data" / "recorded_requests.json").read_text())

ASKED = [
    ("GET", "/", ()),
    ("GET", "/key", ()),
    ("HEAD", "/a%20b/%C3%BC%2Bx.txt", ()),
    ("GET", "/%40%28%29%2B%26%2C%3B%24%3D", ()),
    ("GET", "//a//../b/./c/", ()),
    ("GET", "/invalid%FF%FE", ()),
    ("GET", "/?uploads", ()),
    ("GET", "/k?versionId=3%2F4%2BL4kqtJlcpXroDTDmJ&x-id=GetObject", ()),
    ("GET", "/?list-type=2&prefix=p%2Fq&delimiter=%2F&encoding-type=url&max-keys=10&continuation-token=a%2Bb%3D", ()),
    ("PUT", "/k", (("content-type", "text/plain; charset=utf-8"), ("x-amz-meta-note", "two   blanks  within"), ("x-amz-acl", "private"))),
    ("PUT", "/k?partNumber=1&uploadId=VXBsb2Fk", (("content-md5", "XUFAKrxLKna5cZ2REBfFkg=="), ("x-amz-sdk-checksum-algorithm", "CRC32"))),
    ("GET", "/k", (("range", "bytes=0-10"), ("if-match", '"etag"'), ("x-amz-checksum-mode", "ENABLED"))),
    ("PATCH", "/v20180820/mrap/instances/arn%3Aaws%3As3%3A%3A123456789012%3Aaccesspoint/m.mrap/routes", (("x-amz-account-id", "123456789012"),)),
    ("DELETE", "/k", (("x-amz-tagging", "a=1"), ("x-amz-tagging", "b=2"))),
]  # fmt: skip
KINDS = [
    pytest.param(algorithm, query, token, id=f"{name}-{'query' if query else 'header'}-{'token' if token else 'plain'}")
    for name, algorithm in (("v4", V4), ("v4a", V4A))
    for query in (False, True)
    for token in ("", TOKEN)
]


def refused(altered: Request, **how: object) -> bool:
    with pytest.raises(ApiError):
        accept(altered, now=NOW, **how)
    return True


@pytest.mark.parametrize(("algorithm", "query", "token"), KINDS)
@pytest.mark.parametrize(("method", "target", "headers"), ASKED)
def test_what_awscrt_signs_is_good_and_every_alteration_of_it_is_refused(method, target, headers, algorithm, query, token):
    keys = KeyCache()
    request = crt(method, target, headers, algorithm=algorithm, query=query, token=token)
    accept(request, keys=keys, now=NOW)
    assert parse_signature(request).token == token
    assert all(refused(altered, keys=keys) for what, altered in alterations(request))


@pytest.mark.parametrize(("algorithm", "query", "token"), KINDS)
def test_another_secret_signs_otherwise(algorithm, query, token):
    request = crt("GET", "/k", algorithm=algorithm, query=query, token=token)
    with pytest.raises(ApiError, match="SignatureDoesNotMatch"):
        accept(request, secret=SECRET + "x", now=NOW)


@pytest.mark.parametrize("token", ["", TOKEN])
@pytest.mark.parametrize(
    ("method", "target", "headers", "body"),
    [
        ("GET", "/bucket/key", {}, b""),
        ("GET", "/bucket?list-type=2&prefix=a%2Fb&encoding-type=url", {}, b""),
        ("PUT", "/bucket/sm%20all%2B%C3%BC.txt", {"Content-Type": "text/plain", "x-amz-meta-a": "1"}, b"hello"),
        ("POST", "/bucket?delete", {"x-amz-checksum-crc32": "NhCmhg==", "x-amz-sdk-checksum-algorithm": "CRC32"}, b"hello"),
    ],
)
def test_what_botocore_signs_is_good_and_every_alteration_of_it_is_refused(method, target, headers, body, token):
    request = botocore(method, target, headers, body, token=token)
    now = parse_signature(request).date
    assert accept(request, now=now, body=body) == body
    assert all(refused(altered) for what, altered in alterations(request))
    with pytest.raises(ApiError, match="XAmzContentSHA256Mismatch|IncompleteBody"):
        accept(request, now=now, body=body + b"x")


def test_another_service_hashes_the_body_and_encodes_the_path_twice():
    request = botocore("POST", "/a%20b/../c", {"Content-Type": "application/x-www-form-urlencoded"}, b"Action=GetUser", service="iam")
    accept(request, s3=False, body=b"Action=GetUser")
    with pytest.raises(ApiError, match="SignatureDoesNotMatch"):
        accept(request, s3=False, body=b"Action=GetRole")


def test_awscrt_and_we_agree_on_the_path_of_another_service():
    accept(crt("POST", "/a%20b/./c//../d/", service="sts", payload=EMPTY), s3=False, body=b"", now=NOW)


@pytest.mark.parametrize("signature_version", ["s3v4", "s3"])
@pytest.mark.parametrize("token", ["", TOKEN])
@pytest.mark.parametrize(
    ("operation", "method", "parameters"),
    [
        ("get_object", "GET", {"Bucket": "bucket", "Key": "a b/ü+x.txt"}),
        ("get_object", "GET", {"Bucket": "bucket", "Key": "k", "VersionId": "v+1/2=", "ResponseContentType": "text/plain; a=b"}),
        ("put_object", "PUT", {"Bucket": "bucket", "Key": "k"}),
        ("head_object", "HEAD", {"Bucket": "bucket", "Key": "@()+&,;$="}),
        ("list_objects_v2", "GET", {"Bucket": "bucket", "Prefix": "a/b", "MaxKeys": 3}),
        ("upload_part", "PUT", {"Bucket": "bucket", "Key": "k", "UploadId": "u/1", "PartNumber": 3}),
    ],
)
def test_a_url_that_boto3_presigns_is_good(operation, method, parameters, token, signature_version):
    url = boto3_client(signature_version, token=token).generate_presigned_url(operation, parameters)
    request = from_url(method, url)
    request_signature = parse_signature(request)
    assert request_signature.where == "query"
    assert request_signature.token == token
    accept(request, now=request_signature.date + request_signature.expires_s, bucket="bucket")
    with pytest.raises(ApiError, match="SignatureDoesNotMatch"):
        accept(Request("DELETE", request.target, request.headers))
    with pytest.raises(ApiError, match="SignatureDoesNotMatch"):
        accept(Request(method, request.target.replace("/bucket", "/other", 1), request.headers))
    with pytest.raises(ApiError, match="SignatureDoesNotMatch"):
        accept(request, secret=SECRET + "x")


def test_boto3_moves_metadata_into_an_old_url_and_demands_it_as_a_header_of_a_new_one():
    asked = {"Bucket": "bucket", "Key": "k", "Metadata": {"colour": "dark blue"}}
    old = boto3_client("s3").generate_presigned_url("put_object", asked)
    accept(from_url("PUT", old))
    with pytest.raises(ApiError, match="SignatureDoesNotMatch"):
        accept(from_url("PUT", old.replace("dark", "pale")))
    with pytest.raises(ApiError, match="SignatureDoesNotMatch"):
        accept(from_url("PUT", old, {"x-amz-meta-shape": "round"}))
    new = boto3_client("s3v4").generate_presigned_url("put_object", asked)
    accept(from_url("PUT", new, {"x-amz-meta-colour": "dark blue"}))
    with pytest.raises(ApiError, match="x-amz-meta-colour did not arrive"):
        accept(from_url("PUT", new))


def test_a_virtual_host_url_of_boto3_is_good_for_its_bucket_alone():
    url = boto3_client("s3", style="virtual", endpoint=None).generate_presigned_url("get_object", {"Bucket": "bucket", "Key": "k"})
    accept(from_url("GET", url), bucket="bucket", virtual=True)
    with pytest.raises(ApiError, match="SignatureDoesNotMatch"):
        accept(from_url("GET", url), bucket="another", virtual=True)


def test_a_presigned_put_of_boto3_holds_the_client_to_its_content_type():
    url = boto3_client("s3v4").generate_presigned_url("put_object", {"Bucket": "b", "Key": "k", "ContentType": "text/plain"})
    accept(from_url("PUT", url, {"content-type": "text/plain"}))
    with pytest.raises(ApiError, match="content-type did not arrive"):
        accept(from_url("PUT", url))
    with pytest.raises(ApiError, match="SignatureDoesNotMatch"):
        accept(from_url("PUT", url, {"content-type": "text/html"}))


@pytest.mark.parametrize("recorded", RECORDED["requests"], ids=lambda recorded: recorded["name"])
def test_a_recorded_request_of_a_real_client_is_good_and_every_alteration_of_it_is_refused(recorded):
    request = Request(recorded["method"], recorded["target"], joined(recorded["headers"]))
    secret = RECORDED["secret_access_key"]
    keys = KeyCache()
    born = parse_signature(request).date
    region = parse_signature(request).region or "eu-west-1"
    body = None if "body" not in recorded else recorded["body"].encode()
    accept(request, keys=keys, secret=secret, now=born + 60, body=body, region=region)
    assert all(refused(altered, keys=keys, secret=secret, region=region) for what, altered in alterations(request))
    with pytest.raises(ApiError, match="SignatureDoesNotMatch"):
        accept(request, keys=keys, secret=secret + "x", now=born, region=region)


def test_what_we_sign_is_what_awscrt_signs():
    headers = {"host": "bucket.s3.test:4566", "content-type": "text/plain", "x-amz-meta-a": "one  two"}
    request = Request("PUT", "/a%20b?x=%2F&a", headers)
    made = sigv4.sign(request, sigv4.Credentials(ACCESS_KEY, SECRET, TOKEN), region="us-east-1", now=NOW, payload=HELLO)
    theirs = crt("PUT", "/a%20b?x=%2F&a", (("content-type", "text/plain"), ("x-amz-meta-a", "one  two")), token=TOKEN, payload=HELLO)
    assert made["authorization"] == theirs.headers["authorization"]


def test_a_url_that_we_presign_has_the_signature_that_awscrt_gives_it():
    request = Request("GET", "/a%20b?versionId=1", {"host": "bucket.s3.test:4566"})
    made = presigned_url.presign(request, sigv4.Credentials(ACCESS_KEY, SECRET, TOKEN), region="us-east-1", now=NOW, expires_s=600)
    theirs = crt("GET", "/a%20b?versionId=1", query=True, token=TOKEN)
    assert made.partition("X-Amz-Signature=")[2] == theirs.target.partition("X-Amz-Signature=")[2].partition("&")[0]
    accept(Request("GET", made, request.headers), now=NOW)


def test_what_we_sign_with_sigv4a_is_good():
    request = Request("GET", "/a%20b?x", {"host": "m.mrap.accesspoint.s3-global.amazonaws.com"})
    made = sigv4a.sign(request, sigv4.Credentials(ACCESS_KEY, SECRET, TOKEN), now=NOW, payload="UNSIGNED-PAYLOAD", region_set="us-*")
    accept(Request("GET", request.target, {**request.headers, **made}), now=NOW, region="us-west-2")
