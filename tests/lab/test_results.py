import json

import pytest

from atoll.lab import results
from atoll.rules.published_latency import S3_API


def test_there_are_eight_medians_and_eight_tails_of_reads(result):
    cells = [cell for cell in result("native")["cells"] if cell["table"] == "s3_api"]
    assert sum(cell["stat"] == "p50" for cell in cells) == 8
    assert sum(cell["stat"] == "p95" for cell in cells) == 8


def test_every_read_cell_stands_beside_the_published_one(result):
    cell = next(cell for cell in result("aws")["cells"] if (cell["place"], cell["path"]) == ("ap-northeast-1", "single"))
    assert (cell["published"], cell["value"], cell["n"]) == (173.6, 100.0, 4)
    assert cell["deviation_percent"] == pytest.approx(-42.4)


def test_only_the_two_far_cells_with_independent_links_are_predictions(result):
    kinds = {(cell["place"], cell["path"]): cell["kind"] for cell in result("aws")["cells"] if cell["table"] == "s3_api"}
    assert {where for where, kind in kinds.items() if kind == "predicted"} == {
        ("ap-northeast-1", "single"),
        ("eu-central-1", "single"),
    }
    assert kinds["us-west-2", "single"] == "fitted"


def test_nothing_is_fitted_in_profile_native(result):
    assert not any("kind" in cell for cell in result("native")["cells"])


def test_native_compares_the_access_point_with_a_direct_read(result):
    cells = {(cell["place"], cell["path"], cell["stat"]): cell for cell in result("native")["cells"] if cell["table"] == "native"}
    over = cells["us-west-2", "mrap_over_direct", "p50_difference"]
    assert (over["value"], over["limit"]) == (1.0, 1.5)


def test_native_compares_the_single_bucket_with_its_link(result):
    cells = {(cell["place"], cell["path"]): cell for cell in result("native")["cells"] if cell["table"] == "native"}
    assert cells["us-west-2", "single_over_link"]["value"] == pytest.approx(100.0 - 61.2)
    assert cells["us-west-2", "single_over_link_less_client_cpu"]["value"] == pytest.approx(98.0 - 61.2)


def test_profile_aws_has_no_native_cells(result):
    assert not [cell for cell in result("aws")["cells"] if cell["table"] == "native"]


def test_the_clients_own_cpu_is_told(result):
    cells = [cell for cell in result("native")["cells"] if cell["table"] == "client_cpu"]
    assert {cell["value"] for cell in cells} == {2.0}


def test_propagation_is_the_last_bucket_and_the_reader_in_tokyo(result):
    found = result("aws")["propagation"]
    assert found["all_buckets_s"] == [22.0, 22.75]
    assert found["readable_through_mrap_s"] == [21.25, 22.3]
    assert (found["stale_reads"], found["stale_reads_each"]) == (90, [40, 50])


def test_mean_propagation_stands_beside_the_published_mean(result):
    cell = next(cell for cell in result("aws")["cells"] if cell["path"] == "all_three_buckets")
    assert (cell["value"], cell["published"], cell["unit"]) == (22.375, 22.46, "s")


def test_no_published_figure_is_copied_into_a_result(result):
    measured = {cell["value"] for cell in result("aws")["cells"]}
    assert measured.isdisjoint({number for figure in S3_API.values() for number in (figure.p50, figure.p95)})


def test_the_cost_of_the_published_workload_is_exact(result):
    cost = result("native")["cost"]
    assert (cost["total_usd"], cost["terms"]["replication_put"]) == (0.546837, 0.5436)


def test_every_link_tells_its_source(result):
    rows = {tuple(row["between"]): row for row in result("aws")["distances"]}
    assert rows["us-east-1", "ap-northeast-1"] == {"between": ["us-east-1", "ap-northeast-1"], "rtt_ms": 146.4, "source": "2026"}
    assert rows["us-east-1", "us-west-2"]["source"] == "article"
    assert len(rows) == 6


def test_a_result_says_with_what_it_was_made(result):
    found = result("aws")
    assert (found["experiment"], found["profile"], found["seed"]) == ("mrap", "aws", 7)
    assert found["machine"]["cpus"] >= 1
    assert found["commit"]
    assert "delay wrapper" in found["instrument"]


def test_the_machine_is_told_without_its_name(result):
    import platform

    assert platform.node() not in json.dumps(result("aws")["machine"]).split('"')


def test_samples_lie_beside_the_result_one_line_each(tmp_path, result, samples):
    results.write(tmp_path / "lab.json", result("native"), samples)
    assert json.loads((tmp_path / "lab.json").read_text())["experiment"] == "mrap"
    rows = [json.loads(line) for line in (tmp_path / "lab.json.samples.jsonl").read_text().splitlines()]
    assert len(rows) == 4 * 3 * 4
    assert rows[0] == {"place": "us-east-1", "path": "single", "round": 0, "file": 0, "ms": 100.0}
