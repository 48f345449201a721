import json

import pytest

from atoll.rules.policy.parse import parse
from atoll.rules.policy.public_access import PublicAccess, is_public, strictest

A = "111122223333"


def policy(*statements):
    return parse(json.dumps({"Version": "2012-10-17", "Statement": list(statements)}), kind="resource")


def st(condition=None, who="*", action="s3:GetObject", effect="Allow", **more):
    made = {"Effect": effect, "Principal": who, "Action": action, "Resource": "arn:aws:s3:::b/*", **more}
    return made | ({"Condition": condition} if condition else {})


@pytest.mark.parametrize(
    ("condition", "public"),
    [
        pytest.param(None, True, id="no condition"),
        pytest.param({"IpAddress": {"aws:SourceIp": "203.0.113.0/24"}}, False, id="one /24"),
        pytest.param({"IpAddress": {"aws:SourceIp": "203.0.113.7/32"}}, False, id="one /32"),
        pytest.param({"IpAddress": {"aws:SourceIp": "203.0.113.7"}}, False, id="one bare address"),
        pytest.param({"IpAddress": {"aws:SourceIp": "0.0.0.0/0"}}, True, id="all of v4"),
        pytest.param({"IpAddress": {"aws:SourceIp": "::/0"}}, True, id="all of v6"),
        pytest.param({"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}}, False, id="a /8"),
        pytest.param({"IpAddress": {"aws:SourceIp": "0.0.0.0/1"}}, True, id="a /1"),
        pytest.param({"IpAddress": {"aws:SourceIp": "2001:db8::/32"}}, False, id="a v6 /32"),
        pytest.param({"IpAddress": {"aws:SourceIp": "2000::/3"}}, True, id="a v6 /3"),
        pytest.param({"IpAddress": {"aws:SourceIp": ["203.0.113.0/24", "0.0.0.0/0"]}}, True, id="one narrow, one wide"),
        pytest.param({"StringEquals": {"aws:SourceVpce": "vpce-1"}}, False, id="a fixed endpoint"),
        pytest.param({"StringEquals": {"aws:SourceVpc": ["vpc-1", "vpc-2"]}}, False, id="two fixed networks"),
        pytest.param({"StringLike": {"aws:SourceVpc": "vpc-*"}}, True, id="a pattern of networks"),
        pytest.param({"StringLike": {"aws:SourceVpc": "vpc-1"}}, False, id="StringLike without wildcard"),
        pytest.param({"StringEquals": {"aws:SourceVpc": "${aws:username}"}}, True, id="a variable"),
        pytest.param({"StringEquals": {"aws:PrincipalOrgID": "o-1"}}, False, id="an organization"),
        pytest.param({"StringEquals": {"aws:PrincipalAccount": A}}, False, id="an account"),
        pytest.param({"StringEquals": {"aws:SourceAccount": A}}, False, id="a source account"),
        pytest.param({"StringEquals": {"aws:SourceOwner": A}}, False, id="a source owner"),
        pytest.param({"ArnEquals": {"aws:PrincipalArn": f"arn:aws:iam::{A}:user/u"}}, False, id="a principal ARN"),
        pytest.param({"ArnLike": {"aws:PrincipalArn": f"arn:aws:iam::{A}:user/*"}}, True, id="a pattern of principals"),
        pytest.param({"ArnLike": {"aws:SourceArn": f"arn:aws:sns:us-east-1:{A}:t"}}, False, id="a source ARN"),
        pytest.param({"StringEquals": {"aws:Referer": "https://example.com"}}, True, id="a referer"),
        pytest.param({"Bool": {"aws:SecureTransport": "true"}}, True, id="TLS"),
        pytest.param({"StringNotEquals": {"aws:SourceVpce": "vpce-1"}}, True, id="not an endpoint"),
        pytest.param({"NotIpAddress": {"aws:SourceIp": "203.0.113.0/24"}}, True, id="not an address"),
        pytest.param({"StringEqualsIfExists": {"aws:SourceVpce": "vpce-1"}}, True, id="if it exists"),
        pytest.param({"ForAllValues:StringEquals": {"aws:SourceVpce": "vpce-1"}}, True, id="for all values"),
        pytest.param({"ForAnyValue:StringEquals": {"aws:PrincipalOrgPaths": "o-1/r-1/"}}, False, id="for any value"),
        pytest.param({"StringEquals": {"s3:DataAccessPointAccount": A}}, False, id="access points of an account"),
        pytest.param({"StringEquals": {"s3:DataAccessPointArn": f"arn:aws:s3::{A}:accesspoint/m.mrap"}}, False, id="an access point"),
        pytest.param({"StringLike": {"s3:DataAccessPointArn": f"arn:aws:s3::{A}:accesspoint/*"}}, False, id="access points by pattern"),
        pytest.param({"StringLike": {"s3:DataAccessPointArn": "arn:aws:s3::*:accesspoint/*"}}, True, id="access points of anybody"),
        pytest.param({"StringLike": {"aws:userid": "AROAX:*"}}, True, id="sessions of a role id"),
        pytest.param({"StringEquals": {"aws:userid": "AIDAX"}}, False, id="a user id"),
        pytest.param({"StringEquals": {"s3:x-amz-server-side-encryption-aws-kms-key-id": "k"}}, False, id="a key"),
        pytest.param({"Bool": {"aws:SecureTransport": "true"}, "StringEquals": {"aws:SourceVpc": "vpc-1"}}, False, id="one of two narrows"),
        pytest.param({"Null": {"aws:SourceVpc": "false"}}, True, id="merely present"),
    ],
)  # fmt: skip
def test_whether_a_grant_to_everybody_is_public(condition, public):
    assert is_public(policy(st(condition))) is public


@pytest.mark.parametrize(
    ("statements", "public"),
    [
        pytest.param([st(who={"AWS": A})], False, id="an account"),
        pytest.param([st(who={"AWS": "*"})], True, id="AWS star"),
        pytest.param([st(who={"AWS": [A, "*"]})], True, id="star among others"),
        pytest.param([st(who={"Service": "cloudfront.amazonaws.com"})], False, id="a service"),
        pytest.param([{"Effect": "Allow", "NotPrincipal": {"AWS": A}, "Action": "s3:*", "Resource": "*"}], True, id="everybody else"),
        pytest.param([st(), st(effect="Deny")], True, id="a deny does not help"),
        pytest.param([st(effect="Deny")], False, id="a deny alone"),
        pytest.param([st(who={"AWS": A}), st()], True, id="one of two"),
        pytest.param([st(action="s3:CreateBucket")], False, id="no data action"),
        pytest.param([st(action="s3:*")], True, id="all actions"),
        pytest.param([st(action="*")], True, id="really all actions"),
        pytest.param([st(action="s3:PutObject")], True, id="writing"),
        pytest.param([st(action="s3:DeleteObject")], True, id="deleting"),
        pytest.param([st(action="s3:AbortMultipartUpload")], True, id="aborting"),
        pytest.param([st(action="s3:RestoreObject")], True, id="restoring"),
        pytest.param([st(action="s3:ListBucket")], True, id="listing"),
        pytest.param([st(action="s3:ReplicateObject")], False, id="replicating"),
        pytest.param([{"Effect": "Allow", "Principal": "*", "NotAction": "s3:PutObject", "Resource": "*"}], True, id="all but one action"),
    ],
)  # fmt: skip
def test_which_policies_are_public(statements, public):
    assert is_public(policy(*statements)) is public


def test_the_strictest_setting_holds():
    assert strictest(PublicAccess(True), PublicAccess(restrict_public_buckets=True)) == PublicAccess(True, False, False, True)
    assert strictest() == PublicAccess(False, False, False, False)
