import msgspec

from atoll.gateway import metrics
from atoll.gateway.metrics import Counters, Metrics


def page(result):
    return dict(line.rsplit(" ", 1) for line in result.text().decode().splitlines() if not line.startswith("#"))


def test_requests_are_counted_by_operation_and_status():
    result = Metrics("us-east-1")
    result.request("s3", "GetObject", 200, 0.001)
    result.request("s3", "GetObject", 200, 0.001)
    result.request("s3", "GetObject", 404, 0.001)
    found = page(result)
    assert found['atoll_requests_total{operation="GetObject",process="us-east-1",service="s3",status="200"}'] == "2.0"
    assert found['atoll_requests_total{operation="GetObject",process="us-east-1",service="s3",status="404"}'] == "1.0"


def test_times_fall_into_cumulative_buckets():
    result = Metrics("p")
    for seconds in (0.0004, 0.03, 99.0):
        result.request("s3", "PutObject", 200, seconds)
    found = page(result)

    def bucket(bound):
        return found[f'atoll_request_seconds_bucket{{le="{bound}",operation="PutObject",process="p",service="s3"}}']

    assert (bucket("0.0005"), bucket("0.025"), bucket("0.05"), bucket("10.0"), bucket("+Inf")) == ("1.0", "1.0", "2.0", "2.0", "3.0")
    assert found['atoll_request_seconds_count{operation="PutObject",process="p",service="s3"}'] == "3.0"
    assert float(found['atoll_request_seconds_sum{operation="PutObject",process="p",service="s3"}']) == 99.0304


def test_the_processes_of_a_region_add_up_to_one():
    own, other = Metrics("us-east-1"), Metrics("us-east-1")
    for counted, status in ((own, 200), (other, 200), (other, 404)):
        counted.request("s3", "GetObject", status, 0.25, size_out=10)
    other.gauges(lambda: [("atoll_pending", "Pending.", {"bucket": "b"}, 3.0)])
    carried = msgspec.json.decode(msgspec.json.encode(other.counters()), type=Counters)
    found = page(own.with_others([carried]))
    assert found['atoll_requests_total{operation="GetObject",process="us-east-1",service="s3",status="200"}'] == "2.0"
    assert found['atoll_requests_total{operation="GetObject",process="us-east-1",service="s3",status="404"}'] == "1.0"
    assert found['atoll_request_seconds_sum{operation="GetObject",process="us-east-1",service="s3"}'] == "0.75"
    assert found['atoll_bytes_total{direction="out",process="us-east-1"}'] == "30.0"
    assert found['atoll_pending{bucket="b",process="us-east-1"}'] == "3.0"
    assert page(own)['atoll_bytes_total{direction="out",process="us-east-1"}'] == "10.0"


def test_times_are_told_over_all_statuses():
    result = Metrics("p")
    result.request("s3", "GetObject", 200, 0.25)
    result.request("s3", "GetObject", 404, 0.5)
    found = page(result)
    assert found['atoll_request_seconds_count{operation="GetObject",process="p",service="s3"}'] == "2.0"
    assert found['atoll_request_seconds_sum{operation="GetObject",process="p",service="s3"}'] == "0.75"
    assert found['atoll_requests_total{operation="GetObject",process="p",service="s3",status="404"}'] == "1.0"


def test_bytes_are_counted_in_both_directions():
    result = Metrics("p")
    result.request("s3", "PutObject", 200, 0.0, 10, 3)
    result.request("s3", "GetObject", 200, 0.0, 0, 4)
    found = page(result)
    assert (found['atoll_bytes_total{direction="in",process="p"}'], found['atoll_bytes_total{direction="out",process="p"}']) == ("10.0", "7.0")


def test_gauges_are_asked_when_somebody_looks():
    result, level = Metrics("p"), {"now": 1.0}
    result.gauges(lambda: [("atoll_level", "How high.", {"place": "london"}, level["now"])])
    assert page(result)['atoll_level{place="london",process="p"}'] == "1.0"
    level["now"] = 5.0
    assert page(result)['atoll_level{place="london",process="p"}'] == "5.0"


def test_a_flood_of_labels_is_counted_under_one(monkeypatch):
    monkeypatch.setattr(metrics, "LABELS_MAX", 2)
    result = Metrics("p")
    for number in range(5):
        result.request("s3", f"Op{number}", 501, 0.0)
    assert page(result)['atoll_requests_total{operation="other",process="p",service="s3",status="501"}'] == "3.0"
