"""`atoll account`, and `--account` of `env`, `exec` and `explain`."""

import json
import stat
import time

import pytest

REFUSED = """
import boto3, botocore
try:
    boto3.client("s3").get_object(Bucket="first-accounts", Key="k")
except botocore.exceptions.ClientError as refusal:
    print(refusal.response["ResponseMetadata"]["RequestId"])
"""
pytestmark = pytest.mark.xdist_group("cli")


def listed(shell):
    return {row["name"]: row for row in json.loads(shell("account", "list", "--json").stdout)}


def test_an_account_is_made_while_the_world_runs_and_its_key_pair_opens_doors_at_once(world):
    done = world("account", "create", "second")
    assert done.returncode == 0, done.stderr
    found = listed(world)
    assert list(found) == ["main", "second"]
    assert found["second"]["id"] in done.stdout
    identity = world("exec", "--account", "second", "--", "aws", "sts", "get-caller-identity", "--query", "Account", "--output", "text")
    assert identity.stdout.strip() == found["second"]["id"], identity.stderr


def test_the_list_and_the_making_tell_no_secret(world):
    done = world("account", "create", "quiet", "--json")
    secret = json.loads(world("env", "--json", "--account", "quiet").stdout)["AWS_SECRET_ACCESS_KEY"]
    output = done.stdout + world("account", "list").stdout + world("account", "list", "--json").stdout
    assert (json.loads(done.stdout)["name"], secret in output) == ("quiet", False)


@pytest.mark.parametrize("name", ["main", "1st"])
def test_a_name_that_cannot_be_is_refused(world, name):
    done = world("account", "create", name)
    assert (done.returncode, done.stderr.startswith("atoll: "), done.stdout) == (64, True, "")


@pytest.mark.parametrize("verb", [("env", "--account", "nobody"), ("exec", "--account", "nobody", "--", "true")])
def test_an_account_that_there_is_not_is_told_with_those_that_are(world, verb):
    done = world(*verb)
    assert done.returncode == 64
    assert "atoll: nobody is no account of this world; there are: main" in done.stderr


def test_an_account_may_be_named_by_its_id(world):
    main = listed(world)["main"]["id"]
    assert world("env", "--account", main).stdout == world("env").stdout


def test_explain_names_the_accounts_of_caller_and_resource(world):
    world("account", "create", "asking")
    bucket = "s3api", "create-bucket", "--bucket", "first-accounts"
    assert world("exec", "--", "aws", *bucket).returncode == 0
    request_id = world("exec", "--account", "asking", "--", "python", "-c", REFUSED).stdout.strip()
    found = listed(world)

    def explained():
        output = world("explain", request_id).stdout
        return output if "owner:" in output else ""

    output = until(explained)
    assert f"account: {found['asking']['id']} (asking)" in output
    assert f"owner: {found['main']['id']} (main)" in output


def until(condition, tries=50):
    """Logs are written a few times a second."""
    for _ in range(tries):
        if found := condition():
            return found
        time.sleep(0.1)
    raise AssertionError("it was never told")


def test_an_account_is_made_before_the_world_ever_ran(shell):
    assert shell("account", "create", "early").returncode == 0
    assert list(listed(shell)) == ["main", "early"]
    shell.up()
    assert list(listed(shell)) == ["main", "early"]
    assert stat.S_IMODE((shell.home / "state.db").stat().st_mode) == 0o600
    assert json.loads((shell.home / "run.json").read_text())["account"] == listed(shell)["main"]["id"]


def test_where_there_is_no_world_there_is_no_list(shell):
    done = shell("account", "list")
    assert (done.returncode, "start one with `atoll up`" in done.stderr) == (69, True)


def test_a_place_with_a_copy_of_the_state_sends_to_the_one_that_holds_it(shell):
    shell.home.mkdir(parents=True)
    (shell.home / "run.json").write_text(json.dumps({"state": "us-east-1", "places": []}))
    done = shell("account", "create", "second")
    assert (done.returncode, done.stderr) == (69, "atoll: the control state of this world is in us-east-1: create accounts there\n")
    assert not (shell.home / "state.db").exists()


def test_help_is_there(shell):
    assert all("Usage" in shell("account", *more, flag).stdout for more in ((), ("create",), ("list",)) for flag in ("-h", "--help"))
