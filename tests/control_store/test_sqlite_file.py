"""The SQLite file: its layout, its permissions, what it tells a follower."""

import sqlite3
import stat
import threading

import pytest

from atoll.control_store import sqlite_file
from atoll.control_store.record_table import Unreadable
from atoll.control_store.snapshot import Row


def fresh() -> sqlite3.Connection:
    connection = sqlite_file.connect(None)
    sqlite_file.create_tables(connection)
    return connection


def write(connection, key, body):
    version = sqlite_file.advance(connection)
    connection.execute("INSERT OR REPLACE INTO records VALUES ('t', ?, ?, ?)", (key, version, body))
    return version


def test_only_the_owner_may_read_a_file_that_holds_secrets(tmp_path):
    sqlite_file.create(tmp_path / "state.db")
    assert stat.S_IMODE((tmp_path / "state.db").stat().st_mode) == 0o600


def test_the_files_beside_it_are_as_private(tmp_path):
    path = tmp_path / "state.db"
    sqlite_file.create(path)
    connection = sqlite_file.connect(path)
    write(connection, "a", b"1")
    assert {stat.S_IMODE(found.stat().st_mode) for found in tmp_path.iterdir()} == {0o600}
    connection.close()


def test_a_commit_is_on_disk_when_it_returns(tmp_path):
    path = tmp_path / "state.db"
    sqlite_file.create(path)
    connection = sqlite_file.connect(path)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    connection.close()


def test_many_may_create_the_file_at_once(tmp_path):
    failures = []

    def create():
        try:
            sqlite_file.create(tmp_path / "state.db")
        except sqlite3.Error as error:
            failures.append(error)

    threads = [threading.Thread(target=create) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_creating_twice_keeps_what_is_there(tmp_path):
    path = tmp_path / "state.db"
    sqlite_file.create(path)
    connection = sqlite_file.connect(path)
    write(connection, "a", b"1")
    sqlite_file.create(path)
    assert sqlite_file.since(connection, 0).rows == [Row("t", "a", 1, b"1")]
    connection.close()


def test_the_file_of_a_newer_atoll_is_left_alone(tmp_path):
    path = tmp_path / "state.db"
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {sqlite_file.LAYOUT + 1}")
    connection.close()
    with pytest.raises(Unreadable, match="layout"):
        sqlite_file.create(path)


def test_only_what_is_newer_is_told():
    connection = fresh()
    write(connection, "a", b"1")
    write(connection, "b", b"2")
    batch = sqlite_file.since(connection, 1)
    assert (batch.upto, batch.rows, batch.whole) == (2, [Row("t", "b", 2, b"2")], False)


def test_who_knows_all_is_told_nothing():
    connection = fresh()
    write(connection, "a", b"1")
    assert sqlite_file.since(connection, 1).rows == []


def test_a_deletion_is_told_until_it_is_trimmed():
    connection = fresh()
    write(connection, "a", b"1")
    write(connection, "a", None)
    assert sqlite_file.since(connection, 1).rows == [Row("t", "a", 2, None)]


def test_who_missed_a_trimmed_deletion_reads_everything():
    connection = fresh()
    write(connection, "a", b"1")
    write(connection, "b", b"2")
    write(connection, "a", None)
    sqlite_file.trim(connection, 3)
    batch = sqlite_file.since(connection, 2)
    assert (batch.whole, batch.rows) == (True, [Row("t", "b", 2, b"2")])


def test_who_saw_a_trimmed_deletion_reads_only_what_is_newer():
    connection = fresh()
    write(connection, "a", None)
    sqlite_file.trim(connection, 1)
    write(connection, "b", b"2")
    batch = sqlite_file.since(connection, 1)
    assert (batch.whole, batch.rows) == (False, [Row("t", "b", 2, b"2")])


def test_trimming_keeps_living_records_and_younger_deletions():
    connection = fresh()
    write(connection, "a", b"1")
    write(connection, "b", None)
    write(connection, "c", None)
    sqlite_file.trim(connection, 2)
    assert [row.key for row in sqlite_file.since(connection, 0).rows] == ["a", "c"]


def test_old_deletions_are_forgotten_in_passing():
    connection = fresh()
    connection.execute("UPDATE head SET version = ?", (sqlite_file.TOMBSTONES_KEPT * 2,))
    connection.execute("INSERT INTO records VALUES ('t', 'old', 5, NULL)")
    for _ in range(256):
        sqlite_file.advance(connection)
    assert connection.execute("SELECT count(*) FROM records").fetchone() == (0,)
