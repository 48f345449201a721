"""The whole experiment, small, as a user runs it."""

import json
import os
import signal
import subprocess
import sys

import pytest

from atoll.lab import awake

pytestmark = [pytest.mark.client, pytest.mark.xdist_group("world")]
LAB = (sys.executable, "-m", "atoll", "lab")


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab")
    command = (*LAB, "mrap", "--files", "4", "--rounds", "2", "--overwrites", "1", "--json", "lab.json", "--html", "lab.html")
    told = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert told.returncode == 0, told.stderr
    return folder, told


@pytest.fixture(scope="module")
def found(ran):
    return json.loads((ran[0] / "lab.json").read_text())


def test_it_has_eight_medians(found):
    assert len([cell for cell in found["cells"] if cell["table"] == "s3_api" and cell["stat"] == "p50"]) == 8


def test_a_single_bucket_far_away_costs_the_round_trip_and_the_access_point_does_not(found):
    medians = {(cell["place"], cell["path"]): cell["value"] for cell in found["cells"] if cell["table"] == "s3_api" and cell["stat"] == "p50"}
    assert 146.4 < medians["ap-northeast-1", "single"] < 200
    assert medians["ap-northeast-1", "mrap"] < 60


def test_an_overwrite_arrived_everywhere(found):
    propagation = found["propagation"]
    assert len(propagation["all_buckets_s"]) == len(propagation["readable_through_mrap_s"]) == 1
    assert 0 < propagation["all_buckets_s"][0] < 20


def test_every_reading_is_kept(ran):
    rows = (ran[0] / "lab.json.samples.jsonl").read_text().splitlines()
    assert len(rows) == 4 * 3 * 8


def test_the_processors_were_kept_awake_where_that_is_possible(found):
    assert found["processors_awake"] is awake.possible()


def test_every_copy_was_counted(found):
    copied = found["counters"]["copied"]
    assert {region: row["puts"] for region, row in copied.items()} == dict.fromkeys(("us-west-2", "eu-central-1", "ap-northeast-1"), 5)
    assert all(row["bytes_sent"] > row["bytes_kept"] > 0 for row in copied.values())
    assert found["counters"]["mrap_bytes"] > 0


def test_the_counters_can_be_reckoned_again(ran, found):
    command = (*LAB, "cost", "--counters", "lab.json", "--json")
    told = subprocess.run(command, cwd=ran[0], capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(told.stdout)["total_usd"] == found["counted_cost"]["total_usd"]


def test_results_are_on_standard_output_and_progress_is_not(ran):
    told = ran[1]
    assert "access point" in told.stdout
    assert "starting a world" in told.stderr
    assert "starting a world" not in told.stdout


def test_the_report_was_written(ran):
    assert "</html>" in (ran[0] / "lab.html").read_text()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_lab_that_is_stopped_leaves_no_world_behind(tmp_path, number):
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen((*LAB, "mrap", "--quick"), stderr=subprocess.PIPE, env=environment, start_new_session=True) as lab:
        assert b"starting a world" in lab.stderr.readline()
        assert b"making buckets" in lab.stderr.readline()
        [_home] = tmp_path.glob("atoll-lab-*")
        lab.send_signal(number)
        words = lab.stderr.read()
    assert b"interrupted; the lab's world is down" in words
    assert lab.returncode == 130
    assert list(tmp_path.glob("atoll-lab-*")) == []
