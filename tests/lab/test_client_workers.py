import hashlib
import os

import pytest

from atoll.lab.client_worker import Caller, _rotated
from atoll.lab.client_workers import CallerProcess, LabFailed, Refused, Wait, collect, run_together, side_by_side, wait_for

pytestmark = pytest.mark.xdist_group("world")


@pytest.fixture
def caller(tmp_path):
    """A caller whose only service is a port where nobody listens."""
    environment = os.environ | {
        "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
        "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_MAX_ATTEMPTS": "1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    process = CallerProcess("tokyo", environment, tmp_path / "tokyo.err")
    yield process
    process.close()


def test_a_call_that_reaches_nobody_fails_with_the_place(caller):
    with pytest.raises(Refused, match="in tokyo: EndpointConnectionError"):
        caller.call("s3", "us-east-1", "ListBuckets")


def test_a_caller_goes_on_after_a_failed_call(caller):
    with pytest.raises(Refused):
        caller.call("s3", "us-east-1", "ListBuckets")
    assert caller.ask("open", ways={"single": ["us-east-1", "bucket"]}) == {}


def test_a_caller_that_ended_is_named_with_its_last_words(caller):
    caller.tell({"do": "dance"})
    with pytest.raises(LabFailed, match="the caller in tokyo ended: ValueError: unknown command 'dance'"):
        collect([caller], lambda _place, _result: None)


def test_several_callers_answer_side_by_side(caller, tmp_path):
    other = CallerProcess("london", os.environ, tmp_path / "london.err")
    try:
        answers = run_together([caller, other], lambda one: {"do": "open", "ways": {one.place: ["us-east-1", "bucket"]}})
    finally:
        other.close()
    assert answers == {"tokyo": {}, "london": {}}


def test_conversations_side_by_side_each_get_their_own_answers(caller, tmp_path):
    other = CallerProcess("london", os.environ, tmp_path / "london.err")
    opened = []

    def conversation(one, times):
        for number in range(times):
            one.tell({"do": "open", "ways": {f"{one.place} {number}": ["us-east-1", "bucket"]}})
            opened.append((yield Wait([one])))
        return one.place, times

    try:
        assert side_by_side(conversation(caller, 3), conversation(other, 1), conversation(caller, 0)) == [("tokyo", 3), ("london", 1), ("tokyo", 0)]
    finally:
        other.close()
    assert sorted(opened, key=str) == [{"london": {}}, {"tokyo": {}}, {"tokyo": {}}, {"tokyo": {}}]


def test_a_failure_in_one_conversation_ends_all(caller, tmp_path):
    other = CallerProcess("london", os.environ, tmp_path / "london.err")

    def failing():
        caller.tell({"do": "call", "service": "s3", "region": "us-east-1", "operation": "ListBuckets", "members": {}})
        yield Wait([caller])

    def endless():
        while True:
            other.tell({"do": "open", "ways": {}})
            yield Wait([other])

    try:
        with pytest.raises(Refused, match="in tokyo"):
            side_by_side(endless(), failing())
    finally:
        other.close()


def test_a_poll_says_when_each_read_failed_and_with_what(caller):
    caller.ask("open", ways={"mrap": ["us-east-1", "bucket"]})
    result = caller.ask("poll", path="mrap", file=["key", "0"], answered=1, timeout_s=0.2, pause_s=0.05)
    assert {error for _, _, error in result["reads"]} == {"EndpointConnectionError"}
    assert all(began <= ended for began, ended, _ in result["reads"])


class Bucket:
    """A way to read what was stored."""

    def read(self, key):
        return key.encode()


@pytest.mark.parametrize(("limit", "reads"), [({}, 6), ({"limit_s": 60.0}, 6), ({"limit_s": -1.0}, 0)])
def test_no_file_is_begun_after_the_time_limit(limit, reads):
    result = []
    caller = Caller(result.append, {"single": Bucket()})
    files = [[key, hashlib.md5(key.encode()).hexdigest()] for key in ("a", "b")]
    caller.execute({"do": "read", "paths": ["single"], "files": files, "rounds": 3, **limit})
    assert sum(len(message["rows"]) for message in result) == reads


def test_what_was_read_is_told_while_it_goes_on(monkeypatch):
    monkeypatch.setattr("atoll.lab.client_worker.REPORT_EVERY_S", 0.0)
    result = []
    caller = Caller(result.append, {"single": Bucket()})
    done = caller.execute({"do": "read", "paths": ["single"], "files": [["a", hashlib.md5(b"a").hexdigest()]], "rounds": 3})
    assert [[row[:2] for row in message["rows"]] for message in result] == [[("single", 0)], [("single", 1)], [("single", 2)], []]
    assert [len(one) for one in done["samples"]["single"]] == [1, 1, 1]


def test_each_path_goes_first_in_turn():
    assert [_rotated(["a", "b", "c"], by) for by in range(4)] == [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"], ["a", "b", "c"]]


def test_what_holds_already_is_not_waited_for():
    assert wait_for("it", lambda: True, timeout_s=0.0) < 1


def test_what_never_holds_is_named():
    with pytest.raises(LabFailed, match="the moon: not within 0 s"):
        wait_for("the moon", lambda: False, timeout_s=0.0, pause_s=0.001)
