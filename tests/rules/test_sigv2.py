from __future__ import annotations

import pytest

from atoll.aws_protocols.service_models import load
from atoll.domain.http_message import Request
from atoll.rules import sigv2


def text(target: str, headers: dict[str, str] | None = None, *, bucket: str = "bucket", virtual: bool = False) -> str:
    return sigv2.string_to_sign(Request("GET", target, headers or {}), "99", bucket=bucket, virtual=virtual).decode()


def test_a_published_query_signature():
    """Source: S3, "Signing and authenticating REST requests", query string example."""
    request = Request("GET", "/photos/puppy.jpg?AWSAccessKeyId=AKIAIOSFODNN7EXAMPLE&Signature=x&Expires=1175139620", {"host": "h"})
    asked = sigv2.string_to_sign(request, "1175139620", bucket="johnsmith", virtual=True)
    assert asked == b"GET\n\n\n1175139620\n/johnsmith/photos/puppy.jpg"
    assert sigv2.signature("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", asked) == "NpgCjnDzrM+WFzoENXmpNDUsSn8="


@pytest.mark.parametrize(
    ("target", "virtual", "resource"),
    [
        ("/bucket/k", False, "/bucket/k"),
        ("/k", True, "/bucket/k"),
        ("/", True, "/bucket/"),
        ("/bucket", False, "/bucket/"),
        ("/bucket/", False, "/bucket/"),
        ("/k", False, "/k"),
        ("/bucket/a%20b%2B", False, "/bucket/a%20b%2B"),
        ("/bucket/k?versionId=v%2B1&uploadId=u", False, "/bucket/k?uploadId=u&versionId=v+1"),
        ("/bucket/k?acl", False, "/bucket/k?acl"),
        ("/bucket/k?acl=", False, "/bucket/k?acl="),
        ("/bucket?list-type=2&prefix=p&max-keys=3", False, "/bucket/"),
        ("/bucket/k?response-content-type=a%20b%2Bc", False, "/bucket/k?response-content-type=a b+c"),
        ("/bucket?replication", False, "/bucket/?replication"),
    ],
)
def test_the_signed_resource(target, virtual, resource):
    assert text(target, virtual=virtual) == f"GET\n\n\n99\n{resource}"


def test_an_access_point_signs_the_path_alone():
    assert text("/k", bucket="member") == "GET\n\n\n99\n/k"


def test_what_is_not_in_a_header_may_stand_in_the_query():
    target = "/bucket/k?content-type=text%2Fplain&content-md5=m%3D&x-amz-meta-b=2%203&x-amz-security-token=t%2B"
    assert text(target) == "GET\nm=\ntext/plain\n99\nx-amz-meta-b:2 3\nx-amz-security-token:t+\n/bucket/k"


def test_headers_win_over_the_query_and_every_amz_header_is_signed():
    headers = {"content-type": "a/b", "content-md5": "n=", "x-amz-meta-a": "1", "x-amz-acl": "private", "other": "x"}
    assert text("/bucket/k?content-type=text%2Fplain", headers) == "GET\nn=\na/b\n99\nx-amz-acl:private\nx-amz-meta-a:1\n/bucket/k"


def test_header_bytes_are_signed_as_they_came():
    headers = {"x-amz-meta-a": "ü".encode().decode("latin-1")}
    assert "x-amz-meta-a:ü\n" in text("/bucket/k", headers)


def test_every_sub_resource_of_s3_is_signed_or_refused():
    """A new one in the model must be put into one of the two sets."""
    known = set()
    for operation in load("s3").operations.values():
        _, _, query = operation.http.request_uri.partition("?")
        known |= {word.partition("=")[0] for word in query.split("&") if word}
    assert known - sigv2.SUBRESOURCES - sigv2.UNCOVERED - {"x-id", "list-type", "id"} == set()
