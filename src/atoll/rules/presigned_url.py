"""SigV4 in a query: its parameters, and making presigned URLs."""

from __future__ import annotations

from atoll.domain.http_message import Request
from atoll.rules import canonical_request, sigv4
from atoll.rules.sigv4 import Credentials

SIGNATURE = "X-Amz-Signature"  # the one member that the signature does not cover
REQUIRED = ("X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-SignedHeaders", "X-Amz-Expires", SIGNATURE)
# Any of these makes a request a presigned one; what is missing is then an error, not an anonymous call.
SIGNATURE_PARAMETERS = frozenset({"X-Amz-Algorithm", "X-Amz-Credential", SIGNATURE})


def members(query: str) -> tuple[dict[str, str], frozenset[str]]:
    """Decoded members of a query, and the names that occur more than once (the first value is kept).

    For reading, not for signing: bytes that are not UTF-8 become U+FFFD.
    """
    found: dict[str, str] = {}
    repeated = set()
    for name, value in canonical_request.pairs(query):
        name = canonical_request.decode_text(name, "replace")
        if name in found:
            repeated.add(name)
        else:
            found[name] = canonical_request.decode_text(value, "replace")
    return found, frozenset(repeated)


def presign(
    request: Request, credentials: Credentials, *, region: str, now: float, expires_s: int, service: str = "s3"
) -> str:
    """The target (path?query) of a SigV4 URL that is good for `expires_s` seconds. All headers given, host among them,
    become signed headers: the later request must bring them."""
    amz_date = canonical_request.amz_date(now)
    scope = sigv4.scope(amz_date[:8], region, service)
    names = sorted(request.headers)
    query = canonical_request.canonical_query(_unsigned(request.query, credentials, scope, amz_date=amz_date, names=names, expires_s=expires_s))
    text = canonical_request.canonical_request(
        request.method,
        canonical_request.canonical_path(request.path, s3=True),
        query,
        headers=canonical_request.canonical_headers(request.headers, names),
        names=";".join(names),
        payload=canonical_request.UNSIGNED_PAYLOAD,
    )
    key = sigv4.signing_key(credentials.secret, amz_date[:8], region, service)
    made = sigv4.signature(key, canonical_request.string_to_sign(sigv4.ALGORITHM, amz_date, scope, text))
    return f"{request.path}?{query}&{SIGNATURE}={made}"


def _unsigned(
    query: str, credentials: Credentials, scope: str, *, amz_date: str, names: list[str], expires_s: int
) -> str:
    """The query with everything in it that gets signed. Values are escaped so that decoding them once gives them back."""
    added = {
        "X-Amz-Algorithm": sigv4.ALGORITHM,
        "X-Amz-Credential": f"{credentials.access_key}/{scope}",
        "X-Amz-Date": amz_date,
        "X-Amz-Expires": str(expires_s),
        "X-Amz-SignedHeaders": ";".join(names),
    }
    if credentials.token:
        added["X-Amz-Security-Token"] = credentials.token
    escaped = [f"{name}={value.replace('%', '%25').replace('&', '%26')}" for name, value in added.items()]
    return "&".join([query, *escaped] if query else escaped)
