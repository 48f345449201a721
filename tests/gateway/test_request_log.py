import json

from atoll.gateway import request_log
from atoll.gateway.request_log import RequestIds, RequestLog, find, last


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_events_are_lines_of_json_that_name_their_process(tmp_path):
    log = RequestLog(tmp_path / "a.jsonl", "us-east-1")
    log.event({"event": "request", "status": 200})
    log.event({"event": "request", "status": 404})
    log.flush()
    assert lines(tmp_path / "a.jsonl") == [
        {"process": "us-east-1", "event": "request", "status": 200},
        {"process": "us-east-1", "event": "request", "status": 404},
    ]


def test_what_json_has_no_form_for_is_written_as_text(tmp_path):
    log = RequestLog(tmp_path / "a.jsonl", "p")
    log.event({"where": ValueError("full")})
    log.flush()
    assert lines(tmp_path / "a.jsonl") == [{"process": "p", "where": "full"}]


def test_nothing_is_written_before_a_flush_and_nothing_twice(tmp_path):
    path = tmp_path / "a.jsonl"
    log = RequestLog(path, "p")
    log.event({"n": 1})
    assert not path.exists()
    log.flush()
    log.flush()
    assert len(lines(path)) == 1


def test_a_flood_of_events_is_written_without_waiting_for_the_flush(tmp_path, monkeypatch):
    monkeypatch.setattr(request_log, "LINES_MAX", 3)
    log = RequestLog(tmp_path / "a.jsonl", "p")
    for number in range(3):
        log.event({"n": number})
    assert len(lines(tmp_path / "a.jsonl")) == 3


def test_a_large_log_makes_room_and_its_elder_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(request_log, "LOG_MAX_BYTES", 10)
    path = tmp_path / "a.jsonl"
    log = RequestLog(path, "p")
    for number in range(3):
        log.event({"n": number})
        log.flush()
    assert [row["n"] for row in lines(path)] == [2]
    assert [row["n"] for row in lines(tmp_path / "a.jsonl.1")] == [1]


def test_a_log_that_cannot_be_written_stops_nobody(tmp_path):
    log = RequestLog(tmp_path / "no" / "such" / "folder.jsonl", "p")
    log.event({"n": 1})
    log.flush()
    RequestLog(None, "p").event({"n": 1})


def test_all_events_of_a_request_are_found_in_the_order_of_their_time(tmp_path):
    region, entry = RequestLog(tmp_path / "region.jsonl", "region"), RequestLog(tmp_path / "entry.jsonl", "entry")
    region.event({"time": 2.0, "request_id": "R1", "entry_request_id": "E1"})
    region.event({"time": 2.5, "request_id": "R2", "entry_request_id": "E2", "message": "not E1"})
    entry.event({"time": 1.0, "request_id": "E1"})
    region.flush()
    entry.flush()
    assert [event["process"] for event in find(tmp_path, "E1")] == ["entry", "region"]
    assert [event["request_id"] for event in find(tmp_path, "R2")] == ["R2"]


def test_a_line_that_a_crash_cut_short_hides_no_other(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b'{"process":"p","time":1,"request_id":"R1"}\n{"process":"p","time":2,"request_id":"R1","stat')
    assert [event["time"] for event in find(tmp_path, "R1")] == [1]


def test_the_last_request_is_the_newest_that_a_client_made(tmp_path):
    region, entry = RequestLog(tmp_path / "region.jsonl", "region"), RequestLog(tmp_path / "entry.jsonl", "entry")
    assert last(tmp_path) is None
    region.event({"time": 1.0, "event": "request", "request_id": "R1"})
    region.event({"time": 4.0, "event": "request", "request_id": "R2", "place": "london", "entry_request_id": "E1"})
    region.event({"time": 5.0, "event": "copied", "request_id": "R3"})
    region.flush()
    assert last(tmp_path)["request_id"] == "R1"
    entry.event({"time": 3.0, "event": "entry", "request_id": "E1", "place": "london"})
    entry.flush()
    assert last(tmp_path)["request_id"] == "E1"
    region.event({"time": 6.0, "event": "request", "request_id": "R4"})
    region.flush()
    assert last(tmp_path)["request_id"] == "R4"


def test_the_last_request_is_found_at_the_end_of_a_long_log(tmp_path, monkeypatch):
    monkeypatch.setattr(request_log, "TAIL_BYTES", 200)
    log = RequestLog(tmp_path / "entry.jsonl", "entry")
    for number in range(100):
        log.event({"time": float(number), "event": "entry", "request_id": f"E{number}"})
    log.flush()
    assert last(tmp_path)["request_id"] == "E99"


def test_request_ids_are_sixteen_hex_digits_and_differ_between_processes():
    one, other = RequestIds(), RequestIds()
    made = [one.next(), one.next(), other.next()]
    assert len(set(made)) == 3
    assert all(len(text) == 16 and int(text, 16) >= 0 for text in made)
    assert RequestIds(b"\1\2\3\4").next() == "0102030400000001"
