import json

import pytest

from atoll.lab.client_workers import LabFailed
from atoll.lab.region_outage import Read, as_json, last_answer_from, outage

# A caller reads every 100 ms: 30 ms each until the region is lost at 1.0, and 130 ms from 1.3 on.
BEFORE = [Read(0.1 * n, 0.1 * n + 0.030) for n in range(10)]
FAILED = [Read(0.98, 1.02, "ServiceUnavailable"), Read(1.1, 1.15, "SlowDown"), Read(1.2, 1.25, "ServiceUnavailable")]
AFTER = [Read(1.3 + 0.2 * n, 1.43 + 0.2 * n) for n in range(10)]


def test_reads_failed_from_the_beginning_of_the_first_to_the_end_of_the_last():
    found = outage("tokyo", [*BEFORE, *FAILED, *AFTER], 1.0, "oregon")
    assert found.failed_for_s == pytest.approx(1.25 - 0.98)
    assert (found.reads, found.failed, found.errors) == (23, 3, ("ServiceUnavailable", "SlowDown"))


def test_the_medians_are_of_answered_reads_before_and_after():
    found = outage("tokyo", [*BEFORE, *FAILED, *AFTER], 1.0, "oregon")
    assert (found.before_ms, found.after_ms) == (pytest.approx(30), pytest.approx(130))


def test_the_first_answer_is_counted_from_the_loss():
    assert outage("tokyo", [*BEFORE, *FAILED, *AFTER], 1.0, "oregon").silent_s == pytest.approx(0.43)


def test_a_loss_that_nobody_met_failed_for_no_time():
    found = outage("tokyo", [*BEFORE, *AFTER], 1.0, "oregon")
    assert (found.failed, found.failed_for_s) == (0, 0.0)


def test_a_read_that_was_under_way_and_answered_counts_on_neither_side():
    found = outage("tokyo", [*BEFORE, Read(0.99, 9.0), *AFTER], 1.0, "oregon")
    assert (found.before_ms, found.after_ms) == (pytest.approx(30), pytest.approx(130))


@pytest.mark.parametrize("reads", [[*BEFORE, *FAILED], [*FAILED, *AFTER], [*BEFORE, *FAILED, *AFTER[:4]]])
def test_too_few_answers_give_no_figure(reads):
    with pytest.raises(LabFailed, match="too few"):
        outage("tokyo", reads, 1.0, "oregon")


def test_the_result_file_has_the_figures_rounded():
    result = as_json(outage("tokyo", [*BEFORE, *FAILED, *AFTER], 1.0, "oregon"))
    assert (result["before_p50_ms"], result["after_p50_ms"], result["failed_for_s"]) == (30.0, 130.0, 0.27)
    assert (result["region"], result["answered_by"], result["failed_reads"]) == ("tokyo", "oregon", 3)


def test_the_entry_s_log_says_which_region_answered_last(tmp_path):
    events = [
        {"event": "entry", "place": "tokyo", "status": 200, "bucket": "b", "region": "tokyo"},
        {"event": "entry", "place": "tokyo", "status": 200, "bucket": "b", "region": "oregon"},
        {"event": "entry", "place": "tokyo", "status": 503, "bucket": "b", "region": "tokyo"},
        {"event": "entry", "place": "london", "status": 200, "bucket": "b", "region": "ireland"},
        {"event": "entry", "place": "tokyo", "status": 200, "region": "virginia"},
        {"event": "routes"},
    ]
    log = tmp_path / "entry.jsonl"
    log.write_text("".join(json.dumps(event) + "\n" for event in events))
    assert last_answer_from(log, "tokyo") == "oregon"
