import json

import pytest
from typer.testing import CliRunner

from atoll.cli.lab import app

pytestmark = pytest.mark.xdist_group("cli")


@pytest.fixture
def run():
    return lambda *arguments: CliRunner().invoke(app, arguments)


def test_without_options_the_published_plan_is_reckoned(run):
    output = json.loads(run("cost", "--json").stdout)
    assert output["total_usd"] == 0.546837
    assert output["published"]["total"] == 0.54


def test_the_table_shows_each_term_and_the_sum(run):
    shown = run("cost").stdout
    assert "0.5436" in shown
    assert "0.546837" in shown


def test_own_numbers_are_reckoned(run):
    output = json.loads(
        run("cost", "--files", "5000", "--bytes", "20000", "--overwrites", "2", "--reads", "100", "--to", "eu-central-1", "--json").stdout
    )
    assert output["terms"] == {
        "replication_put": 1.62,
        "cross_region_transfer": 0.12,
        "replica_storage": 0.00245,
        "mrap_routing": 0.000198,
    }
    assert "published" not in output


def test_destinations_may_be_repeated_or_joined_by_commas(run):
    one = run("cost", "--to", "us-west-2", "--to", "eu-central-1", "--json").stdout
    assert one == run("cost", "--to", "us-west-2,eu-central-1", "--json").stdout


def test_no_destination_leaves_routing_only(run):
    assert json.loads(run("cost", "--to", "", "--json").stdout)["terms"] == {"mrap_routing": 0.00099}


def test_a_missing_price_is_refused_with_what_to_do(run):
    output = run("cost", "--to", "us-east-1")
    assert output.exit_code == 64
    assert "--price put_per_1000.us-east-1=USD" in output.stderr


def test_an_own_price_closes_the_gap(run):
    output = run(
        "cost", "--to", "us-east-1", "--price", "put_per_1000.us-east-1=0.005", "--price", "storage_gb_month.us-east-1=0.023", "--json"
    )
    assert json.loads(output.stdout)["terms"]["replication_put"] == 0.18


@pytest.mark.parametrize(
    "arguments",
    [("--overwrites", "many"), ("--reads", "-1"), ("--reads", "nan"), ("--price", "route_gb"), ("--counters", "x.json", "--files", "1")],
)
def test_nonsense_is_refused(run, arguments):
    assert run("cost", *arguments).exit_code == 2


@pytest.mark.parametrize("key", ["foo", "put_per_1000", "put_per_1000.us-eest-1", "PUT_PER_1000.us-west-2", "xfer_gb.us-west-2", ""])
def test_a_price_that_nothing_reads_is_refused_with_those_that_are_read(run, key):
    output = run("cost", "--price", f"{key}=1")
    assert output.exit_code == 64
    assert f"--price {key}: there is no such price; there are: " in output.stderr
    assert all(known in output.stderr for known in ("put_per_1000.ap-northeast-1", "storage_gb_month.us-east-1", "xfer_gb", "route_gb"))


def test_a_price_of_a_region_that_is_copied_to_is_known(run):
    prices = ("--price", "put_per_1000.sa-east-1=0.01", "--price", "storage_gb_month.sa-east-1=0.04")
    assert run("cost", *prices).exit_code == 64
    assert json.loads(run("cost", "--to", "sa-east-1", *prices, "--json").stdout)["terms"]["replication_put"] == 0.36


@pytest.mark.parametrize(("counters", "key"), [
    ({"copied": {}, "mrap_bytes": 1, "mrap_byte": 2}, "mrap_byte"),
    ({"copied": {"us-west-2": {"puts": 1, "bytes_sent": 1, "bytes_kept": 1, "gets": 1}}, "mrap_bytes": 1}, "gets"),
])  # fmt: skip
def test_a_counter_that_nothing_reads_is_refused(run, tmp_path, counters, key):
    (tmp_path / "c.json").write_text(json.dumps(counters))
    output = run("cost", "--counters", str(tmp_path / "c.json"))
    assert output.exit_code == 64
    assert f"{key} is no counter; there are: " in output.stderr


@pytest.mark.parametrize("content", [None, "{}", "not json"])
def test_a_counters_file_that_is_none_is_refused(run, tmp_path, content):
    file = tmp_path / "counters.json"
    if content is not None:
        file.write_text(content)
    assert run("cost", "--counters", str(file)).exit_code == 64


def test_an_unknown_profile_is_refused(run):
    output = run("mrap", "--profile", "fast")
    assert output.exit_code == 64
    assert "expected native or aws" in output.stderr


@pytest.mark.parametrize("option", ["--json", "--html"])
def test_a_folder_in_place_of_a_report_is_refused_before_anything_runs(run, tmp_path, option):
    output = run("mrap", option, str(tmp_path))
    assert output.exit_code == 64
    assert f"{option} {tmp_path}: this is a folder" in output.stderr


def test_a_report_into_a_folder_that_is_not_there_is_refused_before_anything_runs(run, tmp_path):
    output = run("mrap", "--json", str(tmp_path / "none" / "lab.json"))
    assert output.exit_code == 1
    assert "there is no folder" in output.stderr
