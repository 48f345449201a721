import pytest

from atoll.services.s3.replication_queue import ReplicationQueue, ReplicationTask


def task(seq, name="k", size=1):
    return ReplicationTask(seq, name, f"v{seq}", size, queued_at=0.0)


def test_only_the_first_of_a_key_has_its_turn():
    replication_queue = ReplicationQueue()
    first, second, other = task(1), task(2), task(3, "l")
    assert [replication_queue.add(each) for each in (first, second, other)] == [True, False, True]
    assert list(replication_queue.heads()) == [first, other]
    assert replication_queue.settle(first) is second
    assert replication_queue.settle(second) is None
    assert replication_queue.head("k") is None


def test_the_cursor_stops_before_the_first_open_task_and_is_the_end_of_reading_when_there_is_none():
    replication_queue = ReplicationQueue()
    first, second = task(5, "a"), task(7, "b")
    replication_queue.add(first)
    replication_queue.add(second)
    assert replication_queue.cursor(9) == 4
    replication_queue.settle(second)
    assert replication_queue.cursor(9) == 4
    replication_queue.settle(first)
    assert replication_queue.cursor(9) == 9


def test_what_is_pending_is_counted():
    replication_queue = ReplicationQueue()
    first = task(1, size=10)
    replication_queue.add(first)
    replication_queue.add(task(2, size=5))
    assert (len(replication_queue), replication_queue.bytes, replication_queue.holds("k", "v1")) == (2, 15, True)
    replication_queue.settle(first)
    assert (len(replication_queue), replication_queue.bytes, replication_queue.holds("k", "v1")) == (1, 5, False)


def test_the_oldest_comes_first():
    replication_queue = ReplicationQueue()
    assert replication_queue.oldest() is None
    replication_queue.add(task(1))
    replication_queue.add(task(2))
    assert replication_queue.oldest().seq == 1
    assert [each.seq for each in replication_queue.waiting()] == [1, 2]


def test_a_task_behind_another_cannot_be_settled():
    replication_queue = ReplicationQueue()
    second = task(2)
    replication_queue.add(task(1))
    replication_queue.add(second)
    with pytest.raises(AssertionError):
        replication_queue.settle(second)


def test_a_task_cannot_be_stored_before_it_is_taken():
    with pytest.raises(KeyError):
        task(1).move("stored")
