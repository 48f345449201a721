import json
from decimal import Decimal

import pytest

from atoll.lab.cost_report import as_json, counter_inputs, exact_text, plan_inputs, read_counters, rows
from atoll.rules.aws_cost import PUBLISHED, Copied, Counters, of_counters, of_plan

COUNTERS = Counters({"us-west-2": Copied(3, 1500, 900)}, 4096)


def test_the_published_terms_are_exact_in_json():
    result = as_json(of_plan(PUBLISHED), plan_inputs(PUBLISHED), published=True)
    assert result["terms"] == {
        "replication_put": 0.5436,
        "cross_region_transfer": 0.00216,
        "replica_storage": 0.000087,
        "mrap_routing": 0.00099,
    }
    assert (result["total_usd"], result["total_usd_rounded"]) == (0.546837, 0.55)


def test_published_figures_stand_beside_and_only_for_the_published_plan():
    result = as_json(of_plan(PUBLISHED), plan_inputs(PUBLISHED), published=True)
    assert result["published"]["total"] == 0.54
    assert "published" not in as_json(of_plan(PUBLISHED), plan_inputs(PUBLISHED))


def test_json_tells_inputs_prices_with_dates_and_what_was_left_out():
    result = as_json(of_plan(PUBLISHED), plan_inputs(PUBLISHED))
    assert result["inputs"]["to"] == ["ap-northeast-1", "us-west-2", "eu-central-1"]
    assert result["prices"]["route_gb"] == {"usd": 0.0033, "quoted": "2026-10-21", "source": "S3 Multi-Region Access Points article"}
    assert "replication_time_control" in result["left_out"]


def test_amounts_of_the_lines_add_up_to_the_sum():
    result = as_json(of_plan(PUBLISHED), plan_inputs(PUBLISHED))
    assert sum(line["amount_usd"] for line in result["lines"]) == pytest.approx(0.546837)


def test_the_table_has_a_row_per_term_and_the_sum_last():
    assert list(rows(of_plan(PUBLISHED), published=True)) == [
        ("replication put", "108000 PUT", "0.5436", "99.4 %", "0.54"),
        ("cross region transfer", "0.108 GB", "0.00216", "0.4 %", "0.002"),
        ("replica storage", "0.0036 GB-month", "0.000087", "0.0 %", "< 0.001"),
        ("mrap routing", "0.3 GB", "0.00099", "0.2 %", "0.001"),
        ("sum", "", "0.546837", "", "0.54"),
    ]


@pytest.mark.parametrize(("amount", "text"), [("0.5436", "0.5436"), ("1E+3", "1000"), ("0.00008700", "0.000087"), ("0", "0")])
def test_amounts_are_written_with_all_digits_and_no_exponent(amount, text):
    assert exact_text(Decimal(amount)) == text


def test_counters_are_read_back_from_a_lab_run(tmp_path):
    file = tmp_path / "run.json"
    file.write_text(json.dumps({"experiment": "mrap", "counters": counter_inputs(COUNTERS)}))
    assert read_counters(file) == COUNTERS


def test_counters_may_also_be_a_file_of_their_own(tmp_path):
    file = tmp_path / "counters.json"
    file.write_text(json.dumps(counter_inputs(COUNTERS)))
    assert of_counters(read_counters(file)).total == of_counters(COUNTERS).total


@pytest.mark.parametrize("text", ["{}", '{"counters": {"copied": []}}', '{"copied": {"us-west-2": {}}, "mrap_bytes": 1}'])
def test_a_file_without_counters_is_refused(tmp_path, text):
    file = tmp_path / "other.json"
    file.write_text(text)
    with pytest.raises(ValueError, match="no counters"):
        read_counters(file)
