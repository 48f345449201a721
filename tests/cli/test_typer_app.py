"""Help, version, and the verbs that look into a world."""

import http.client
import json
import os
import re
import subprocess
from contextlib import suppress

import pytest
from typer.testing import CliRunner

from atoll.cli.exec_env_status import UNAVAILABLE
from atoll.cli.typer_app import app

pytestmark = pytest.mark.xdist_group("cli")

VERBS = [("up",), ("down",), ("connect",), ("exec",), ("env",), ("status",), ("check",), ("explain",), ("config", "show"), ("serve",), ("node-key",), ("lab", "mrap"), ("lab", "cost")]


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_every_verb_explains_itself_with_an_example(shell, verb):
    done = shell(*verb, "--help")
    assert done.returncode == 0
    assert "usage" in done.stdout.lower()
    assert f"atoll {' '.join(verb)}" in re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
    assert "xample" in done.stdout


def test_the_help_of_all_lists_every_verb(shell):
    output = shell("--help").stdout
    assert [verb[0] for verb in VERBS if verb[0] not in output] == []


def test_nothing_typed_is_answered_with_help(shell):
    assert "Usage" in shell().stdout


def test_a_verb_that_there_is_not(shell):
    done = shell("fly")
    assert done.returncode == 2
    assert "fly" in done.stderr


@pytest.mark.parametrize("verb", [("exec", "--", "true"), ("env", "--json"), ("status", "--json")])
def test_a_light_verb_ends_as_it_would_without_typer(tmp_path, verb):
    done = CliRunner().invoke(app, verb, env={"ATOLL_HOME": str(tmp_path / "none")})
    assert done.exit_code == UNAVAILABLE
    assert "atoll up" in done.stderr


@pytest.mark.parametrize("verb", ["exec", "env", "status"])
def test_the_help_of_a_light_verb_is_its_own_and_not_typers(verb):
    done = CliRunner().invoke(app, [verb, "--help"])
    assert done.exit_code == 0
    assert done.stdout.startswith(f"Usage: atoll {verb}")


def test_an_option_that_a_light_verb_does_not_have_reaches_it_and_is_refused_by_it():
    done = CliRunner().invoke(app, ["status", "--fast"])
    assert done.exit_code == 2
    assert done.stderr == "atoll: no such option: --fast; see `atoll status -h`\n"


def test_the_version_is_a_number(shell):
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", shell("version").stdout)


def test_the_world_in_force_can_be_printed_and_started_again(world):
    assert "us-west-2" in world("config", "show", ATOLL_HOME="/nonexistent").stdout
    assert "us-west-2" not in world("config", "show").stdout
    assert "[places.london]" in world("config", "show").stdout


def request_id(world):
    code = "import boto3, botocore\ntry:\n boto3.client('s3').get_object(Bucket='nobodys', Key='k')\nexcept botocore.exceptions.ClientError as e:\n print(e.response['ResponseMetadata']['RequestId'])"
    return world("exec", "--", "python", "-c", code).stdout.strip()


def test_a_refusal_is_explained(world):
    asked = request_id(world)
    output = world("explain", asked)
    assert output.returncode == 0
    assert "GetObject -> 404" in output.stdout
    assert "NoSuchBucket" in output.stdout
    events = json.loads(world("explain", asked, "--json").stdout)
    assert events[-1]["operation"] == "GetObject"


def test_the_last_request_is_explained_at_once_with_the_region_that_answered(world):
    code = "import boto3\nboto3.client('s3').list_buckets()"
    for key in ("one", "two"):
        put = f"import boto3\ntry:\n boto3.client('s3').get_object(Bucket='nobodys', Key='{key}')\nexcept Exception: pass"
        assert world("exec", "--from", "london", "--mode", "endpoint", "--", "python", "-c", put).returncode == 0
        output = world("explain", "--last").stdout
        assert re.match(r"entry: GET from london -> 404 in [\d.]+ ms, answered by us-east-1\nus-east-1: GetObject -> 404 in [\d.]+ ms, entered at london\n", output)
        assert f"  key: {key}\n" in output
    assert world("exec", "--", "python", "-c", code).returncode == 0
    assert world("explain", "--last").stdout.startswith("us-east-1: ListBuckets -> 200 in ")
    assert json.loads(world("explain", "--last", "--json").stdout)[0]["operation"] == "ListBuckets"


def test_what_the_entry_logged_is_in_its_file_when_it_has_answered_for_its_health(world):
    run = json.loads((world.home / "run.json").read_text())
    connection = http.client.HTTPConnection("127.0.0.1", run["places"][1]["port"], timeout=10)
    connection.request("GET", "/nobodys/k")
    response = connection.getresponse()
    response.read()
    connection.request("GET", "/_atoll/health")
    connection.getresponse().read()
    connection.close()
    assert f'"upstream_request_id":"{response.headers["x-amz-request-id"]}"' in (world.home / "logs" / "entry.jsonl").read_text()


@pytest.mark.parametrize(("setting", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colour_is_for_terminals_and_can_be_had_without(shell, setting, coloured):
    ours, theirs = os.openpty()
    environment = shell.env | {"TERM": "xterm-256color"} | setting
    subprocess.run(["atoll", "lab", "cost"], env=environment, cwd=shell.folder, stdout=theirs, check=True, timeout=40)
    os.close(theirs)
    shown = b""
    with open(ours, "rb", buffering=0) as terminal, suppress(OSError):  # a terminal whose other end is closed ends with EIO
        while piece := terminal.read(4096):
            shown += piece
    assert bool(re.search(rb"\x1b\[[0-9;]*3[0-7]m", shown)) is coloured
    assert b"0.546837" in shown


def test_one_request_is_named_or_the_last_one(world):
    for arguments in ((), ("--last", "F00")):
        done = world("explain", *arguments)
        assert (done.returncode, "name one request, or say --last" in done.stderr) == (2, True)


def test_where_nobody_asked_there_is_no_last_request(shell):
    done = shell("explain", "--last")
    assert (done.returncode, "no client has asked for anything yet" in done.stderr) == (127, True)


def test_the_world_in_force_can_be_printed_for_programs(world):
    assert list(json.loads(world("config", "show", "--json").stdout)["places"]) == ["us-east-1", "london"]


def test_a_request_that_nobody_made_cannot_be_explained(world):
    done = world("explain", "FFFFFFFFFFFFFFFF")
    assert done.returncode == 127
    assert "FFFFFFFFFFFFFFFF" in done.stderr


def test_a_running_world_is_whole(world):
    done = world("check")
    assert (done.returncode, done.stdout) == (0, "1 stores, 0 broken invariants\n")


def test_a_broken_store_fails_the_check_and_each_fault_is_named(shell):
    shell.up()
    code = "import boto3\ns3 = boto3.client('s3')\ns3.create_bucket(Bucket='demo')\ns3.put_object(Bucket='demo', Key='k', Body=b'x' * 400_000)"
    assert shell("exec", "--", "python", "-c", code).returncode == 0
    shell("down")
    (large,) = [path for path in (shell.home / "stores").rglob("*") if path.is_file() and path.stat().st_size == 400_000]
    large.unlink()
    done = shell("check", "--json")
    assert done.returncode == 1
    assert [json.loads(line)["kind"] for line in done.stdout.splitlines()] == ["file-missing"]
    assert "1 broken invariants" in shell("check").stdout


def test_without_stores_there_is_nothing_to_check(shell):
    assert shell("check").returncode == 127
