"""Counters that tell another process whether a key may have changed."""

from atoll.domain.objects import Key
from atoll.object_store.disk.sequence_locks import Generations, slot_of

KEY, OTHER = Key("bucket", "a"), Key("bucket", "b")


def both(folder):
    return Generations(folder), Generations(folder)


def test_a_commit_is_seen_by_who_reads_the_same_file(tmp_path):
    writer, reader = both(tmp_path)
    before = reader.of(KEY)
    writer.end(writer.begin([KEY]))
    assert reader.of(KEY) not in (None, before)


def test_while_a_commit_is_under_way_nothing_of_its_keys_may_be_kept(tmp_path):
    writer, reader = both(tmp_path)
    slots = writer.begin([KEY])
    assert reader.of(KEY) is None
    assert reader.of(OTHER) is not None
    writer.end(slots)
    assert reader.of(KEY) is not None


def test_other_keys_stay_as_they_were(tmp_path):
    assert slot_of(KEY) != slot_of(OTHER)
    writer, reader = both(tmp_path)
    before = reader.of(OTHER)
    writer.end(writer.begin([KEY]))
    assert reader.of(OTHER) == before


def test_a_commit_that_may_touch_any_key_touches_every_key(tmp_path):
    writer, reader = both(tmp_path)
    before = reader.of(OTHER)
    slots = writer.begin([KEY, None])
    assert reader.of(OTHER) is None
    writer.end(slots)
    assert reader.of(OTHER) not in (None, before)


def test_two_keys_of_one_commit_in_one_slot_count_once(tmp_path):
    writer, reader = both(tmp_path)
    writer.end(writer.begin([KEY, KEY]))
    assert reader.of(KEY) is not None


def test_what_a_dead_writer_left_open_is_closed_by_the_next(tmp_path):
    dead, reader = both(tmp_path)
    before = reader.of(KEY)
    dead.begin([KEY])
    dead.close()
    assert reader.of(KEY) is None
    Generations(tmp_path).settle()
    assert reader.of(KEY) not in (None, before)
