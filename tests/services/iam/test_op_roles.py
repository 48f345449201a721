"""IAM roles."""

from urllib.parse import unquote

import pytest

from atoll.domain.errors import ApiError

TRUST = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"s3.amazonaws.com"},"Action":"sts:AssumeRole"}]}'
OTHER = TRUST.replace("s3.", "transfer.")
POLICY = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:*","Resource":"*"}]}'
ADMIN = "arn:aws:iam::aws:policy/AdministratorAccess"


def code(ask, *args, **members) -> str:
    with pytest.raises(ApiError) as caught:
        ask(*args, **members)
    return caught.value.code


def create(world, name="r", **members):
    return world.ask("CreateRole", RoleName=name, AssumeRolePolicyDocument=TRUST, **members).members["Role"]


def test_a_new_role_is_shown_with_all_that_was_said_of_it(world):
    role = create(
        world,
        "Reader",
        Path="/svc/",
        Description="reads",
        MaxSessionDuration=7200,
        PermissionsBoundary=ADMIN,
        Tags=[{"Key": "k", "Value": "v"}],
    )
    assert role["Arn"] == "arn:aws:iam::111122223333:role/svc/Reader"
    assert role["RoleId"].startswith("AROA")
    assert (role["RoleName"], role["Path"], role["Description"], role["MaxSessionDuration"]) == ("Reader", "/svc/", "reads", 7200)
    assert role["Tags"] == [{"Key": "k", "Value": "v"}]
    assert role["PermissionsBoundary"]["PermissionsBoundaryArn"] == ADMIN
    assert world.ask("GetRole", RoleName="Reader").members["Role"] == role


def test_the_trust_policy_comes_back_url_encoded(world):
    shown = create(world)["AssumeRolePolicyDocument"]
    assert '"' not in shown
    assert "{" not in shown
    assert "/" not in shown
    assert unquote(shown) == TRUST


def test_what_was_not_said_is_not_shown_or_has_its_default(world):
    role = create(world)
    assert (role["Path"], role["MaxSessionDuration"]) == ("/", 3600)
    assert not {"Description", "Tags", "PermissionsBoundary"} & role.keys()


def test_names_do_not_differ_by_case_alone(world):
    create(world, "r")
    assert code(create, world, "R") == "EntityAlreadyExists"


def test_a_user_may_have_the_name_of_a_role(world):
    create(world, "same")
    world.ask("CreateUser", UserName="same")
    assert world.ask("GetUser", UserName="same").members["User"]["Arn"].endswith(":user/same")


@pytest.mark.parametrize("text", ["", "{", "[]", POLICY, TRUST.replace("Allow", "Maybe"), TRUST.replace("s3.amazonaws.com", "")])
def test_a_text_that_is_no_trust_policy_is_refused(world, text):
    answers = {"MalformedPolicyDocument", "ValidationError"}
    assert code(world.ask, "CreateRole", RoleName="r", AssumeRolePolicyDocument=text) in answers
    create(world)
    assert code(world.ask, "UpdateAssumeRolePolicy", RoleName="r", PolicyDocument=text) in answers


def test_a_trust_policy_has_a_quota_that_white_space_does_not_touch(world):
    long = TRUST.replace("Allow", "Allow", 1).replace("{", "{" + " " * 3000, 1)
    world.ask("CreateRole", RoleName="r", AssumeRolePolicyDocument=long)
    sids = TRUST.replace('"Effect"', '"Sid":"' + "x" * 3000 + '","Effect"')
    assert code(world.ask, "CreateRole", RoleName="s", AssumeRolePolicyDocument=sids) == "LimitExceeded"


@pytest.mark.parametrize("seconds", [3599, 43_201])
def test_a_session_lasts_one_to_twelve_hours_at_most(world, seconds):
    assert code(create, world, MaxSessionDuration=seconds) == "ValidationError"


def test_a_boundary_must_exist(world):
    assert code(create, world, PermissionsBoundary="arn:aws:iam::111122223333:policy/none") == "NoSuchEntity"


def test_a_boundary_is_set_and_taken_away(world):
    create(world)
    world.ask("PutRolePermissionsBoundary", RoleName="r", PermissionsBoundary=ADMIN)
    assert world.ask("GetRole", RoleName="r").members["Role"]["PermissionsBoundary"]["PermissionsBoundaryArn"] == ADMIN
    world.ask("DeleteRolePermissionsBoundary", RoleName="r")
    assert "PermissionsBoundary" not in world.ask("GetRole", RoleName="r").members["Role"]


@pytest.mark.parametrize("description", ["x" * 1001, "bell\a", "\u2603"])
def test_a_description_is_short_and_latin(world, description):
    assert code(create, world, Description=description) == "ValidationError"


def test_roles_are_listed_in_order_by_path_and_in_pages(world):
    create(world, "zoe")
    create(world, "Adam", Path="/svc/")
    create(world, "ben", Path="/svc/")
    assert [role["RoleName"] for role in world.ask("ListRoles").members["Roles"]] == ["Adam", "ben", "zoe"]
    page = world.ask("ListRoles", PathPrefix="/svc/", MaxItems=1).members
    assert ([role["RoleName"] for role in page["Roles"]], page["IsTruncated"]) == (["Adam"], True)
    rest = world.ask("ListRoles", PathPrefix="/svc/", Marker=page["Marker"]).members
    assert [role["RoleName"] for role in rest["Roles"]] == ["ben"]


def test_the_trust_policy_is_replaced(world):
    create(world)
    world.ask("UpdateAssumeRolePolicy", RoleName="r", PolicyDocument=OTHER)
    assert unquote(world.ask("GetRole", RoleName="r").members["Role"]["AssumeRolePolicyDocument"]) == OTHER


def test_a_role_with_policies_is_not_deleted(world):
    create(world)
    world.ask("PutRolePolicy", RoleName="r", PolicyName="p", PolicyDocument=POLICY)
    assert code(world.ask, "DeleteRole", RoleName="r") == "DeleteConflict"
    world.ask("DeleteRolePolicy", RoleName="r", PolicyName="p")
    world.ask("AttachRolePolicy", RoleName="r", PolicyArn=ADMIN)
    assert code(world.ask, "DeleteRole", RoleName="r") == "DeleteConflict"
    world.ask("DetachRolePolicy", RoleName="r", PolicyArn=ADMIN)
    world.ask("DeleteRole", RoleName="r")
    assert code(world.ask, "GetRole", RoleName="r") == "NoSuchEntity"


@pytest.mark.parametrize(
    ("operation", "members"),
    [
        ("GetRole", {}),
        ("DeleteRole", {}),
        ("UpdateAssumeRolePolicy", {"PolicyDocument": TRUST}),
        ("PutRolePermissionsBoundary", {"PermissionsBoundary": ADMIN}),
        ("DeleteRolePermissionsBoundary", {}),
    ],
)
def test_a_role_that_is_not_there_is_said_to_be_missing(world, operation, members):
    assert code(world.ask, operation, RoleName="none", **members) == "NoSuchEntity"
