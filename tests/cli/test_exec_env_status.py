"""`atoll exec`, `env`, `status`."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.xdist_group("cli")


def test_a_command_keeps_its_streams_and_its_exit_status(world):
    done = world("exec", "--", "sh", "-c", "cat; echo no >&2; exit 7", stdin="words")
    assert (done.returncode, done.stdout, done.stderr) == (7, "words", "no\n")


def test_options_of_the_command_are_the_commands(world):
    assert world("exec", "--from", "london", "--", "echo", "--from", "--help", "--json").stdout == "--from --help --json\n"


def test_a_command_that_there_is_not(world):
    done = world("exec", "--", "no-such-command")
    assert (done.returncode, done.stderr) == (127, "atoll: no-such-command is not on the PATH\n")


def test_a_command_that_was_forgotten(world):
    done = world("exec", "--from", "london")
    assert done.returncode == 2
    assert "a command is missing" in done.stderr


@pytest.mark.parametrize("verb", [("exec", "--from", "atlantis", "--", "true"), ("env", "--from", "atlantis")])
def test_a_place_that_there_is_not_is_told_with_those_that_are(world, verb):
    done = world(*verb)
    assert (done.returncode, done.stderr) == (64, "atoll: atlantis is no place of this world; there are: us-east-1, london\n")


@pytest.mark.parametrize("verb", [("exec", "--", "true"), ("env",), ("status",)])
def test_without_a_world_it_says_how_to_start_one(shell, verb):
    done = shell(*verb)
    assert done.returncode == 69
    assert f"there is no world in {shell.home}; start one with `atoll up`" in done.stderr


def variables(done):
    return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)


def test_exec_sets_what_clients_read_in_both_cases_and_takes_away_what_leads_astray(world):
    astray = {"AWS_PROFILE": "work", "AWS_SESSION_TOKEN": "t", "AWS_ENDPOINT_URL_S3": "http://x", "AWS_ENDPOINT_URL": "http://x", "ALL_PROXY": "http://x", "REQUESTS_CA_BUNDLE": "/x", "AWS_USE_FIPS_ENDPOINT": "true", "https_proxy": "http://x", "NO_PROXY": "*", "KEPT": "1"}
    found = variables(world("exec", "--from", "london", "--", "env", **astray))
    run = json.loads((world.home / "run.json").read_text())
    url = f"http://127.0.0.1:{run['places'][1]['port']}"
    assert {found[name] for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy")} == {url}
    assert {found[name] for name in ("AWS_CA_BUNDLE", "SSL_CERT_FILE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS")} == {str(world.home / "ca.pem")}
    assert (found["AWS_REGION"], found["AWS_DEFAULT_REGION"], found["NO_PROXY"], found["no_proxy"]) == ("us-east-1", "us-east-1", "", "")
    assert (found["AWS_ACCESS_KEY_ID"], found["AWS_SECRET_ACCESS_KEY"]) == (run["access_key_id"], run["secret_access_key"])
    assert found["KEPT"] == "1"
    assert not found.keys() & {"AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "ALL_PROXY", "REQUESTS_CA_BUNDLE", "AWS_USE_FIPS_ENDPOINT", "NODE_OPTIONS"}


def test_the_preload_for_node_comes_on_request(world):
    assert "--require" in variables(world("exec", "--node", "--", "env"))["NODE_OPTIONS"]


def test_env_can_be_evaluated_by_a_shell(world):
    lines = world("env", "--from", "london").stdout
    program = f"export AWS_PROFILE=work ALL_PROXY=http://x AWS_ENDPOINT_URL_S3=http://x\n{lines}\nenv"
    found = variables(subprocess.run(["sh", "-c", program], env=world.env, capture_output=True, text=True, timeout=10, check=True))
    assert found["AWS_REGION"] == "us-east-1"
    assert not found.keys() & {"AWS_PROFILE", "ALL_PROXY", "AWS_ENDPOINT_URL_S3"}


def test_env_as_json_says_the_same(world):
    as_json = json.loads(world("env", "--json").stdout)
    assert as_json["HTTPS_PROXY"].startswith("http://127.0.0.1:")
    assert all(f"export {name}=" in world("env").stdout for name in ("HTTPS_PROXY", "AWS_CA_BUNDLE"))


def test_endpoint_mode_sets_an_endpoint_and_keeps_the_proxy_for_what_does_not_follow_it(world):
    found = json.loads(world("env", "--mode", "endpoint", "--json").stdout)
    url = found["AWS_ENDPOINT_URL"]
    assert url.startswith("http://127.0.0.1:")
    assert {found[name] for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy")} == {url}
    assert (found["NO_PROXY"], found["no_proxy"]) == ("", "")
    assert found["AWS_ENDPOINT_URL_S3_CONTROL"] == url.replace("127.0.0.1", "localhost")


def test_a_shell_that_goes_from_endpoint_to_proxy_keeps_no_endpoint(world):
    program = f"{world('env', '--mode', 'endpoint').stdout}\n{world('env').stdout}\nenv"
    found = variables(subprocess.run(["sh", "-c", program], env=world.env, capture_output=True, text=True, timeout=10, check=True))
    assert not [name for name in found if name.startswith("AWS_ENDPOINT_URL")]


def test_status_tells_every_place_as_json_and_as_a_table(world):
    output = json.loads(world("status", "--json").stdout)
    assert [(row["name"], row["kind"], row["state"]) for row in output["places"]] == [("us-east-1", "region", "ready"), ("london", "city", "ready"), ("entry", "entry", "ready")]
    assert output["home"] == str(world.home)
    table = world("status")
    assert (table.returncode, table.stdout.splitlines()[0].split()) == (0, ["place", "kind", "state", "port", "pid", "restarts"])
    assert "secret" not in json.dumps(output).lower()


def test_status_fails_while_a_place_is_stopped(world):
    assert world("down", "--place", "us-east-1").returncode == 0
    assert world("status").returncode == 1
    assert world.places()["us-east-1"]["state"] == "stopped"
    assert world("up", "--detach", "--place", "us-east-1").returncode == 0
    assert world("status").returncode == 0


def test_another_home_may_be_named_on_the_command_line(world):
    assert world("status", "--home", world.home, ATOLL_HOME="/nonexistent").returncode == 0


def test_the_verbs_that_are_typed_most_load_nothing_heavy():
    program = "import sys; from atoll.cli import exec_env_status, main; print(sorted({'typer', 'rich', 'botocore', 'asyncio', 'cryptography', 'msgspec'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=20, check=True)
    assert done.stdout == "[]\n"
