"""How the database of a disk store is opened."""

import sqlite3
from contextlib import closing

import pytest

from atoll.object_store.disk.schema import FORMAT, NO_END, open_reader, open_writer, signed

INSERT = "INSERT INTO version VALUES (?, 'b', 'k', ?, 1, 'here', 0, ?, 0, 0, x'', NULL)"


def test_every_commit_is_flushed_and_readers_do_not_wait_for_it(tmp_path):
    with closing(open_writer(tmp_path)) as db:
        settings = [db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous", "user_version")]
    assert settings == ["wal", 2, FORMAT]


def test_opening_again_keeps_what_is_there(tmp_path):
    with closing(open_writer(tmp_path)) as db:
        db.execute(INSERT, (1, "v1", 1))
    with closing(open_writer(tmp_path)) as db:
        assert db.execute("SELECT id, version FROM version").fetchall() == [(1, "v1")]


def test_a_store_of_another_format_is_refused_and_left_alone(tmp_path):
    with closing(open_writer(tmp_path)) as db:
        db.execute(f"PRAGMA user_version = {FORMAT + 1}")
    with pytest.raises(RuntimeError, match=f"format {FORMAT + 1}"):
        open_writer(tmp_path)
    with closing(open_reader(tmp_path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (FORMAT + 1,)


def test_a_reader_sees_what_is_committed_and_cannot_write(tmp_path):
    with closing(open_writer(tmp_path)) as writer, closing(open_reader(tmp_path)) as reader:
        writer.execute("BEGIN")
        writer.execute(INSERT, (1, "v1", 1))
        assert reader.execute("SELECT count(*) FROM version").fetchone() == (0,)
        writer.execute("COMMIT")
        assert reader.execute("SELECT count(*) FROM version").fetchone() == (1,)
        with pytest.raises(sqlite3.OperationalError):
            reader.execute("DELETE FROM version")


def test_there_is_no_reader_of_a_store_that_there_is_not(tmp_path):
    with pytest.raises(sqlite3.OperationalError):
        open_reader(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_database_itself_refuses_two_current_versions_of_a_key(tmp_path):
    with closing(open_writer(tmp_path)) as db:
        db.execute(INSERT, (1, "v1", 1))
        db.execute(INSERT, (2, "v2", 0))
        with pytest.raises(sqlite3.IntegrityError):
            db.execute(INSERT, (3, "v3", 1))


def test_no_name_lies_beyond_the_end_of_all(tmp_path):
    with closing(open_writer(tmp_path)) as db:
        assert db.execute("SELECT ? < ?", ("\U0010ffff" * 3, NO_END)).fetchone() == (1,)


@pytest.mark.parametrize(("crc", "kept"), [(0, 0), (2**63 - 1, 2**63 - 1), (2**63, -(2**63)), (2**64 - 1, -1)])
def test_a_checksum_fits_into_the_integers_of_the_database(crc, kept):
    assert signed(crc) == kept
