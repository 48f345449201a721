"""The managed policies of AWS that every world has."""

import pytest

from atoll.domain.caller import Caller
from atoll.rules.policy.evaluate import evaluate
from atoll.rules.policy.model import AccessRequest, Attached, ProtectedResource
from atoll.rules.policy.parse import parse
from atoll.services.iam.aws_managed_policies import MANAGED

ALICE = Caller("user", "111122223333", "arn:aws:iam::111122223333:user/alice", "AIDA", "alice")


@pytest.mark.parametrize(
    ("name", "action", "allowed"),
    [
        ("AdministratorAccess", "iam:CreateUser", True),
        ("AdministratorAccess", "s3:PutObject", True),
        ("AmazonS3FullAccess", "s3:PutObject", True),
        ("AmazonS3FullAccess", "iam:CreateUser", False),
        ("AmazonS3ReadOnlyAccess", "s3:GetObject", True),
        ("AmazonS3ReadOnlyAccess", "s3:ListBucket", True),
        ("AmazonS3ReadOnlyAccess", "s3:PutObject", False),
    ],
)
def test_a_managed_policy_grants_what_its_name_says(name, action, allowed):
    record = MANAGED[f"arn:aws:iam::aws:policy/{name}"]
    policy = Attached(parse(record.document, kind="identity"), name)
    asked = AccessRequest(ALICE, action, (ProtectedResource("arn:aws:s3:::b/k", "111122223333"),), {})
    assert evaluate(asked, identity=[policy]).allowed is allowed
