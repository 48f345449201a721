import json

import pytest

from atoll.lab.setup_resources import Setup
from atoll.lab.usage_counters import counters
from atoll.rules.aws_cost import Copied

SETUP = Setup("111122223333", "us-east-1", {"us-east-1": "lab-us-east-1", "us-west-2": "lab-us-west-2"}, "arn:aws:s3::1:accesspoint/x.mrap")
KEPT = {"us-west-2": 300}
COPY = {"event": "request", "operation": "ReplicateObject", "status": 200, "bytes_in": 100, "bytes_out": 0}
READ = {"event": "request", "operation": "GetObject", "status": 200, "bytes_in": 0, "bytes_out": 50}


@pytest.fixture
def write(tmp_path):
    return lambda name, *events: (tmp_path / name).write_text("".join(json.dumps(event) + "\n" for event in events))


def test_copies_are_counted_at_their_destination(tmp_path, write):
    write("us-west-2.jsonl", COPY, COPY)
    assert counters(tmp_path, SETUP, KEPT).copied == {"us-west-2": Copied(2, 200, 300)}


def test_the_source_is_no_destination(tmp_path, write):
    write("us-east-1.jsonl", READ)
    assert "us-east-1" not in counters(tmp_path, SETUP, KEPT).copied


def test_reads_and_writes_through_the_access_point_are_routed_bytes(tmp_path, write):
    through = {"access_point": SETUP.arn}
    write("us-east-1.jsonl", {**READ, **through}, {**READ, **through, "operation": "PutObject", "bytes_in": 7, "bytes_out": 0}, READ)
    assert counters(tmp_path, SETUP, KEPT).mrap_bytes == 57


def test_refused_requests_and_other_events_do_not_count(tmp_path, write):
    write("us-west-2.jsonl", {**COPY, "status": 503}, {"event": "replication.retry"})
    assert counters(tmp_path, SETUP, KEPT).copied["us-west-2"].puts == 0


def test_a_log_that_was_turned_over_counts_too(tmp_path, write):
    write("us-west-2.jsonl.1", COPY)
    write("us-west-2.jsonl", COPY)
    assert counters(tmp_path, SETUP, KEPT).copied["us-west-2"].puts == 2
