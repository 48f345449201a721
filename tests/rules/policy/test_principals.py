import json

import pytest

from atoll.domain.caller import ANONYMOUS, Caller
from atoll.rules.policy import principals
from atoll.rules.policy.model import AccessRequest
from atoll.rules.policy.parse import parse
from atoll.rules.policy.principals import PrincipalMatch, account_of, forbidden, match_principal, principal_of

A = "111122223333"
USER, ROLE, SESSION = f"arn:aws:iam::{A}:user/u", f"arn:aws:iam::{A}:role/r", f"arn:aws:sts::{A}:assumed-role/r/s"
user = Caller("user", A, USER)
session = Caller("role", A, SESSION, role_arn=ROLE)
service = Caller("service", service="s3.amazonaws.com")


def statement(element, effect="Allow", name="Principal"):
    text = {"Statement": {"Effect": effect, name: element, "Action": "*", "Resource": "*"}}
    return parse(json.dumps(text), kind="resource").statements[0]


def asked(caller):
    return AccessRequest(caller, "s3:GetObject", (), {})


@pytest.mark.parametrize(
    ("caller", "element", "expected"),
    [
        (user, "*", PrincipalMatch.EVERYONE),
        (user, {"AWS": USER}, PrincipalMatch.DIRECT),
        (user, {"AWS": ["*", USER]}, PrincipalMatch.DIRECT),
        (user, {"AWS": A}, PrincipalMatch.ACCOUNT),
        (user, {"AWS": f"arn:aws:iam::{A}:root"}, PrincipalMatch.ACCOUNT),
        (user, {"AWS": "999999999999"}, PrincipalMatch.NONE),
        (user, {"AWS": f"arn:aws:iam::{A}:user/*"}, PrincipalMatch.NONE),
        (user, {"AWS": f"arn:aws:iam::{A}:user/U"}, PrincipalMatch.NONE),
        (session, {"AWS": SESSION}, PrincipalMatch.DIRECT),
        (session, {"AWS": ROLE}, PrincipalMatch.ROLE),
        (session, {"AWS": [A, ROLE]}, PrincipalMatch.ROLE),
        (session, {"AWS": A}, PrincipalMatch.ACCOUNT),
        (service, {"Service": "s3.amazonaws.com"}, PrincipalMatch.DIRECT),
        (service, {"Service": ["ec2.amazonaws.com", "s3.amazonaws.com"]}, PrincipalMatch.DIRECT),
        (service, {"AWS": A}, PrincipalMatch.NONE),
        (ANONYMOUS, "*", PrincipalMatch.EVERYONE),
        (ANONYMOUS, {"AWS": A, "Service": "s3.amazonaws.com"}, PrincipalMatch.NONE),
        (user, {"Federated": "cognito-identity.amazonaws.com"}, PrincipalMatch.NONE),
        (user, {"Service": "s3.amazonaws.com", "AWS": USER}, PrincipalMatch.DIRECT),
        (user, {"Unheard": "of"}, PrincipalMatch.NONE),
        (user, {}, PrincipalMatch.NONE),
        (user, 7, PrincipalMatch.NONE),
    ],
)
def test_how_a_grant_reaches_a_caller(caller, element, expected):
    assert match_principal(statement(element), asked(caller)) is expected


@pytest.mark.parametrize(("bounded", "expected"), [(False, False), (True, True)])
def test_not_principal_spares_who_is_listed_unless_bounded(bounded, expected):
    denial = statement({"AWS": USER}, "Deny", "NotPrincipal")
    assert forbidden(denial, asked(user), bounded=bounded) is expected


root = Caller("root", A, f"arn:aws:iam::{A}:root")


@pytest.mark.parametrize("listed", [A, f"arn:aws:iam::{A}:root"])
@pytest.mark.parametrize(("caller", "expected"), [(root, False), (user, True), (session, True), (service, True), (ANONYMOUS, True)])
def test_not_principal_with_an_account_spares_its_root_user_alone(listed, caller, expected):
    assert forbidden(statement({"AWS": listed}, "Deny", "NotPrincipal"), asked(caller), bounded=False) is expected


def test_an_allow_for_all_but_an_account_gives_its_users_nothing():
    assert match_principal(statement({"AWS": A}, "Allow", "NotPrincipal"), asked(user)) is PrincipalMatch.NONE


def test_the_account_can_be_made_a_condition_of_being_listed(monkeypatch):
    monkeypatch.setattr(principals, "NOTPRINCIPAL_NEEDS_ACCOUNT", True)
    assert forbidden(statement({"AWS": USER}, "Deny", "NotPrincipal"), asked(user), bounded=False)
    assert not forbidden(statement({"AWS": [USER, A]}, "Deny", "NotPrincipal"), asked(user), bounded=False)


@pytest.mark.parametrize(
    ("text", "account"), [(A, A), (f"arn:aws:iam::{A}:root", A), (f"arn:aws-cn:iam::{A}:root", A), (USER, ""), ("*", ""), ("1", "")]
)
def test_what_stands_for_a_whole_account(text, account):
    assert account_of(text) == account


def test_the_entries_are_kept_as_written():
    found = principal_of({"AWS": ["*", A], "Service": "s3.amazonaws.com"})
    assert found is not None
    assert found.entries == (("AWS", "*"), ("AWS", A), ("Service", "s3.amazonaws.com"))
