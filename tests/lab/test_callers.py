import os

import pytest

from atoll.lab.caller import _turned
from atoll.lab.callers import CallerProcess, LabFailed, Refused, collect, together, wait_for

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
        collect([caller], lambda _place, _told: None)


def test_several_callers_answer_side_by_side(caller, tmp_path):
    other = CallerProcess("london", os.environ, tmp_path / "london.err")
    try:
        answers = together([caller, other], lambda one: {"do": "open", "ways": {one.place: ["us-east-1", "bucket"]}})
    finally:
        other.close()
    assert answers == {"tokyo": {}, "london": {}}


def test_each_path_goes_first_in_turn():
    assert [_turned(["a", "b", "c"], by) for by in range(4)] == [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"], ["a", "b", "c"]]


def test_what_holds_already_is_not_waited_for():
    assert wait_for("it", lambda: True, timeout_s=0.0) < 1


def test_what_never_holds_is_named():
    with pytest.raises(LabFailed, match="the moon: not within 0 s"):
        wait_for("the moon", lambda: False, timeout_s=0.0, pause_s=0.001)
