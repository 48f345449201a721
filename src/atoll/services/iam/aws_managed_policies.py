"""AWS's own managed policies that every world knows."""

from __future__ import annotations

import json
from collections.abc import Mapping

from atoll.services.iam.records import PolicyRecord

_S3_LAMBDA = "s3-object-lambda"
_READING = ("s3:Get*", "s3:List*", "s3:Describe*", f"{_S3_LAMBDA}:Get*", f"{_S3_LAMBDA}:List*")

# name: (policy id, actions), as iam:GetPolicyVersion shows them
_GRANTS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "AdministratorAccess": ("ANPAIWMBCKSKIEE64ZLYK", ("*",)),
    "AmazonS3FullAccess": ("ANPAIFIR6V6BVTRAHWINE", ("s3:*", f"{_S3_LAMBDA}:*")),
    "AmazonS3ReadOnlyAccess": ("ANPAIZTJ4DXE7G6AGAE6M", _READING),
}


def _managed(name: str, policy_id: str, actions: tuple[str, ...]) -> PolicyRecord:
    statement = {"Effect": "Allow", "Action": actions if len(actions) > 1 else actions[0], "Resource": "*"}
    return PolicyRecord(
        name=name,
        id=policy_id,
        arn=f"arn:aws:iam::aws:policy/{name}",
        path="/",
        document=json.dumps({"Version": "2012-10-17", "Statement": [statement]}),
        created_ms=1_423_161_600_000,  # 2015-02-05, when AWS made the three
    )


MANAGED: Mapping[str, PolicyRecord] = {
    policy.arn: policy for policy in (_managed(name, *grant) for name, grant in _GRANTS.items())
}
