import pytest

from atoll.rules.policy.conditions import OPERATORS, condition_of, holds


def judged(operator, values, given, key="k", variables=True):
    condition = condition_of(operator, key, values if isinstance(values, list) else [values], variables=variables)
    assert condition is not None
    context = given if isinstance(given, dict) else {} if given is None else {key.lower(): given}
    return holds(condition, context)


V4 = "203.0.113.7"
ARN = "arn:aws:cloudfront::111122223333:distribution/E1"


@pytest.mark.parametrize(
    ("operator", "values", "given", "expected"),
    [
        ("StringEquals", "a", "a", True),
        ("StringEquals", "a", "A", False),
        ("StringEquals", ["b", "a"], "a", True),
        ("StringEquals", "a*", "ab", False),
        ("StringEquals", "a*", "a*", True),
        ("StringNotEquals", "a", "a", False),
        ("StringNotEquals", "a", "b", True),
        ("StringNotEquals", ["a", "b"], "b", False),
        ("StringEqualsIgnoreCase", "Straße", "STRASSE", True),
        ("StringNotEqualsIgnoreCase", "a", "A", False),
        ("StringLike", "a*c", "abbbc", True),
        ("StringLike", "a?c", "abc", True),
        ("StringLike", "a?c", "abbc", False),
        ("StringLike", "A*", "abc", False),
        ("StringLike", "*", "", True),
        ("StringNotLike", "a*", "abc", False),
        ("StringNotLike", "a*", "xbc", True),
        ("NumericEquals", "10", "10.0", True),
        ("NumericEquals", "10", "ten", False),
        ("NumericNotEquals", "10", "11", True),
        ("NumericNotEquals", "10", "10", False),
        ("NumericLessThan", "10", "9", True),
        ("NumericLessThan", "10", "10", False),
        ("NumericLessThanEquals", "10", "10", True),
        ("NumericGreaterThan", "10", "11", True),
        ("NumericGreaterThan", "10", "10", False),
        ("NumericGreaterThanEquals", "10", "10", True),
        ("NumericLessThan", "-5", "-7", True),
        ("DateEquals", "2026-01-01T00:00:00Z", "1767225600", True),
        ("DateNotEquals", "2026-01-01T00:00:00Z", "1767225600", False),
        ("DateLessThan", "2026-01-02T00:00:00Z", "2026-01-01T23:59:59Z", True),
        ("DateLessThan", "2026-01-02", "2026-01-02T00:00:00Z", False),
        ("DateLessThanEquals", "1767225600", "2026-01-01T00:00:00Z", True),
        ("DateGreaterThan", "2026-01-01T00:00:00+02:00", "2025-12-31T22:30:00Z", True),
        ("DateGreaterThan", "2025", "2025-01-01T00:00:01Z", True),
        ("DateGreaterThanEquals", "2026-01-01T00:00:00", "2026-01-01T00:00:00Z", True),
        ("DateLessThan", "2026-01-02", "yesterday", False),
        ("Bool", "true", "true", True),
        ("Bool", "TRUE", "true", True),
        ("Bool", "false", "true", False),
        ("BinaryEquals", "QmluYXJ5", "QmluYXJ5", True),
        ("BinaryEquals", "QmluYXJ5", "QmluYXJ6", False),
        ("BinaryEquals", "QmluYXJ5", "not base64!", False),
        ("IpAddress", "203.0.113.0/24", V4, True),
        ("IpAddress", "203.0.113.7", V4, True),
        ("IpAddress", "203.0.113.8", V4, False),
        ("IpAddress", ["10.0.0.0/8", "203.0.113.0/24"], V4, True),
        ("IpAddress", "203.0.113.9/24", V4, True),
        ("IpAddress", "2001:db8::/32", "2001:db8::1", True),
        ("IpAddress", "2001:db8::/32", V4, False),
        ("IpAddress", "203.0.113.0/24", f"::ffff:{V4}", True),
        ("IpAddress", "203.0.113.0/24", "nowhere", False),
        ("NotIpAddress", "203.0.113.0/24", V4, False),
        ("NotIpAddress", "10.0.0.0/8", V4, True),
        ("ArnEquals", ARN, ARN, True),
        ("ArnLike", "arn:aws:cloudfront::111122223333:distribution/*", ARN, True),
        ("ArnLike", "arn:aws:cloudfront::*:distribution/E?", ARN, True),
        ("ArnEquals", "arn:aws:*::111122223333:distribution/E1", ARN, True),
        ("ArnLike", "arn:aws:*:distribution/E1", ARN, False),
        ("ArnLike", "arn:*", ARN, False),
        ("ArnLike", "arn:aws:sns:*:*:*", "arn:aws:sns:us-east-1:1:topic:sub", True),
        ("ArnNotEquals", ARN, ARN, False),
        ("ArnNotLike", "arn:aws:s3:::*", ARN, True),
        ("Null", "true", "here", False),
        ("Null", "false", "here", True),
    ],
)
def test_a_key_that_is_present(operator, values, given, expected):
    assert judged(operator, values, given) is expected


@pytest.mark.parametrize(
    ("operator", "value", "expected"),
    [
        ("StringEquals", "a", False),
        ("StringLike", "*", False),
        ("NumericEquals", "1", False),
        ("NumericLessThanEquals", "1000", False),
        ("DateLessThan", "2026-01-01", False),
        ("Bool", "true", False),
        ("Bool", "false", False),
        ("IpAddress", "0.0.0.0/0", False),
        ("ArnLike", "arn:*:*:*:*:*", False),
        ("BinaryEquals", "QQ==", False),
        ("StringNotEquals", "a", True),
        ("StringNotEqualsIgnoreCase", "a", True),
        ("StringNotLike", "*", True),
        ("NumericNotEquals", "1", True),
        ("DateNotEquals", "2026-01-01", True),
        ("NotIpAddress", "0.0.0.0/0", True),
        ("ArnNotEquals", ARN, True),
        ("ArnNotLike", ARN, True),
        ("Null", "true", True),
        ("Null", "false", False),
        ("StringEqualsIfExists", "a", True),
        ("StringNotEqualsIfExists", "a", True),
        ("BoolIfExists", "false", True),
        ("IpAddressIfExists", "10.0.0.0/8", True),
        ("ArnLikeIfExists", ARN, True),
        ("ForAllValues:StringEquals", "a", True),
        ("ForAllValues:StringNotEquals", "a", True),
        ("ForAnyValue:StringEquals", "a", False),
        ("ForAnyValue:StringNotEquals", "a", False),
        ("ForAnyValue:StringEqualsIfExists", "a", True),
    ],
)
def test_a_key_that_is_absent(operator, value, expected):
    assert judged(operator, value, None) is expected


@pytest.mark.parametrize("operator", [name for name in sorted(OPERATORS) if name != "null"])
def test_every_operator_but_null_takes_if_exists(operator):
    assert judged(operator + "IfExists", "1", None) is True


@pytest.mark.parametrize(("operator", "given", "expected"), [
    ("StringEqualsIfExists", "b", False),
    ("StringEqualsIfExists", "a", True),
    ("StringNotEqualsIfExists", "a", False),
    ("BoolIfExists", "b", False),
])  # fmt: skip
def test_if_exists_judges_a_key_that_exists(operator, given, expected):
    assert judged(operator, "a", given) is expected


@pytest.mark.parametrize(
    ("operator", "values", "given", "expected"),
    [
        ("ForAllValues:StringEquals", ["a", "b"], ("a", "b"), True),
        ("ForAllValues:StringEquals", ["a", "b"], ("a", "c"), False),
        ("ForAllValues:StringEquals", ["a", "b"], (), True),
        ("ForAllValues:StringEquals", ["a"], "a", True),
        ("ForAllValues:StringEquals", ["a"], "b", False),
        ("ForAllValues:StringLike", ["a*"], ("ab", "ac"), True),
        ("ForAllValues:StringNotEquals", ["a"], ("b", "c"), True),
        ("ForAllValues:StringNotEquals", ["a"], ("a", "c"), False),
        ("ForAnyValue:StringEquals", ["a", "b"], ("c", "b"), True),
        ("ForAnyValue:StringEquals", ["a", "b"], ("c", "d"), False),
        ("ForAnyValue:StringEquals", ["a"], (), False),
        ("ForAnyValue:StringNotEquals", ["a"], ("a", "b"), True),
        ("ForAnyValue:StringNotEquals", ["a"], ("a",), False),
        ("forallvalues:stringequals", ["a"], ("a",), True),
        ("StringEquals", ["a"], ("b", "a"), True),
        ("StringNotEquals", ["a"], ("b", "a"), False),
        ("StringNotEquals", ["a"], ("b", "c"), True),
        ("StringEquals", ["a"], (), False),
        ("StringNotEquals", ["a"], (), True),
        ("Null", ["true"], (), True),
    ],
)
def test_keys_of_several_values(operator, values, given, expected):
    assert judged(operator, values, given) is expected


@pytest.mark.parametrize(
    ("operator", "value", "given", "expected"),
    [
        ("StringEquals", "${aws:username}", {"k": "ann", "aws:username": "ann"}, True),
        ("StringEquals", "${aws:username}", {"k": "bob", "aws:username": "ann"}, False),
        ("StringLike", "home/${aws:username}/*", {"k": "home/ann/x", "aws:username": "ann"}, True),
        ("StringLike", "home/${aws:username}/*", {"k": "home/bob/x", "aws:username": "*"}, False),
        ("StringEquals", "${aws:username}", {"k": "ann"}, False),
        ("StringNotEquals", "${aws:username}", {"k": "ann"}, False),
        ("StringNotEquals", "${aws:username}", {}, True),
        ("StringEquals", "${aws:username, 'ann'}", {"k": "ann"}, True),
        ("StringEqualsIgnoreCase", "${aws:username}", {"k": "ANN", "aws:username": "ann"}, True),
        ("ArnLike", "arn:aws:s3:::${aws:username}-*", {"k": "arn:aws:s3:::ann-1", "aws:username": "ann"}, True),
        ("StringEquals", ["x", "${aws:gone}"], {"k": "x"}, True),
        ("StringLike", "${*}x", {"k": "*x"}, True),
        ("StringLike", "${*}x", {"k": "ax"}, False),
        ("StringEquals", "${$}{a}", {"k": "${a}"}, True),
        ("StringEquals", "${aws:PrincipalTag/Team}", {"k": "sea", "aws:principaltag/team": "sea"}, True),
        ("StringEquals", "${k2}", {"k": "a", "k2": ("a",)}, False),
    ],
)
def test_variables_in_values(operator, value, given, expected):
    assert judged(operator, value, given) is expected


def test_without_the_new_version_a_variable_is_text():
    assert judged("StringEquals", "${aws:username}", {"k": "${aws:username}", "aws:username": "ann"}, variables=False)


def test_condition_keys_have_no_case():
    assert judged("StringEquals", "a", "a", key="S3:Prefix")


@pytest.mark.parametrize(
    "name", ["StringSounds", "String", "", "NullIfExists", "ForSomeValues:StringEquals", "ForAllValues:", "IfExists"]
)
def test_an_operator_that_does_not_exist(name):
    assert condition_of(name, "k", ["a"], variables=True) is None
