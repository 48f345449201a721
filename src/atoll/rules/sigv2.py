"""SigV2 in the query, which boto3 and the AWS CLI still make in the older regions.

The Authorization header form is refused elsewhere, by name.
"""

from __future__ import annotations

import hmac
from base64 import b64encode
from collections.abc import Mapping

from atoll.domain.http_message import Request
from atoll.rules import canonical_request

ALGORITHM = "AWS"
SENTINEL_PARAMETER = "AWSAccessKeyId"
REQUIRED = (SENTINEL_PARAMETER, "Signature", "Expires")

# Members of a query that are part of the signed resource. Source: S3, "Signing and authenticating REST requests", and what
# botocore's HmacV1Auth signs besides (last two lines).
SUBRESOURCES = frozenset(
    {
        "acl", "cors", "delete", "lifecycle", "location", "logging", "notification", "partNumber", "policy", "requestPayment",
        "restore", "tagging", "torrent", "uploadId", "uploads", "versionId", "versioning", "versions", "website",
        "response-cache-control", "response-content-disposition", "response-content-encoding", "response-content-language",
        "response-content-type", "response-expires",
        "accelerate", "analytics", "defaultObjectAcl", "inventory", "metrics", "object-lock", "replication", "select",
        "select-type", "storageClass",
    }
)  # fmt: skip

# Sub-resources that came after SigV2: no signer covers them, so one that was added to a URL afterwards would be believed.
UNCOVERED = frozenset(
    {
        "abac", "annotation", "attributes", "encryption", "intelligent-tiering", "legal-hold", "metadataAnnotationTable",
        "metadataConfiguration", "metadataInventoryTable", "metadataJournalTable", "metadataTable", "ownershipControls",
        "policyStatus", "publicAccessBlock", "renameObject", "retention", "session",
    }
)  # fmt: skip


def string_to_sign(request: Request, expires: str, *, bucket: str, virtual: bool) -> bytes:
    """`virtual`: the bucket stands in the host, so the resource starts with it. Otherwise the path holds all there is, save
    that clients ask for `/bucket` and sign `/bucket/`."""
    headers, query = request.headers, _members(request.query)
    path = _text(request.path)
    resource = f"/{bucket}{path}" if virtual else path + "/" * (path == f"/{bucket}")
    return "\n".join(
        (
            request.method,
            _text(headers["content-md5"]) if "content-md5" in headers else query.get("content-md5", ""),
            _text(headers["content-type"]) if "content-type" in headers else query.get("content-type", ""),
            expires,
            _amz_lines(headers, request.query) + resource + _subresources(request.query),
        )
    ).encode("utf-8", "surrogateescape")


def signature(secret: str, text: bytes) -> str:
    return b64encode(hmac.digest(secret.encode(), text, "sha1")).decode()


def _members(query: str) -> dict[str, str]:
    return {canonical_request.decode_text(name).lower(): canonical_request.decode_text(value) for name, value in canonical_request.pairs(query)}


def _amz_lines(headers: Mapping[str, str], query: str) -> str:
    """Every x-amz-* header and query member (boto3 moves metadata and the token into the query)."""
    found = [(name, _text(value)) for name, value in headers.items() if name.startswith("x-amz-")]
    for name, value in canonical_request.pairs(query):
        name = canonical_request.decode_text(name).lower()
        if name.startswith("x-amz-"):
            found.append((name, canonical_request.decode_text(value)))
    return "".join([f"{name}:{value}\n" for name, value in sorted(found)])


def _text(value: str) -> str:
    """Header values are latin-1 text of the bytes that came; the string to sign is UTF-8."""
    return value if value.isascii() else value.encode("latin-1").decode("utf-8", "surrogateescape")


def _subresources(query: str) -> str:
    """As sent: a flag without "=" stays without."""
    found = []
    for member in query.split("&"):
        name, equals, value = member.partition("=")
        if canonical_request.decode_text(name) in SUBRESOURCES:
            found.append((canonical_request.decode_text(name), equals + canonical_request.decode_text(value)))
    return "?" + "&".join([name + value for name, value in sorted(found)]) if found else ""
