"""A record's bytes, read by older and newer versions of Atoll."""

import msgspec
import pytest

from atoll.control_store.record_table import Table, Unreadable


class Now(msgspec.Struct, frozen=True):
    name: str
    size: int = 0


class Later(msgspec.Struct, frozen=True):
    name: str
    size: int = 0
    colour: str = "blue"


class Changed(msgspec.Struct, frozen=True):
    name: int


NOW, LATER, CHANGED = Table("t", Now), Table("t", Later), Table("t", Changed)


def test_a_record_comes_back_equal():
    assert NOW.decode(NOW.encode(Now("a", 3))) == Now("a", 3)


def test_an_old_reader_ignores_what_it_does_not_know():
    assert NOW.decode(LATER.encode(Later("a", 3, "red"))) == Now("a", 3)


def test_a_new_reader_fills_in_what_an_old_writer_did_not_know():
    assert LATER.decode(NOW.encode(Now("a", 3))) == Later("a", 3, "blue")


def test_a_name_with_another_type_is_unreadable():
    with pytest.raises(Unreadable, match="a record of t"):
        CHANGED.decode(NOW.encode(Now("a")))


def test_bytes_that_are_no_json_are_unreadable():
    with pytest.raises(Unreadable):
        NOW.decode(b"{")
