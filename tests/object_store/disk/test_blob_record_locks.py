"""Body files that somebody else reads are left alone."""

import subprocess
import sys

from atoll.object_store.disk.blob_record_locks import FileLocks, runs

HOLDER = """
import sys
from pathlib import Path
from atoll.object_store.disk.blob_record_locks import FileLocks
locks = FileLocks(Path(sys.argv[1]))
locks.hold([5, 6, 9])
print("held", flush=True)
sys.stdin.read()
"""


def alone(locks, blob):
    with locks.alone(blob) as found:
        return found


def test_a_file_that_nobody_reads_may_go(tmp_path):
    assert alone(FileLocks(tmp_path), 5)


def test_a_file_that_is_read_may_not_go_until_it_is_released(tmp_path):
    writer, reader = FileLocks(tmp_path), FileLocks(tmp_path)
    reader.hold([5])
    assert not alone(writer, 5)
    assert alone(writer, 6)
    reader.release([5])
    assert alone(writer, 5)


def test_two_readers_of_one_file_both_count(tmp_path):
    writer, first, second = (FileLocks(tmp_path) for _ in range(3))
    first.hold([5])
    second.hold([5])
    first.release([5])
    assert not alone(writer, 5)


def test_the_locks_of_a_process_that_is_killed_are_gone(tmp_path):
    writer = FileLocks(tmp_path)
    reader = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert reader.stdout.readline() == b"held\n"
    assert [alone(writer, blob) for blob in (5, 6, 7, 9)] == [False, False, True, False]
    reader.kill()
    reader.communicate()
    assert all(alone(writer, blob) for blob in (5, 6, 9))


def test_neighbours_are_locked_together():
    assert runs([9, 5, 6, 7, 6]) == [(5, 3), (9, 1)]
    assert runs([]) == []
