"""The condition keys that a policy may use.

A key that AWS fills and Atoll does not would make a Deny that never applies: such a policy is refused when it is put. Keys that
no request of this world can carry (there is no organization, no VPC, no second factor, no federation) are absent here as they would be
on AWS, and may be used.
Source: IAM user guide, "AWS global condition context keys"; Service Authorization Reference, condition keys for Amazon S3, IAM, STS.
"""

from __future__ import annotations

from collections.abc import Iterable

from atoll.domain.errors import not_implemented
from atoll.rules.policy.context import FILLED, TAG_KEYS
from atoll.rules.policy.model import Kind
from atoll.rules.policy.parse import malformed

# Filled by AWS on calls that Atoll answers, and not here.
UNFILLED = frozenset({"aws:principalservicenameslist", "aws:tokenissuetime", "iam:associatedresourcearn"})
UNFILLED_TAGS = frozenset({"aws:resourcetag", "iam:resourcetag", "s3:buckettag"})

# Never on a call that Atoll answers.
_ABSENT = frozenset(
    (
        "aws:assumedroot", "aws:calledvia", "aws:calledviaawsmcp", "aws:calledviafirst", "aws:calledvialast",
        "aws:chatbotsourcearn", "aws:ec2instancesourceprivateipv4", "aws:ec2instancesourcevpc", "aws:federatedprovider",
        "aws:multifactorauthage", "aws:principalorgid", "aws:principalorgpaths", "aws:resourceorgid", "aws:resourceorgpaths",
        "aws:sourceidentity", "aws:sourceorgid", "aws:sourceorgpaths", "aws:sourcevpc", "aws:sourcevpcarn", "aws:sourcevpce",
        "aws:viaawsmcpservice", "aws:vpceaccount", "aws:vpceorgid", "aws:vpceorgpaths", "aws:vpcsourceip",
        "s3:accessgrantsinstancearn", "s3:accesspointtag", "s3:destinationregion", "s3:existingjoboperation",
        "s3:existingjobpriority", "s3:inventoryaccessibleoptionalfields", "s3:isreplicationpauserequest",
        "s3:jobsuspendedcause", "s3:requestjoboperation", "s3:requestjobpriority",
    )
)  # fmt: skip


def check_filled(keys: Iterable[str]) -> None:
    """Raises NotImplemented for a key, of a condition or in a variable, that AWS fills and Atoll does not."""
    for key in sorted(keys):
        name, slash, _ = key.lower().partition("/")
        if name in UNFILLED or (slash and name in UNFILLED_TAGS):
            raise not_implemented(f"the condition key {key}")


def check_key(key: str, kind: Kind) -> None:
    """Raises MalformedPolicy, as PutBucketPolicy does, for a name of aws: or s3: in a condition of a resource policy that is no key at all."""
    name, slash, _ = key.lower().partition("/")
    if kind == "resource" and not _known(name, tagged=bool(slash)):
        raise malformed(kind, f"Policy has an invalid condition key: {key}.")


def _known(name: str, *, tagged: bool) -> bool:
    if name in _ABSENT:
        return True
    if not name.startswith(("aws:", "s3:")):
        return True
    return name in TAG_KEYS | UNFILLED_TAGS if tagged else name in FILLED | UNFILLED or name.startswith("s3:x-amz-")
