"""How many of the published signing cases do we agree with? Runs the suite of awslabs/aws-c-auth from a checkout.

AWS_C_AUTH=<checkout> python tools/suites/sigv4_suite.py

Every signed request of the suite is parsed and made canonical by our rules; canonical request and string to sign must equal the
suite's byte for byte, and the signature must verify (ECDSA signatures are random, so they are never compared).
Expected: 75 of 76 in each of v4 and v4a. The miss adds its token after signing, which S3 does not do.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path

from atoll.domain.errors import ApiError
from atoll.domain.http_message import Request
from atoll.rules import canonical_request, presigned_url, sigv4, sigv4a
from atoll.rules.signature_parsing import RequestSignature, parse_signature

EXPECTED = 75


def parse(text: str) -> tuple[Request, bytes]:
    """Raw HTTP with bare line feeds, folded header lines and blanks in the target."""
    head, _, body = text.partition("\n\n")
    line, *lines = head.rstrip("\n").split("\n")
    method, _, rest = line.partition(" ")
    headers: dict[str, str] = {}
    for entry in _unfolded(lines):
        name, _, value = entry.partition(":")
        name, value = name.lower(), value.strip()
        headers[name] = f"{headers[name]},{value}" if name in headers else value
    return Request(method, rest.rpartition(" ")[0], headers), body.encode("latin-1")


def _unfolded(lines: list[str]) -> list[str]:
    found: list[str] = []
    for line in lines:
        if line[:1] == " ":
            found[-1] += f" {line.strip()}"
        else:
            found.append(line)
    return found


def asked(request: Request, request_signature: RequestSignature, body: bytes, *, normalize: bool) -> str:
    return canonical_request.canonical_request(
        request.method,
        canonical_request.canonical_path(request.path, s3=False, normalize=normalize),
        canonical_request.canonical_query(request.query, without=presigned_url.SIGNATURE if request_signature.where == "query" else ""),
        headers=canonical_request.canonical_headers(request.headers, request_signature.signed),
        names=request_signature.credential.names,
        payload=hashlib.sha256(body).hexdigest(),
    )


def holds(request_signature: RequestSignature, text: bytes, secret: str) -> bool:
    if request_signature.algorithm == sigv4a.ALGORITHM:
        return sigv4a.holds(sigv4a.public_key(request_signature.access_key, secret), text, request_signature.signature)
    key = sigv4.signing_key(secret, request_signature.day, request_signature.region, request_signature.service)
    return sigv4.signature(key, text) == request_signature.signature


def judge(case: Path, form: str) -> str:
    """What is wrong with one signed request; "" when nothing is."""
    context = json.loads((case / "context.json").read_text())
    request, body = parse((case / f"{form}-signed-request.txt").read_text("latin-1"))
    try:
        request_signature = parse_signature(request, s3=False)
    except ApiError as error:
        return str(error)
    if request_signature is None:
        return "anonymous"
    ours = asked(request, request_signature, body, normalize=context["normalize"])
    if ours != (case / f"{form}-canonical-request.txt").read_text("latin-1"):
        return "canonical request differs"
    text = canonical_request.string_to_sign(request_signature.algorithm, request_signature.amz_date, request_signature.scope, ours)
    if text.decode() != (case / f"{form}-string-to-sign.txt").read_text():
        return "string to sign differs"
    return "" if holds(request_signature, text, context["credentials"]["secret_access_key"]) else "signature differs"


def score(folder: Path) -> tuple[int, int]:
    good = total = 0
    for case in sorted(folder.iterdir()):
        for form in ("header", "query"):
            if not (case / f"{form}-signed-request.txt").exists():
                continue
            total += 1
            wrong = judge(case, form)
            good += not wrong
            if wrong:
                print(f"{folder.name} {case.name} {form}: {wrong}")
    return good, total


def main() -> int:
    checkout = os.environ.get("AWS_C_AUTH")
    if not checkout:
        print("Set AWS_C_AUTH to a checkout of github.com/awslabs/aws-c-auth.", file=sys.stderr)
        return 2
    suite = Path(checkout) / "tests" / "aws-signing-test-suite"
    scores = {name: score(suite / name) for name in ("v4", "v4a")}
    for name, (good, total) in scores.items():
        print(f"{name}: {good} of {total}")
    return 0 if all(good >= EXPECTED for good, _ in scores.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
