"""Parses the signature of a request: steps 1 to 4 and 6 of the verification recipe.

Source: S3 API reference, "Authenticating Requests (AWS Signature Version 4)". Steps 5 and 7 to 11 are in signature.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import msgspec

from atoll.domain.errors import ApiError
from atoll.domain.http_message import Request
from atoll.domain.quotas import PRESIGN_MAX_S
from atoll.rules import canonical_request, presigned_url, sigv2, sigv4, sigv4a

Where = Literal["header", "query"]

CREDENTIALS_REMEMBERED = 4096  # parsed Authorization prefixes: they repeat per client and day
CREDENTIAL_MAX_CHARS = 2048  # longer prefixes are parsed but not remembered; bounds that memory to 8 MiB and a bit

_ALGORITHMS = frozenset({sigv4.ALGORITHM, sigv4a.ALGORITHM})
_FIELDS = frozenset({"Credential", "SignedHeaders"})
_MALFORMED = {"header": "AuthorizationHeaderMalformed", "query": "AuthorizationQueryParametersError"}


class Malformed(ValueError):
    """A part of a signature that is not what its name says. Becomes the code of its form and service."""


class Credential(msgspec.Struct, frozen=True):
    """What repeats from request to request: who, for which day, region and service, and which headers are signed.

    `region` is "" in SigV4A and SigV2; `text` is access key and scope as presented; `names` is `signed` joined by ";".
    """

    algorithm: str
    access_key: str
    day: str
    region: str
    service: str
    scope: str
    text: str
    names: str
    signed: tuple[str, ...]
    signed_set: frozenset[str]


class RequestSignature(msgspec.Struct, frozen=True):
    """One signature as presented, nothing of it verified.

    `date` in epoch seconds, `amz_date` the same as X-Amz-Date writes it. `expires_s` is a life in seconds (0 in header form); a SigV2 URL has
    date 0 and so its `expires_s` is the epoch second of its end. `content_sha256` is the payload mode or hash in force.
    """

    credential: Credential
    amz_date: str
    date: int
    signature: str
    token: str
    region_set: str
    expires_s: int
    where: Where
    content_sha256: str

    @property
    def algorithm(self) -> str:
        return self.credential.algorithm

    @property
    def access_key(self) -> str:
        return self.credential.access_key

    @property
    def day(self) -> str:
        return self.credential.day

    @property
    def region(self) -> str:
        return self.credential.region

    @property
    def service(self) -> str:
        return self.credential.service

    @property
    def scope(self) -> str:
        return self.credential.scope

    @property
    def signed(self) -> tuple[str, ...]:
        return self.credential.signed

    @property
    def s3(self) -> bool:
        """Speaks S3's error codes; the query-protocol services have their own."""
        return self.credential.service in sigv4.S3_SERVICES


def malformed(where: Where, message: str, *, s3: bool) -> ApiError:
    return ApiError(_MALFORMED[where] if s3 else "IncompleteSignature", message)


def parse_signature(request: Request, *, services: frozenset[str] | None = None, s3: bool = True) -> RequestSignature | None:
    """The signature on a request; None when it has none (anonymous). `services`: scopes this listener answers to, None for
    any. `s3` False: codes of the query-protocol services (IAM, STS).

    Raises InvalidArgument (two signatures), InvalidRequest (algorithm, missing x-amz-content-sha256), AccessDenied (half a
    SigV2 URL), AuthorizationHeaderMalformed, AuthorizationQueryParametersError; without `s3` IncompleteSignature,
    MissingAuthenticationToken, SignatureDoesNotMatch (service).
    """
    line = request.headers.get("authorization")
    form = _query_form(request.query) if request.query else None
    if line is None:
        if form is None:
            return None
        where: Where = "query"
    elif form is None:
        where = "header"
    else:
        raise ApiError(
            "InvalidArgument" if s3 else "IncompleteSignature",
            "Only one auth mechanism allowed; this request has a signature in the query and an Authorization header.",
        )
    try:
        found = _from_header(request, line, s3=s3) if line is not None else _from_query(request, form, s3=s3)
    except Malformed as flaw:
        raise malformed(where, str(flaw), s3=s3) from flaw
    if services is not None and found.credential.service not in services:
        raise _wrong_service(found, services, s3=s3)
    return found


def _query_form(query: str) -> str | None:
    """Which presigned form a query is in: the algorithm's family, or None. Two substring searches settle most queries."""
    if "X-Amz-" not in query and sigv2.SENTINEL_PARAMETER not in query:
        return None
    names = {canonical_request.decode_text(name) for name, _ in canonical_request.pairs(query)}
    if names & presigned_url.SIGNATURE_PARAMETERS:
        return "AWS4"
    return sigv2.ALGORITHM if sigv2.SENTINEL_PARAMETER in names else None


# -- header form


def _from_header(request: Request, line: str, *, s3: bool) -> RequestSignature:
    prefix, found, signature = line.rpartition("Signature=")
    if not found:
        prefix, signature = line, ""
    elif "," in signature:  # the signature need not stand last
        signature, _, rest = signature.partition(",")
        prefix += rest
    credential = (_credential if len(prefix) <= CREDENTIAL_MAX_CHARS else _credential.__wrapped__)(prefix)
    if credential is None:
        raise _unknown_algorithm(line, s3=s3)
    signature = signature.strip()
    if not signature:
        raise Malformed("The authorization header requires the parameters Credential, SignedHeaders and Signature.")
    headers = request.headers
    amz_date, source = _stamp(request, credential)
    region_set = ""
    if not credential.region:
        region_set = headers.get("x-amz-region-set", "")
        if not region_set:
            raise Malformed(f"{sigv4a.ALGORITHM} requires the header x-amz-region-set.")
    payload = headers.get("x-amz-content-sha256")
    if payload is None:
        payload = _payload_left_out(request, credential) if s3 else ""
    return RequestSignature(
        credential,
        amz_date,
        _date(amz_date, credential, source),
        signature,
        headers.get("x-amz-s3session-token" if credential.service == "s3express" else "x-amz-security-token", ""),
        region_set,
        0,
        "header",
        payload,
    )


def _stamp(request: Request, credential: Credential) -> tuple[str, str]:
    """The request's time, and which header says it: X-Amz-Date wherever it is, else a signed Date (signing.md, section 2.1).
    An unsigned Date proves nothing: whoever holds an old signature could put today's there. Raises Malformed."""
    headers = request.headers
    amz_date = headers.get("x-amz-date")
    if amz_date is not None:
        return amz_date, "header x-amz-date"
    if "date" not in headers:
        raise Malformed("AWS authentication requires a valid Date or x-amz-date header; both are missing.")
    if "date" not in credential.signed_set:
        raise Malformed("AWS authentication requires a valid Date or x-amz-date header; the Date header is not signed.")
    return canonical_request.stamp_of_date(headers["date"]), "header Date"


@lru_cache(maxsize=CREDENTIALS_REMEMBERED)
def _credential(prefix: str) -> Credential | None:
    """Everything before the signature, parsed. None for an algorithm we do not know. Raises Malformed."""
    algorithm, _, rest = prefix.strip().partition(" ")
    if algorithm not in _ALGORITHMS:
        return None
    fields: dict[str, str] = {}
    for field in rest.split(","):
        name, _, value = field.strip().partition("=")
        if name in fields or (name and name not in _FIELDS):
            raise Malformed(f"The authorization header is malformed at {name!r}.")
        if name:
            fields[name] = value
    if fields.keys() != _FIELDS:
        raise Malformed("The authorization header requires the parameters Credential, SignedHeaders and Signature.")
    return credential(algorithm, fields["Credential"], fields["SignedHeaders"])


def credential(algorithm: str, text: str, names: str) -> Credential:
    """Access key and scope, and the list of signed headers. Raises Malformed."""
    sections = text.rsplit("/", 4 if algorithm == sigv4.ALGORITHM else 3)
    regional = algorithm == sigv4.ALGORITHM
    good = len(sections) == (5 if regional else 4) and "" not in sections and sections[-1] == canonical_request.TERMINATOR
    if not good or not text.isascii():
        form = "<access key>/yyyymmdd/<region>/<service>/aws4_request" if regional else "<access key>/yyyymmdd/<service>/aws4_request"
        raise Malformed(f"The Credential {text!r} is mal-formed; expecting {form!r}.")
    signed = tuple(names.split(";"))
    if "" in signed or names != names.lower() or len(set(signed)) != len(signed):
        raise Malformed(f"SignedHeaders {names!r} is not a list of lower-case header names.")
    access_key, day = sections[:2]
    region = sections[2] if regional else ""
    return Credential(
        algorithm, access_key, day, region, sections[-2], text[len(access_key) + 1 :], text, names, signed, frozenset(signed)
    )


def _date(amz_date: str, credential: Credential, name: str) -> int:
    if not amz_date:
        raise Malformed(f"The {name} is missing.")
    try:
        date = canonical_request.epoch(amz_date)
    except ValueError as flaw:
        raise Malformed(f"The {name} is wrong: {flaw}.") from flaw
    if not amz_date.startswith(credential.day) or len(credential.day) != 8:
        raise Malformed(f"Invalid credential date {credential.day!r}. This date is not the same as {amz_date!r}.")
    return date


def _payload_left_out(request: Request, credential: Credential) -> str:
    """boto3's plain SigV4A signer sends no hash with a request that has no body. Everyone else must."""
    headers = request.headers
    if not credential.region and headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers:
        return canonical_request.EMPTY_SHA256
    raise ApiError(
        "InvalidRequest",
        "Missing required header for this request: x-amz-content-sha256. (curl: -H 'x-amz-content-sha256: UNSIGNED-PAYLOAD')",
    )


def _unknown_algorithm(line: str, *, s3: bool) -> ApiError:
    algorithm = line.split(" ", 1)[0]
    if s3:
        return ApiError(
            "InvalidRequest",
            f"The authorization mechanism {algorithm!r} is not supported. Please use {sigv4.ALGORITHM}.",
        )
    if not line.strip():
        return ApiError("MissingAuthenticationToken", "The Authorization header is empty.")
    return ApiError("IncompleteSignature", f"Unsupported AWS 'algorithm': {algorithm!r}. Please use {sigv4.ALGORITHM}.")


def _wrong_service(found: RequestSignature, services: frozenset[str], *, s3: bool) -> ApiError:
    expected = ", ".join(sorted(services))
    if s3:
        return malformed(found.where, f"Incorrect service {found.service!r}. This endpoint belongs to {expected!r}.", s3=True)
    return ApiError("SignatureDoesNotMatch", f"Credential should be scoped to correct service: {expected!r}.")


# -- query form


def _from_query(request: Request, form: str | None, *, s3: bool) -> RequestSignature:
    members, repeated = presigned_url.members(request.query)
    if form == sigv2.ALGORITHM:
        return _from_sigv2(request, members, repeated)
    missing = [name for name in presigned_url.REQUIRED if not members.get(name)]
    if missing:
        raise Malformed(f"Query-string authentication version 4 requires the parameter {missing[0]}.")
    twice = sorted(repeated.intersection((*presigned_url.REQUIRED, "X-Amz-Security-Token", "X-Amz-Region-Set", "X-Amz-Content-Sha256")))
    if twice:
        raise Malformed(f"The parameter {twice[0]} stands in the query twice.")
    algorithm = members["X-Amz-Algorithm"]
    if algorithm not in _ALGORITHMS:
        raise _unknown_algorithm(algorithm, s3=s3)
    found = credential(algorithm, members["X-Amz-Credential"], members["X-Amz-SignedHeaders"])
    region_set = members.get("X-Amz-Region-Set", "")
    if not found.region and not region_set:
        raise Malformed(f"{sigv4a.ALGORITHM} requires the parameter X-Amz-Region-Set.")
    amz_date = members["X-Amz-Date"]
    session = "X-Amz-S3session-Token" if found.service == "s3express" else "X-Amz-Security-Token"
    return RequestSignature(
        found,
        amz_date,
        _date(amz_date, found, "parameter X-Amz-Date"),
        members[presigned_url.SIGNATURE],
        members.get(session, ""),
        region_set if not found.region else "",
        _life(members["X-Amz-Expires"]),
        "query",
        _payload_of_url(request, members.get("X-Amz-Content-Sha256", ""), found),
    )


def _payload_of_url(request: Request, member: str, credential: Credential) -> str:
    """A URL may be signed together with the header; an unsigned header has no say (and step 8 refuses it)."""
    if not member.isascii():
        raise Malformed("X-Amz-Content-Sha256 is not a payload mode.")
    if member:
        return member
    if "x-amz-content-sha256" in credential.signed_set:
        return request.headers.get("x-amz-content-sha256", canonical_request.UNSIGNED_PAYLOAD)
    return canonical_request.UNSIGNED_PAYLOAD


def _life(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > 20:
        raise Malformed("X-Amz-Expires should be a number.")
    if not 1 <= int(text) <= PRESIGN_MAX_S:
        raise Malformed(f"X-Amz-Expires must be at least 1 and less than a week (in seconds); that is {PRESIGN_MAX_S}.")
    return int(text)


def _from_sigv2(request: Request, members: dict[str, str], repeated: frozenset[str]) -> RequestSignature:
    missing = [name for name in sigv2.REQUIRED if not members.get(name)]
    if missing or repeated.intersection(sigv2.REQUIRED):
        raise ApiError(
            "AccessDenied", "Query-string authentication requires the Signature, Expires and AWSAccessKeyId parameters, once each."
        )
    loose = sorted(sigv2.UNCOVERED.intersection(members))
    if loose:
        raise ApiError("AccessDenied", f"A signature of version 2 does not cover {loose[0]!r}. Please use {sigv4.ALGORITHM}.")
    expires = members["Expires"]
    if not (expires.isascii() and expires.isdecimal()) or len(expires) > 20:
        raise ApiError("AccessDenied", f"Invalid date (should be seconds since epoch): {expires!r}")
    access_key, headers = members[sigv2.SENTINEL_PARAMETER], request.headers
    found = Credential(sigv2.ALGORITHM, access_key, "", "", "s3", "", access_key, "", (), frozenset())
    lowered = {name.lower(): value for name, value in members.items()}
    token = lowered.get("x-amz-security-token") or headers.get("x-amz-security-token", "")
    payload = headers.get("x-amz-content-sha256", canonical_request.UNSIGNED_PAYLOAD)  # signed, as all x-amz-* headers are
    return RequestSignature(found, expires, 0, members["Signature"], token, "", int(expires), "query", payload)
