import json

import pytest

from atoll.domain.errors import ApiError
from atoll.rules.policy.parse import parse

GOOD = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}


def text(statement=GOOD, **more):
    return json.dumps({"Version": "2012-10-17", "Statement": statement, **more})


@pytest.mark.parametrize(
    "broken",
    [
        "", " {}", "[]", '"x"', "{", "{}", "nonsense", '{"Statement": []}', '{"Statement": {}}', '{"Statement": ["x"]}',
        '{"Statement": [{}]}', '{"Statement": [{"Effect": "Maybe"}]}', '{"Statement": [{"Effect": "allow"}]}',
        text(Version="2020-01-01"), text(Version=7), '{"Statement": NaN}', '{"a":' * 20_000,
    ],
    ids=range(17),
)  # fmt: skip
@pytest.mark.parametrize(
    ("kind", "code"),
    [("resource", "MalformedPolicy"), ("identity", "MalformedPolicyDocument"), ("trust", "MalformedPolicyDocument")],
)
def test_what_cannot_be_read_is_malformed(broken, kind, code):
    with pytest.raises(ApiError) as caught:
        parse(broken, kind=kind)
    assert (caught.value.code, caught.value.status) == (code, 400)


def test_one_statement_need_not_be_in_a_list():
    assert len(parse(text(), kind="identity").statements) == 1


def test_statements_know_their_place_and_name():
    policy = parse(text([GOOD, {**GOOD, "Sid": "Two", "Effect": "Deny"}]), kind="identity")
    assert [(s.index, s.sid, s.name) for s in policy.statements] == [(0, "", "number 1"), (1, "Two", '"Two"')]
    assert [s.index for s in policy.allows] == [0]
    assert [s.index for s in policy.denies] == [1]


@pytest.mark.parametrize(
    "odd",
    [
        {"Condition": "x"},
        {"Condition": {"StringEquals": "x"}},
        {"Condition": {"StringSounds": {"k": "v"}}},
        {"Action": []},
        {"Resource": []},
        {"Resource": {"a": "b"}},
    ],
    ids=str,
)
def test_a_statement_that_makes_no_sense_is_kept_and_never_applies(odd):
    assert parse(text({**GOOD, **odd}), kind="identity").statements[0].sound is False


def test_booleans_and_numbers_are_read_as_their_text():
    statement = {**GOOD, "Condition": {"Bool": {"aws:SecureTransport": True}, "NumericEquals": {"s3:max-keys": [1, 2.5]}}}
    conditions = parse(text(statement), kind="identity").statements[0].conditions
    assert [c.values for c in conditions] == [("true",), ("1", "2.5")]


def test_the_old_version_has_no_variables():
    old = json.dumps({"Statement": {**GOOD, "Resource": "arn:aws:s3:::${aws:username}"}})
    statement = parse(old, kind="identity").statements[0]
    assert statement.resource_tests[0]("arn:aws:s3:::${aws:username}", {"aws:username": "ann"}) is True
    assert parse(old, kind="identity").keys == frozenset()


def test_a_policy_tells_which_keys_it_can_ask_for():
    statement = {
        **GOOD,
        "Resource": "arn:aws:s3:::b/${aws:username}",
        "Condition": {"StringEquals": {"s3:ExistingObjectTag/Team": "${aws:PrincipalTag/Team}"}},
    }
    policy = parse(text(statement), kind="identity")
    assert policy.keys == {"aws:username", "s3:existingobjecttag/team", "aws:principaltag/team"}
    assert policy.asks("s3:existingobjecttag/")
    assert not policy.asks("s3:prefix")


def test_a_trust_policy_speaks_of_its_own_role():
    trust = {"Effect": "Allow", "Principal": "*", "Action": "sts:AssumeRole"}
    assert parse(text(trust), kind="trust").statements[0].resources == ("*",)
    assert parse(text(trust), kind="resource").statements[0].sound is False


def test_a_policy_is_equal_to_itself_alone():
    assert parse(text(), kind="identity") != parse(text(), kind="identity")
