import pytest

from atoll.rules.policy.action_names import IAM_ACTIONS, S3_ACTIONS, STS_ACTIONS, known_action, levels


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("s3:GetObject", True),
        ("S3:getobject", True),
        ("s3:Get*", True),
        ("s3:?etObject", True),
        ("*", True),
        ("s3:*", True),
        ("iam:PassRole", True),
        ("sts:TagSession", True),
        ("s3:HeadObject", False),
        ("s3:ListObjectsV2", False),
        ("s3:Fly*", False),
        ("ec2:RunInstances", False),
        ("", False),
        ("GetObject", False),
    ],
)
def test_which_actions_exist(name, known):
    assert known_action(name) is known


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("s3:GetObject", {"object"}),
        ("s3:ListBucket", {"bucket"}),
        ("s3:ListAllMyBuckets", {"account"}),
        ("s3:GetObject*", {"object"}),
        ("s3:ListBucket*", {"bucket"}),
        ("s3:GetMultiRegionAccessPoint", {"point"}),
        ("s3:Nothing", set()),
    ],
)
def test_what_an_action_acts_on(name, expected):
    assert levels(name) == expected


def test_no_name_stands_twice():
    names = [*S3_ACTIONS, *IAM_ACTIONS, *STS_ACTIONS]
    assert len({name.lower() for name in names}) == len(names)
