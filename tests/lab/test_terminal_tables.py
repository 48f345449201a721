import pytest

from atoll.lab import terminal_tables


@pytest.fixture
def shown(result, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")

    def of(profile):
        terminal_tables.show(result(profile))
        return capsys.readouterr().out

    return of


def test_each_median_stands_beside_the_published_one(shown):
    row = next(line for line in shown("aws").splitlines() if "ap-northeast-1" in line and "single" in line)
    assert row.split() == ["ap-northeast-1", "single", "bucket", "100.0", "173.6", "-42.4", "%", "103.4", "193.3", "-46.5", "%", "predicted"]


def test_it_fits_into_eighty_columns(shown):
    assert max(len(line.rstrip()) for line in shown("aws").splitlines() if "overhead" not in line) <= 80
    assert "…" not in shown("native") + shown("aws")


def test_native_shows_what_our_own_paths_cost(shown):
    assert "mrap - direct" in shown("native")
    assert "processors kept awake" in shown("native")
    assert "mrap - direct" not in shown("aws")


def test_native_prints_no_percent_and_says_why_it_is_faster(shown):
    assert "%" not in shown("native")
    assert "Profile native is faster than AWS because" in shown("native")
    assert "Profile native" not in shown("aws")
    assert "173.6" in shown("native")


def test_the_last_25_lines_tell_the_story(result, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "100")
    loss = {
        "region": "ap-northeast-1", "before_p50_ms": 30.4, "after_p50_ms": 135.2, "reads": 62, "failed_reads": 2,
        "failed_for_s": 0.034, "first_answer_after_s": 0.21, "answered_by": "us-west-2",
    }  # fmt: skip
    terminal_tables.show(result("aws") | {"loss": loss}, report=tmp_path / "demo.html")
    lines = capsys.readouterr().out.splitlines()[-25:]
    assert any(line.startswith("Read in Tokyo: 100 ms") for line in lines)
    assert max(len(line.rstrip()) for line in lines[:-1]) <= 100
    text = " ".join(" ".join(lines).split())
    for words in (
        "10 ms through the access point", "stale there for 21.8 s", "costs $0.55 a month", "Published for AWS: 174 ms, 30 ms, 22.2 s, $0.54",
        "n = 4 reads each", "predicted", "Real: a process per region", "2 of 62 reads failed, within 0.03 s", "30 ms before and 135 ms after", "seed 7",
    ):  # fmt: skip
        assert words in text
    assert lines[-1] == f"HTML report: {tmp_path / 'demo.html'}"


def test_a_partial_result_is_marked_and_shows_what_there_is(result, capsys):
    stages = {"finished": ["world"], "unfinished": ["setup"], "stopped": "interrupted"}
    whole = result("aws") | {"partial": True, "stages": stages}
    terminal_tables.show(whole | {"cells": [cell for cell in whole["cells"] if cell["place"] == "us-west-2"]})
    shown = capsys.readouterr().out
    assert "PARTIAL: interrupted; finished: world; not finished: setup." in shown
    assert "us-west-2" in shown
    assert "ap-northeast-1   single" not in shown
    nothing = {"cells": [], "overhead_ms": {}, "propagation": result("aws")["propagation"] | dict.fromkeys(("all_buckets_s", "readable_through_mrap_s", "stale_reads_each"), [])}
    terminal_tables.show(whole | nothing)
    assert "PARTIAL" in capsys.readouterr().out


def test_overwrites_are_listed_and_the_published_span_last(shown):
    lines = [line.split() for line in shown("aws").splitlines()]
    assert ["2", "22.75", "22.30", "50"] in lines
    assert "21.7 to 22.7" in shown("aws")


def test_the_cost_is_exact(shown):
    assert "0.546837" in shown("native")
    assert "0.000087" in shown("native")


def test_the_overheads_are_printed_in_profile_aws(shown):
    assert "single 4.50 in us-east-1" in shown("aws")
