"""What a process knows, and how it learns."""

import msgspec
import pytest

from atoll.control_store.record_table import Table
from atoll.control_store.snapshot import Batch, Row, Snapshot


class Thing(msgspec.Struct, frozen=True):
    size: int


class Other(msgspec.Struct, frozen=True):
    size: str


THINGS = Table("thing", Thing)


def put(key: str, version: int, size: int) -> Row:
    return Row("thing", key, version, b'{"size":%d}' % size)


def gone(key: str, version: int) -> Row:
    return Row("thing", key, version, None)


def with_rows(*rows: Row) -> Snapshot:
    snapshot = Snapshot()
    snapshot.apply(Batch(max(row.version for row in rows), rows))
    return snapshot


def test_an_empty_snapshot_knows_nothing():
    assert Snapshot().get(THINGS, "a") is None
    assert Snapshot().items(THINGS) == []
    assert Snapshot().version == 0


def test_items_come_in_order_of_their_keys():
    snapshot = with_rows(put("b", 1, 2), put("c", 2, 3), put("a", 3, 1))
    assert snapshot.items(THINGS) == [("a", Thing(1)), ("b", Thing(2)), ("c", Thing(3))]


def test_a_prefix_selects_keys():
    snapshot = with_rows(put("a/1", 1, 1), put("a/2", 1, 2), put("b/1", 1, 3), put("a", 1, 0))
    assert [key for key, _ in snapshot.items(THINGS, "a/")] == ["a/1", "a/2"]
    assert snapshot.items(THINGS, "zz") == []


def test_keys_beyond_ascii_are_in_order_and_found_by_prefix():
    snapshot = with_rows(put("é\U0010ffff", 1, 1), put("é", 1, 2), put("z", 1, 3))
    assert [key for key, _ in snapshot.items(THINGS)] == ["z", "é", "é\U0010ffff"]
    assert len(snapshot.items(THINGS, "é")) == 2


def test_the_order_follows_keys_that_come_and_go():
    snapshot = with_rows(put("b", 1, 2))
    snapshot.items(THINGS)
    snapshot.apply(Batch(2, [put("a", 2, 1)]))
    assert [key for key, _ in snapshot.items(THINGS)] == ["a", "b"]
    snapshot.apply(Batch(3, [gone("b", 3)]))
    assert [key for key, _ in snapshot.items(THINGS)] == ["a"]


def test_a_record_is_the_same_object_until_it_changes():
    snapshot = with_rows(put("a", 1, 1), put("b", 1, 1))
    first = snapshot.get(THINGS, "a")
    snapshot.apply(Batch(2, [put("b", 2, 5)]))
    assert snapshot.get(THINGS, "a") is first
    snapshot.apply(Batch(3, [put("a", 3, 1)]))
    assert snapshot.get(THINGS, "a") is not first


def test_reading_everything_again_keeps_unchanged_objects():
    snapshot = with_rows(put("a", 1, 1), put("b", 2, 2))
    first = snapshot.get(THINGS, "a")
    snapshot.apply(Batch(9, [put("a", 1, 1), put("c", 9, 3)], whole=True))
    assert snapshot.get(THINGS, "a") is first
    assert [key for key, _ in snapshot.items(THINGS)] == ["a", "c"]


def test_a_batch_that_is_already_known_changes_nothing():
    snapshot = with_rows(put("a", 1, 1))
    snapshot.apply(Batch(5, [gone("a", 5)]))
    assert snapshot.apply(Batch(4, [put("a", 4, 4)])) is False
    assert snapshot.get(THINGS, "a") is None
    assert snapshot.version == 5


def test_a_list_of_items_does_not_change_under_its_reader():
    snapshot = with_rows(put("a", 1, 1), put("b", 1, 2))
    items = snapshot.items(THINGS)
    snapshot.apply(Batch(2, [gone("a", 2)]))
    assert len(items) == 2


def test_a_record_of_a_newer_atoll_leaves_the_one_that_was_read_before():
    snapshot = with_rows(put("a", 1, 7))
    before = snapshot.get(THINGS, "a")
    snapshot.apply(Batch(2, [Row("thing", "a", 2, b'{"size":"huge"}')]))
    assert snapshot.get(THINGS, "a") is before
    assert snapshot.unreadable == 1


def test_an_unreadable_record_that_was_never_known_is_absent_and_counted_once():
    snapshot = with_rows(Row("thing", "a", 1, b'{"size":"huge"}'), put("b", 1, 1))
    assert snapshot.get(THINGS, "a") is None
    assert snapshot.items(THINGS) == [("b", Thing(1))]
    assert snapshot.unreadable == 1


def test_two_types_under_one_table_name_are_our_own_mistake():
    snapshot = with_rows(put("a", 1, 1))
    snapshot.get(THINGS, "a")
    with pytest.raises(AssertionError, match="two types"):
        snapshot.get(Table("thing", Other), "a")
