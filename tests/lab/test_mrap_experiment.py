"""The whole experiment, small, as a user runs it."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from atoll.lab import keep_cpus_awake

pytestmark = [pytest.mark.client, pytest.mark.xdist_group("world")]
LAB = (sys.executable, "-m", "atoll", "lab")


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab")
    command = (*LAB, "mrap", "--files", "4", "--rounds", "2", "--overwrites", "1", "--json", "lab.json", "--html", "lab.html")
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr
    return folder, result


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
    assert found["processors_awake"] is keep_cpus_awake.is_possible()


def test_every_copy_was_counted(found):
    copied = found["counters"]["copied"]
    assert {region: row["puts"] for region, row in copied.items()} == dict.fromkeys(("us-west-2", "eu-central-1", "ap-northeast-1"), 5)
    assert all(row["bytes_sent"] > row["bytes_kept"] > 0 for row in copied.values())
    assert found["counters"]["mrap_bytes"] > 0


def test_the_counters_can_be_reckoned_again(ran, found):
    command = (*LAB, "cost", "--counters", "lab.json", "--json")
    result = subprocess.run(command, cwd=ran[0], capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(result.stdout)["total_usd"] == found["counted_cost"]["total_usd"]


def test_results_are_on_standard_output_and_progress_is_not(ran):
    result = ran[1]
    assert "access point" in result.stdout
    assert "starting a world" in result.stderr
    assert "starting a world" not in result.stdout


def test_the_report_was_written(ran):
    assert "</html>" in (ran[0] / "lab.html").read_text()


def test_the_loss_of_a_region_was_met_and_survived(found):
    loss = found["loss"]
    assert (loss["region"], loss["answered_by"]) == ("ap-northeast-1", "us-west-2")
    assert loss["before_p50_ms"] < 60 < 89 < loss["after_p50_ms"]
    assert 0 <= loss["failed_for_s"] < 5
    assert loss["failed_reads"] < 10
    assert loss["reads"] >= 60


def test_a_whole_run_is_not_partial(found):
    assert found["partial"] is False
    assert found["stages"]["unfinished"] == []
    assert found["stages"]["took_s"]["reads"] > 8 * 0.15  # eight reads of a bucket in Virginia from Tokyo alone


def test_its_story_stands_in_the_last_lines_and_native_prints_no_percent(ran):
    lines = ran[1].stdout.splitlines()
    assert "%" not in ran[1].stdout
    assert max(map(len, lines)) <= 100 or "HTML report" in max(lines, key=len)
    last = " ".join(lines[-25:])
    for words in ("Read in Tokyo: ", "is stale there for", "a month for 1,200 files", "faster than AWS because", "Tokyo's region was killed", "eu-central-1"):
        assert words in last
    assert lines[-1] == f"HTML report: {ran[0] / 'lab.html'}"


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory):
    """Stopped twice in the middle of its reads."""
    folder = tmp_path_factory.mktemp("interrupted")
    command = (*LAB, "mrap", "--files", "8", "--rounds", "200", "--overwrites", "1", "--json", "lab.json", "--html", "lab.html")
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env=os.environ | {"TMPDIR": str(folder)},
    ) as lab:  # fmt: skip
        try:
            while "reading from" not in lab.stderr.readline():
                assert lab.poll() is None
            time.sleep(3)
            lab.send_signal(signal.SIGINT)
            time.sleep(0.2)
            lab.send_signal(signal.SIGTERM)
            shown, text = lab.communicate(timeout=60)
        finally:
            lab.kill()
    return folder, lab.returncode, shown, text


def test_an_interrupted_run_keeps_what_it_measured_and_says_that_it_is_partial(interrupted):
    folder, status, shown, text = interrupted
    assert status in (130, -signal.SIGTERM)  # the second signal may come when all is written and taken down
    assert "interrupted" in text
    result = json.loads((folder / "lab.json").read_text())
    assert result["partial"] is True
    stages = result["stages"]
    assert (stages["finished"], stages["stopped"]) == (["world", "setup", "copies"], "interrupted")
    assert stages["unfinished"] == ["reads", "overwrites", "loss", "closing"]
    medians = {(cell["place"], cell["path"]): cell for cell in result["cells"] if cell["table"] == "s3_api" and cell["stat"] == "p50"}
    assert 0 < medians["us-east-1", "single"]["n"] < 8 * 200 + 1
    assert ("ap-northeast-1", "mrap") not in medians
    assert "PARTIAL: interrupted" in shown
    assert "us-east-1" in shown
    assert "PARTIAL: interrupted" in (folder / "lab.html").read_text()


def test_every_reading_of_an_interrupted_run_is_kept(interrupted):
    result = json.loads((interrupted[0] / "lab.json").read_text())
    rows = [json.loads(row) for row in (interrupted[0] / "lab.json.samples.jsonl").read_text().splitlines()]
    counted = sum(cell["n"] for cell in result["cells"] if cell["table"] == "client_cpu")
    assert 0 < len(rows) == counted


def test_an_interrupted_run_leaves_no_world_behind(interrupted):
    assert list(interrupted[0].glob("atoll-lab-*")) == []


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
