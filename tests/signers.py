"""Who signs what the tests verify? awscrt, botocore and boto3, at test time; and hands that alter what was signed."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from datetime import UTC, datetime

import boto3
from awscrt.auth import (
    AwsCredentialsProvider,
    AwsSignatureType,
    AwsSignedBodyHeaderType,
    AwsSigningAlgorithm,
    AwsSigningConfig,
    aws_sign_request,
)
from awscrt.http import HttpHeaders, HttpRequest
from botocore.auth import S3SigV4Auth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials

from atoll.domain.http_message import Request
from atoll.rules.payload_verification import PayloadReader
from atoll.rules.signature_verification import KeyCache, check_region, check_signed_headers, check_time, parse_signature, verify

ACCESS_KEY = "AKIDEXAMPLE0000000AA"
SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
TOKEN = "FwoGZXIvYXdzEJr//////////wEaDE+tok/en=="
REGION = "us-east-1"
NOW = 1_796_057_906  # 30 November 2026, 16:58:26 UTC
V4 = AwsSigningAlgorithm.V4
V4A = AwsSigningAlgorithm.V4_ASYMMETRIC


def joined(headers: list[tuple[str, str]]) -> dict[str, str]:
    """Headers as the wire room hands them on."""
    found: dict[str, str] = {}
    for name, value in headers:
        name = name.lower()
        found[name] = f"{found[name]},{value.strip()}" if name in found else value.strip()
    return found


def crt(
    method: str,
    target: str,
    headers: tuple[tuple[str, str], ...] = (),
    *,
    algorithm: AwsSigningAlgorithm = V4,
    query: bool = False,
    token: str = "",
    payload: str | None = "UNSIGNED-PAYLOAD",
    region: str = REGION,
    service: str = "s3",
    expires_s: int = 600,
    now: int = NOW,
) -> Request:
    """Signed by awscrt. S3 rules for the path; `payload` is x-amz-content-sha256 in the header form."""
    unsigned = HttpRequest(method, target, HttpHeaders([("host", "bucket.s3.test:4566"), *headers]))
    config = AwsSigningConfig(
        algorithm=algorithm,
        signature_type=AwsSignatureType.HTTP_REQUEST_QUERY_PARAMS if query else AwsSignatureType.HTTP_REQUEST_HEADERS,
        credentials_provider=AwsCredentialsProvider.new_static(ACCESS_KEY, SECRET, token or None),
        region=region,
        service=service,
        date=datetime.fromtimestamp(now, UTC),
        use_double_uri_encode=service != "s3",
        should_normalize_uri_path=service != "s3",
        signed_body_value=payload,
        signed_body_header_type=AwsSignedBodyHeaderType.NONE if query or service != "s3" else AwsSignedBodyHeaderType.X_AMZ_CONTENT_SHA_256,
        expiration_in_seconds=expires_s if query else None,
    )
    signed = aws_sign_request(unsigned, config).result(10)
    return Request(signed.method, signed.path, joined(list(signed.headers)))


def botocore(method: str, target: str, headers: dict[str, str], body: bytes, *, service: str = "s3", token: str = "") -> Request:
    """Signed by botocore's own Python, in the header form, at the time it is now."""
    unsigned = AWSRequest(method, f"http://bucket.s3.test:4566{target}", headers=headers, data=body)
    signer = S3SigV4Auth if service == "s3" else SigV4Auth
    signer(Credentials(ACCESS_KEY, SECRET, token or None), service, REGION).add_auth(unsigned)
    return Request(method, target, joined([("host", "bucket.s3.test:4566"), *unsigned.headers.items()]))


def boto3_client(signature_version: str, *, style: str = "path", token: str = "", endpoint: str | None = "http://127.0.0.1:4566"):
    return boto3.client(
        "s3",
        region_name=REGION,
        endpoint_url=endpoint,
        aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=SECRET,
        aws_session_token=token or None,
        config=Config(signature_version=signature_version, s3={"addressing_style": style}),
    )


def from_url(method: str, url: str, headers: dict[str, str] | None = None) -> Request:
    _, _, rest = url.partition("://")
    host, _, target = rest.partition("/")
    return Request(method, f"/{target}", {"host": host, **(headers or {})})


def accept(
    request: Request, *, keys: KeyCache | None = None, secret: str = SECRET, now: float | None = None, s3: bool = True, body: bytes | None = None,
    bucket: str = "", virtual: bool = False, region: str = REGION,
) -> bytes | None:  # fmt: skip
    """All steps in order, as the gateway takes them; the body's too when there is one. Returns the decoded body."""
    keys = keys or KeyCache()
    request_signature = parse_signature(request, s3=s3)
    assert request_signature is not None
    check_time(request_signature, request_signature.date if now is None else now)
    check_signed_headers(request_signature, request)
    digest = None if s3 else hashlib.sha256(body or b"").hexdigest()
    verify(request_signature, request, secret, keys=keys, s3=s3, body_sha256=digest, bucket=bucket, virtual=virtual)
    check_region(request_signature, region)
    if body is None or not s3:
        return body
    return PayloadReader.of(request.headers, request_signature, secret, keys).whole(body)


def flipped(text: str) -> str:
    """One character changed, in the middle."""
    middle = len(text) // 2
    return text[:middle] + ("b" if text[middle : middle + 1] == "a" else "a") + text[middle + 1 :]


def alterations(request: Request) -> Iterator[tuple[str, Request]]:
    """The same request with one signed thing changed, once for each thing."""
    yield "method", Request("DELETE" if request.method != "DELETE" else "GET", request.target, request.headers)
    path, mark, query = request.target.partition("?")
    yield "path", Request(request.method, f"{path}x{mark}{query}", request.headers)
    yield "more query", Request(request.method, f"{request.target}{'&' if mark else '?'}added=1", request.headers)
    members = query.split("&") if query else []
    for place, member in enumerate(members):
        name, _, value = member.partition("=")
        changed = [*members[:place], f"{name}={flipped(value)}", *members[place + 1 :]]
        yield f"query {name}", Request(request.method, f"{path}?{'&'.join(changed)}", request.headers)
        yield f"query without {name}", Request(request.method, f"{path}?{'&'.join(members[:place] + members[place + 1 :])}", request.headers)
    for name in signed_names(request):
        yield f"header {name}", Request(request.method, request.target, {**request.headers, name: flipped(request.headers[name])})
        rest = {other: value for other, value in request.headers.items() if other != name}
        yield f"header without {name}", Request(request.method, request.target, rest)
    yield "more headers", Request(request.method, request.target, {**request.headers, "x-amz-added": "1"})
    line = request.headers.get("authorization")
    if line is not None:
        for part in ("/aws4_request", "SignedHeaders=", "Signature="):  # the access key only says whose secret it is
            start = line.index(part) + (-8 if part[0] == "/" else len(part))
            broken = line[:start] + flipped(line[start : start + 12]) + line[start + 12 :]
            yield f"authorization {part}", Request(request.method, request.target, {**request.headers, "authorization": broken})


def signed_names(request: Request) -> list[str]:
    text = request.headers.get("authorization", request.target.replace("%3B", ";"))
    found = re.search(r"SignedHeaders=([^,&]*)", text)
    return found[1].split(";") if found else []
