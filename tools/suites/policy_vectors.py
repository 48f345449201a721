"""How does our policy engine score on the public vectors of cloud-copilot/iam-simulate?

The vectors are another project's files: they stay in a checkout outside this repository, named by the environment variable
IAM_SIMULATE. Without it this script ends with an error, as a suite that does not run must not look like one that passes.

    IAM_SIMULATE=/path/to/iam-simulate .venv/bin/python tools/suites/policy_vectors.py
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from atoll.domain.caller import ANONYMOUS, Caller
from atoll.rules.policy.evaluate import evaluate
from atoll.rules.policy.model import AccessRequest, Attached, Kind, Policy, ProtectedResource
from atoll.rules.policy.parse import parse
from atoll.rules.policy.required_actions import required

Vector = Mapping[str, Any]

# Groups that ask for something else than a decision of ours, and why.
OUT_OF_SCOPE = {
    "discoveryMode/": "asks which conditions would matter, with unknown context",
    "endpoints/": "VPC endpoint policies: Atoll has no VPC",
    "iam/roles/reserved/denied": "reserved SSO roles: Atoll has none",
    "iam/managedPolicies/aws/denied": "AWS-managed policies are read-only; Atoll has none",
    "resourceWildcards/": "the request itself holds a wildcard: asks whether any resource would do",
    "simulationEngineIntegrationTests/": "expands wildcards of the request into resource patterns",
}
# Differences that we mean, by (group, part of the name).
EXPLAINED = {
    ("sessionPolicies", "even if session ARN in resource policy"): (
        "IAM's documentation adds a grant to the session ARN on top of the session policy (policy.md, section 3, row 10)"
    ),
    ("kms/aliases", "AWS-managed alias"): "aliases of AWS-managed keys are read-only; Atoll has no KMS",
}
# KMS keys: their own policy must allow even inside the account.
MUST_ALLOW = ":key/"


def vectors(checkout: Path) -> Iterator[tuple[str, Vector]]:
    for path in sorted(checkout.glob("src/**/*ests/**/*.json")):
        group = path.as_posix().split("/src/")[1].split("/", 1)[1]
        for vector in json.loads(path.read_text()):
            yield group.removeprefix("coreEngineTests/").removesuffix(".json"), vector


def skip_reason(group: str, vector: Vector) -> str:
    for prefix, reason in OUT_OF_SCOPE.items():
        if group.startswith(prefix):
            return reason
    if "request" not in vector:
        return "expands wildcards of the request into resource patterns"
    if (vector.get("simulation") or {}).get("mode") == "Discovery":
        return OUT_OF_SCOPE["discoveryMode/"]
    return OUT_OF_SCOPE["endpoints/"] if vector.get("endpointPolicies") else ""


def caller_of(principal: str | Mapping[str, str]) -> Caller:
    if not isinstance(principal, str):
        return ANONYMOUS
    if not principal.startswith("arn:"):
        return Caller("service", service=principal)
    account, resource = principal.split(":", 5)[4:]
    if resource.startswith("assumed-role/"):
        role = resource.split("/")[1]
        return Caller("role", account, principal, role_arn=f"arn:aws:iam::{account}:role/{role}")
    if resource.startswith("role/"):  # a role by itself calls nothing; one of its sessions does
        session = f"arn:aws:sts::{account}:assumed-role/{resource.rpartition('/')[2]}/session"
        return Caller("role", account, session, role_arn=principal)
    return Caller("root" if resource == "root" else "user", account, principal, name=resource.rpartition("/")[2])


def read(policy: Vector | None, kind: Kind = "identity") -> Policy | None:
    if policy and policy.get("Statement") == []:
        return Policy((), frozenset())  # cannot be put at AWS; here it stands for a policy that allows nothing
    return parse(json.dumps(policy), kind=kind) if policy else None


def all_read(policies: Sequence[Vector] | None, kind: Kind = "identity") -> list[Policy]:
    return [found for found in (read(policy, kind) for policy in policies or ()) if found is not None]


def levels(entries: Sequence[Vector] | None, kind: Kind) -> list[list[Policy]]:
    return [all_read(entry["policies"], kind) for entry in entries or ()]


def outcome(vector: Vector) -> str:
    request = vector["request"]
    service, _, name = request["action"].partition(":")
    if service == "sts" and name != "AssumeRole" and not required(service, name, {}):
        return "Allowed"
    arn, account = request["resource"]["resource"], request["resource"]["accountId"]
    own = read(vector.get("resourcePolicy"), "trust" if name == "AssumeRole" else "resource")
    guarded = ProtectedResource(
        arn,
        account,
        Attached(own, "resource policy") if own else None,
        must_allow=MUST_ALLOW in arn or name == "AssumeRole",
    )
    context = {
        key.lower(): tuple(value) if isinstance(value, list) else str(value)
        for key, value in (request.get("context") or {}).items()
    }
    boundaries = all_read(vector.get("permissionBoundaries"))
    session = read(vector.get("sessionPolicy"))
    decision = evaluate(
        AccessRequest(caller_of(request["principal"]), request["action"], (guarded,), context),
        identity=[Attached(policy, "identity policy") for policy in all_read(vector.get("identityPolicies"))],
        boundary=boundaries[0] if boundaries else None,
        session=[session] if session else [],
        scps=levels(vector.get("serviceControlPolicies"), "identity"),
        rcps=levels(vector.get("resourceControlPolicies"), "resource"),
    )
    return decision.outcome


def explanation(group: str, name: str) -> str:
    return next((reason for (known, part), reason in EXPLAINED.items() if group == known and part in name), "")


def main() -> int:
    place = os.environ.get("IAM_SIMULATE")
    if not place:
        sys.stderr.write("policy_vectors: set IAM_SIMULATE to a checkout of cloud-copilot/iam-simulate\n")
        return 2
    skipped: Counter[str] = Counter()
    score: Counter[str] = Counter()
    for group, vector in vectors(Path(place)):
        if reason := skip_reason(group, vector):
            skipped[reason] += 1
            continue
        ours, theirs = outcome(vector), vector["expected"]["response"]
        why = explanation(group, vector["name"])
        kind = "agreed" if ours == theirs else "explained" if why else "unexplained"
        score[kind] += 1
        if ours != theirs:
            print(f"{kind}  {group}: {vector['name']}: ours {ours}, theirs {theirs}. {why}")
    for reason, count in skipped.most_common():
        print(f"skipped {count:4d}  {reason}")
    print(f"agreed {score['agreed']} of {score.total()}, explained {score['explained']}, unexplained {score['unexplained']}")
    return 0 if score["agreed"] and not score["unexplained"] else 1


if __name__ == "__main__":
    sys.exit(main())
