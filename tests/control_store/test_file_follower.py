"""A follower sees what others commit."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest

from atoll.control_store import ControlStore, sqlite_file
from atoll.control_store.file_follower import Follower


@pytest.fixture
def path(tmp_path):
    sqlite_file.create(tmp_path / "state.db")
    return tmp_path / "state.db"


@pytest.fixture
def writer(path):
    connection = sqlite_file.connect(path)
    yield connection
    connection.close()


@pytest.fixture
def follower(path):
    follower = Follower(path)
    yield follower
    follower.close()


def write(writer, key):
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("INSERT INTO records VALUES ('t', ?, ?, x'7b7d')", (key, sqlite_file.advance(writer)))
    writer.execute("COMMIT")


def test_the_first_look_reads(follower, writer):
    write(writer, "a")
    assert [row.key for row in follower.poll(0).rows] == ["a"]


def test_nothing_is_read_while_nothing_changes(follower, writer):
    write(writer, "a")
    follower.poll(0)
    assert follower.poll(1) is None


def test_a_commit_is_noticed(follower, writer):
    follower.poll(0)
    write(writer, "a")
    assert [row.key for row in follower.poll(0).rows] == ["a"]


def test_an_open_transaction_neither_shows_nor_blocks(follower, writer):
    follower.poll(0)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("INSERT INTO records VALUES ('t', 'a', 1, x'7b7d')")
    assert follower.poll(0) is None
    assert follower.last_error == ""
    writer.execute("ROLLBACK")


def test_a_file_that_nobody_may_read_is_trouble_and_no_error(follower, writer):
    write(writer, "a")
    writer.execute("DROP TABLE head")
    assert follower.poll(0) is None
    assert "head" in follower.last_error


def test_what_was_missed_in_trouble_is_read_afterwards(follower, writer):
    write(writer, "a")
    writer.execute("ALTER TABLE head RENAME TO away")
    follower.poll(0)
    writer.execute("ALTER TABLE away RENAME TO head")
    assert [row.key for row in follower.poll(0).rows] == ["a"]
    assert follower.last_error == ""


def test_reading_without_asking_tells_the_error(follower, writer):
    writer.execute("DROP TABLE head")
    with pytest.raises(sqlite3.Error):
        follower.read(0)


def test_a_new_file_may_be_opened_by_many_at_once(tmp_path):
    """Processes of a world start together; who meets the other's lock waits for it instead of dying of it."""
    for round_ in range(10):
        fresh = tmp_path / f"{round_}.db"
        with ThreadPoolExecutor(8) as pool:
            opened = list(pool.map(ControlStore.open, [fresh] * 8))
        for state in opened:
            state.close()


def test_once_it_is_open_no_poll_waits_for_a_lock(follower):
    follower.first()
    assert follower._connection.execute("PRAGMA busy_timeout").fetchone()[0] == 0
