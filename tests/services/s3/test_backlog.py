import pytest

from atoll.services.s3.backlog import Backlog, Task


def task(seq, name="k", size=1):
    return Task(seq, name, f"v{seq}", size, queued_at=0.0)


def test_only_the_first_of_a_key_has_its_turn():
    backlog = Backlog()
    first, second, other = task(1), task(2), task(3, "l")
    assert [backlog.add(each) for each in (first, second, other)] == [True, False, True]
    assert list(backlog.heads()) == [first, other]
    assert backlog.settle(first) is second
    assert backlog.settle(second) is None
    assert backlog.head("k") is None


def test_the_cursor_stops_before_the_first_open_task_and_is_the_end_of_reading_when_there_is_none():
    backlog = Backlog()
    first, second = task(5, "a"), task(7, "b")
    backlog.add(first)
    backlog.add(second)
    assert backlog.cursor(9) == 4
    backlog.settle(second)
    assert backlog.cursor(9) == 4
    backlog.settle(first)
    assert backlog.cursor(9) == 9


def test_what_is_pending_is_counted():
    backlog = Backlog()
    first = task(1, size=10)
    backlog.add(first)
    backlog.add(task(2, size=5))
    assert (len(backlog), backlog.bytes, backlog.holds("k", "v1")) == (2, 15, True)
    backlog.settle(first)
    assert (len(backlog), backlog.bytes, backlog.holds("k", "v1")) == (1, 5, False)


def test_the_oldest_comes_first():
    backlog = Backlog()
    assert backlog.oldest() is None
    backlog.add(task(1))
    backlog.add(task(2))
    assert backlog.oldest().seq == 1
    assert [each.seq for each in backlog.waiting()] == [1, 2]


def test_a_task_behind_another_cannot_be_settled():
    backlog = Backlog()
    second = task(2)
    backlog.add(task(1))
    backlog.add(second)
    with pytest.raises(AssertionError):
        backlog.settle(second)


def test_a_task_cannot_be_stored_before_it_is_taken():
    with pytest.raises(KeyError):
        task(1).move("stored")
