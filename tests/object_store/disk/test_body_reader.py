"""Stored bytes on their way out: whole or in part, and never torn."""

import asyncio
import os

import pytest
from awscrt.checksums import crc64nvme

from atoll.domain.errors import ApiError
from atoll.domain.objects import ByteRange, Key
from atoll.object_store.disk.blob_files import READ_BYTES, Blobs
from atoll.object_store.disk.body_reader import Files, OpenFile, Run, corrupt_body, crc_matches, inline_body
from atoll.object_store.disk.file_pins import Pins
from atoll.object_store.disk.schema import signed

KEY = Key("bucket", "k")
LARGE = bytes(range(256)) * (READ_BYTES // 128)  # two reads


class Disk:
    """Files of one version; `removed` are those that its reader has let go of."""

    def __init__(self, folder):
        self.blobs, self.removed = Blobs(folder), []
        self.blobs.make_folders()
        self.pins = Pins(self.removed.extend)

    def file(self, id, content):
        self.blobs.folder_of(id)
        self.blobs.path(id).write_bytes(content)
        return Run(id, len(content), signed(crc64nvme(content)), None)

    def found(self, *runs):
        held = [run.id for run in runs if run.content is None]
        files = Files(self.blobs, KEY, runs, self.pins.pin(held))
        self.pins.retire(held)
        return files


@pytest.fixture
def disk(tmp_path):
    disk = Disk(tmp_path)
    yield disk
    disk.blobs.close()


def inline(id, content):
    return Run(id, len(content), signed(crc64nvme(content)), content)


async def read(body):
    return b"".join([piece async for piece in body])


def corrupt_error(body):
    """What came out before the damage was seen."""
    received = []

    async def run():
        async for piece in body:
            received.append(piece)

    with pytest.raises(ApiError) as caught:
        asyncio.run(run())
    assert (caught.value.code, caught.value.status) == ("InternalError", 500)
    return b"".join(received)


def test_runs_in_files_and_in_memory_come_out_in_order(disk):
    body = disk.found(disk.file(1, LARGE), inline(2, b"middle"), disk.file(3, b"end")).body(None)
    assert body.length == len(LARGE) + 9
    assert asyncio.run(read(body)) == LARGE + b"middle" + b"end"


@pytest.mark.parametrize(("first", "last"), [(0, 0), (0, 4), (4, 5), (3, 12), (5, 9), (10, 14), (14, 14)])
def test_a_span_is_cut_out_of_the_runs_that_it_touches(disk, first, last):
    body = disk.found(disk.file(1, b"01234"), inline(2, b"56789"), disk.file(3, b"abcde")).body(ByteRange(first, last))
    assert body.length == last - first + 1
    assert asyncio.run(read(body)) == b"0123456789abcde"[first : last + 1]


def test_a_flipped_byte_keeps_the_last_piece_back(disk):
    run = disk.file(1, LARGE)
    disk.blobs.path(1).write_bytes(b"\xff" + LARGE[1:])
    assert len(corrupt_error(disk.found(run).body(None))) == len(LARGE) - READ_BYTES


def test_a_file_that_is_too_short_is_damage_also_for_a_span(disk):
    run = disk.file(1, b"hello world")
    disk.blobs.path(1).write_bytes(b"hello")
    assert corrupt_error(disk.found(run).body(ByteRange(2, 8))) == b"llo"


def test_a_missing_file_is_told_before_the_first_byte(disk):
    run = disk.file(1, b"hello")
    disk.blobs.path(1).unlink()
    with pytest.raises(ApiError, match="damaged"):
        disk.found(run).body(None)


def test_a_missing_later_file_cuts_the_body(disk):
    first, second = disk.file(1, b"hello"), disk.file(2, b"world")
    disk.blobs.path(2).unlink()
    assert corrupt_error(disk.found(first, second).body(None)) == b"hello"


def test_a_damaged_run_in_memory_is_not_given_out(disk):
    assert corrupt_error(disk.found(disk.file(1, b"hello"), inline(2, b"world")._replace(content=b"w0rld")).body(None)) == b"hello"


def test_files_are_held_until_the_last_byte_was_read(disk):
    async def run():
        chunks = aiter(disk.found(disk.file(1, b"hello")).body(None))
        assert await anext(chunks) == b"hello"
        assert disk.removed == []
        assert [piece async for piece in chunks] == []
        assert disk.removed == [1]

    asyncio.run(run())


def test_a_damaged_version_is_let_go_of_as_well(disk):
    run = disk.file(1, b"hello")
    disk.blobs.path(1).write_bytes(b"jello")
    assert corrupt_error(disk.found(run).body(None)) == b""
    assert disk.removed == [1]


def test_who_wants_no_bytes_lets_go_too(disk):
    disk.found(disk.file(1, b"hello")).close()
    assert disk.removed == [1]


def test_a_file_that_nobody_reads_is_closed_when_it_is_forgotten(tmp_path):
    number = os.open(tmp_path, os.O_RDONLY)
    opened = OpenFile(number)
    del opened
    with pytest.raises(OSError):
        os.fstat(number)


def test_a_small_body_is_given_whole_or_cut():
    assert inline_body(b"hello", None).small == b"hello"
    assert inline_body(b"hello", ByteRange(1, 3)).small == b"ell"


def test_small_bytes_are_those_that_were_written():
    crc = signed(crc64nvme(b"hello"))
    assert (crc_matches(b"hello", crc), crc_matches(b"jello", crc)) == (True, False)
    with pytest.raises(ApiError) as caught:
        corrupt_body(KEY, ByteRange(1, 3))
    assert "'k'" in caught.value.message
