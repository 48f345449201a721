"""A run that fails in the middle, without a world: what is written and how it ends."""

import json
import os
import signal

import pytest
from typer.testing import CliRunner

from atoll.cli.lab import app
from atoll.lab import mrap_experiment
from atoll.lab.client_workers import LabFailed
from atoll.lab.temporary_world import interruptible

ROWS = [("single", 0, 100.0, 1.0), ("mrap", 0, 10.0, 1.0), ("direct", 0, 9.0, 1.0)]


@pytest.fixture
def failing(monkeypatch):
    """Makes the run end with this error after the reads of two places."""

    def with_error(error):
        def stages(run):
            for name in ("world", "setup", "copies"):
                run.progress.begin(name)
                run.found.finished.append(name)
            run.progress.begin("reads")
            run.found.readings.add("ap-northeast-1", ROWS)
            run.found.readings.add("us-east-1", ROWS[:1])
            raise error

        monkeypatch.setattr(mrap_experiment.Run, "all", stages)

    return with_error


def lab(folder):
    return CliRunner().invoke(app, ["mrap", "--quick", "--json", str(folder / "lab.json"), "--html", str(folder / "lab.html")])


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [(LabFailed("the copies in eu-central-1: not within 120 s"), 1, "the copies in eu-central-1: not within 120 s"), (KeyboardInterrupt(), 130, "interrupted")],
)
def test_a_stage_that_fails_loses_nothing_of_the_stages_before(failing, tmp_path, error, status, words):
    failing(error)
    result = lab(tmp_path)
    assert result.exit_code == status
    assert words in result.stderr
    written = json.loads((tmp_path / "lab.json").read_text())
    assert (written["partial"], written["stages"]["stopped"]) == (True, words)
    assert written["stages"]["finished"] == ["world", "setup", "copies"]
    found = {(cell["place"], cell["path"]): cell["value"] for cell in written["cells"] if cell["stat"] == "p50" and cell["table"] == "s3_api"}
    assert found == {("us-east-1", "single"): 100.0, ("ap-northeast-1", "single"): 100.0, ("ap-northeast-1", "mrap"): 10.0}
    assert "counters" not in written
    assert f"PARTIAL: {words[:20]}" in result.stdout
    assert "Read in Tokyo: 100 ms" in result.stdout
    assert "PARTIAL" in (tmp_path / "lab.html").read_text()


def test_a_fault_of_ours_is_not_hidden_and_loses_nothing_either(failing, tmp_path):
    failing(ZeroDivisionError("ours"))
    result = lab(tmp_path)
    assert isinstance(result.exception, ZeroDivisionError)
    assert json.loads((tmp_path / "lab.json").read_text())["stages"]["stopped"] == "ours"


def test_the_second_signal_is_not_heard_while_results_are_written():
    before = signal.getsignal(signal.SIGINT)
    survived = False
    with pytest.raises(KeyboardInterrupt), interruptible():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            signal.pause()
        finally:
            os.kill(os.getpid(), signal.SIGINT)
            survived = True
    assert survived
    assert signal.getsignal(signal.SIGINT) is before
