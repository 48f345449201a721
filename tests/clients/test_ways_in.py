"""The README's table of clients: every line marked CI, in each way that it names, reading through the access point from Tokyo."""

import json
import re
import subprocess
import time
from pathlib import Path

import pytest

from clients.client_fixtures import NODE, VENV

pytestmark = [pytest.mark.client, pytest.mark.xdist_group("clients")]

ROOT = Path(__file__).parent.parent.parent
CLIENTS = VENV.parent / "clients" / "bin" / "python"  # pandas, pyarrow, minio, DuckDB: make clients-setup
TOKYO = "ap-northeast-1"
AT_ONCE_S = 10.0  # with starting the client; whoever waits for the outside waits for minutes

PYTHON = """
import glob, os, sys, sysconfig
ARN, ALIAS, KEY, SECRET = os.environ["ARN"], os.environ["ALIAS"], os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"]
"""
PRELUDES = {
    "boto3, awscrt": "import boto3\n",
    "pyarrow": "from pyarrow.fs import S3FileSystem\n",
    "pandas": "import pandas\nfrom pyarrow.fs import S3FileSystem\n",
    "minio": "from minio import Minio\n",
    # the extension comes from a package: DuckDB's own INSTALL would fetch it from outside
    "DuckDB": """
import duckdb, duckdb_extension_httpfs
duckdb.sql("LOAD '%s'" % glob.glob(duckdb_extension_httpfs.__path__[0] + "/extensions/*/httpfs.duckdb_extension")[0])
duckdb.sql(f"CREATE SECRET (TYPE s3, KEY_ID '{KEY}', SECRET '{SECRET}', REGION '{os.environ['AWS_REGION']}', URL_STYLE 'path')")
""",
}
SDK = """
import { S3Client, GetObjectCommand } from "@aws-sdk/client-s3";
import "@aws-sdk/signature-v4a";
const { ARN } = process.env;
const got = await LINE;
console.log(await got.Body.transformToString());
"""
WRITE = """
import pandas
from pyarrow.fs import S3FileSystem
pandas.DataFrame({"n": [11, 12, 13]}).to_parquet(f"{ALIAS}/table.parquet", filesystem=S3FileSystem())
"""
PRESIGN = """
    say(s3.generate_presigned_url("get_object", Params={"Bucket": argv[0], "Key": argv[1]}, ExpiresIn=900))
"""


def rows():
    """client, ways, line of the rows that CI walks."""
    text = (ROOT / "README.md").read_text()
    section = text[text.index("\n## Ways in\n") : text.index("\n## Longer runs\n")]
    for row in re.findall(r"^\| (.+?) \| (.+?) \| `(.+)` \| CI[^|]*\|$", section, re.MULTILINE):
        yield row[0], row[2], row[1]


def walks():
    for client, line, ways in rows():
        for mode in ("proxy", "endpoint", "sealed"):
            if mode in ways.partition(";")[0]:
                node = "--node" in ways and mode != "sealed"
                yield pytest.param(client, line, mode, node, id=f"{client}-{mode}".replace(" ", "-"))


@pytest.fixture(scope="module")
def point(world):
    """A table in the access point, written by pandas as it comes, and what the lines name."""
    assert CLIENTS.exists(), "pandas, pyarrow, minio and DuckDB are not installed; make clients-setup"
    names = {"ARN": world.arn, "ALIAS": world.alias}
    world.ok(CLIENTS, "-c", PYTHON + WRITE, place=TOKYO, mode="sealed", **names)
    names["URL"] = world.boto3(PRESIGN, world.arn, "hello", place=TOKYO)
    names["TABLE"] = world.boto3(PRESIGN, world.arn, "table.parquet", place=TOKYO)
    return names


def run(world, client, line, point, mode, *, node=False):
    where = {"place": TOKYO, "mode": mode, "node": node}
    if client == "JavaScript v3":
        (world.folder / "read.mjs").write_text(SDK.replace("LINE", line))
        if not (world.folder / "node_modules").exists():
            (world.folder / "node_modules").symlink_to(NODE / "node_modules")
        return world.ok("node", world.folder / "read.mjs", **where, **point)
    if client == "Node's fetch":
        return world.ok("node", "--input-type=module", "-e", f"const {{ URL }} = process.env; console.log({line})", **where, **point)
    if client in PRELUDES:
        python = "python" if client.startswith("boto3") else CLIENTS
        show = f"got = {line}\nprint(got.decode() if isinstance(got, bytes) else got)"
        return world.ok(python, "-c", PYTHON + PRELUDES[client] + show, **where, **point)
    return world.ok("sh", "-c", line, **where, **point, RCLONE_CONFIG="/nonexistent/rclone.conf")


@pytest.mark.parametrize(("client", "line", "mode", "node"), list(walks()))
def test_the_line_of_a_client_reads_the_nearest_copy(world, point, client, line, mode, node):
    result = run(world, client, line, point, mode, node=node)
    if "table.parquet" in line:
        assert re.findall(r"\b1[123]\b", result) == ["11", "12", "13"]
    else:
        assert result.strip() == TOKYO


def test_the_table_names_every_client_that_ci_must_walk():
    walked = {(client, mode) for client, _, mode, _ in (parameter.values for parameter in walks())}
    assert {client for client, mode in walked if mode == "sealed"} >= {"AWS CLI 1", "boto3, awscrt", "JavaScript v3", "Node's fetch", "curl", "rclone 1.75", "pyarrow", "pandas", "DuckDB", "minio"}
    assert {(client, mode) for client, mode in walked if client == "AWS CLI 1"} == {("AWS CLI 1", mode) for mode in ("proxy", "endpoint", "sealed")}


@pytest.mark.parametrize("client", ["pandas", "DuckDB"])
def test_a_presigned_sigv4a_url_reads_a_table(world, point, client):
    lines = {"pandas": 'pandas.read_parquet(os.environ["TABLE"])["n"].tolist()', "DuckDB": "duckdb.sql(f\"SELECT sum(n)::INT FROM read_parquet('{os.environ['TABLE']}')\").fetchall()"}
    result = {"pandas": "[11, 12, 13]", "DuckDB": "[(36,)]"}
    assert run(world, client, lines[client], point, "sealed").strip() == result[client]


OUTSIDE = {
    "pandas": 'pandas.read_csv("https://example.com/table.csv")',
    "pyarrow": 'S3FileSystem(endpoint_override="s3.example.com").open_input_stream("bucket/key")',
    "minio": 'Minio("play.min.io", KEY, SECRET, region="us-east-1").get_object("bucket", "key")',
    "DuckDB": "duckdb.sql(\"SELECT * FROM 'https://example.com/table.csv'\")",
    "Node's fetch": 'await fetch("https://example.com/")',
    "curl": "curl -sS https://example.com/",
}


@pytest.mark.parametrize("client", OUTSIDE)
def test_a_call_to_a_name_outside_of_the_world_fails_at_once(world, point, client):
    begun = time.monotonic()
    with pytest.raises(AssertionError, match=r"(?i)resolve|not known|ENOTFOUND|host|connect"):
        run(world, client, OUTSIDE[client], point, "sealed")
    assert time.monotonic() - begun < AT_ONCE_S


def test_s3control_arns_and_s3_share_endpoint_mode(world):
    program = """
        control = boto3.client("s3control", region_name="us-west-2")
        names = [one["Name"] for one in control.list_multi_region_access_points(AccountId=argv[0])["AccessPoints"]]
        say([s3.meta.endpoint_url, control.meta.endpoint_url, len(s3.list_buckets()["Buckets"]) >= 3, "walk" in names,
             boto3.client("sts").get_caller_identity()["Account"] == argv[0], code(boto3.client("iam").list_users),
             s3.get_object(Bucket=argv[1], Key="hello")["Body"].read().decode()])
    """
    result = world.boto3(program, world.account, world.arn, place=TOKYO, mode="endpoint")
    url = f"http://127.0.0.1:{world.port(TOKYO)}"
    assert result == [url, url.replace("127.0.0.1", "localhost"), True, True, True, 200, TOKYO]


def test_the_cli_asks_s3control_in_endpoint_mode(world):
    result = world.ok("aws", "s3control", "list-multi-region-access-points", "--region", "us-west-2", "--account-id", world.account, mode="endpoint")
    assert "walk" in [one["Name"] for one in json.loads(result)["AccessPoints"]]


def test_an_endpoint_on_the_command_line_does_not_lose_s3control(world):
    url = f"http://127.0.0.1:{world.port()}"
    result = world.ok("aws", "--endpoint-url", url, "s3control", "list-multi-region-access-points", "--region", "us-west-2", "--account-id", world.account, mode="endpoint")
    assert "walk" in [one["Name"] for one in json.loads(result)["AccessPoints"]]


def test_javascript_steers_access_points_in_endpoint_mode(world):
    result = json.loads(world.ok("node", NODE / "points.mjs", world.account, "walk-us-east-1", "walk-eu-central-1", mode="endpoint", node=True))
    assert result["status"] == "READY"


@pytest.mark.parametrize("url", ["http://s3.us-east-1.amazonaws.com/", "http://x.mrap.accesspoint.s3-global.amazonaws.com/", "http://example.com/", "http://127.0.0.1:{port}/"])
@pytest.mark.parametrize("client", [("curl", "-sS", "--proxytunnel"), ("node", "-e", "fetch(process.argv[1]).then(async (got) => console.log(await got.text()))")], ids=["curl", "fetch"])
def test_plain_http_in_a_tunnel_is_answered(world, url, client):
    assert "<Error>" in world.ok(*client, url.format(port=world.port()))


def test_a_listener_says_the_same_through_a_tunnel_and_without(world):
    url = f"https://127.0.0.1:{world.port()}/_atoll/health"
    assert '"ready": true' in subprocess.run(["curl", "-sS", "-x", f"http://127.0.0.1:{world.port()}", "--cacert", str(world.ca), url], env=world.env, capture_output=True, text=True, timeout=20, check=True).stdout
