"""Large bodies on their way into files."""

import asyncio

import pytest

from atoll.domain.errors import ApiError
from atoll.object_store.disk.blob_files import READ_BYTES, Blobs, BlobWriter, read_file


@pytest.fixture
def blobs(tmp_path):
    blobs = Blobs(tmp_path)
    blobs.make_folders()
    yield blobs
    blobs.close()


def test_a_draft_is_in_place_only_when_it_is_finished(blobs):
    async def run():
        blob_writer = BlobWriter(blobs, 0x1234)
        await blob_writer.write([b"hello ", b"world"])
        assert not blobs.path(0x1234).exists()
        await blob_writer.finish()
        assert blobs.path(0x1234).read_bytes() == b"hello world"
        assert blobs.path(0x1234).parent.name == "34"
        assert list(blobs.temporary_files()) == []
        assert (blob_writer.size, list(blobs.files())) == (11, [(0x1234, blobs.path(0x1234))])

    asyncio.run(run())


def test_a_write_of_more_pieces_than_the_kernel_takes_at_once_is_whole(blobs):
    async def run():
        blob_writer = BlobWriter(blobs, 1)
        pieces = [bytes([number % 256]) * 7 for number in range(3000)]
        await blob_writer.write(pieces)
        await blob_writer.finish()
        assert blobs.path(1).read_bytes() == b"".join(pieces)

    asyncio.run(run())


def test_a_discarded_draft_leaves_nothing(blobs):
    async def run():
        blob_writer = BlobWriter(blobs, 1)
        await blob_writer.write([b"x"])
        blob_writer.discard()
        await blobs.run(lambda: None)
        await blobs.run(lambda: None)

    asyncio.run(run())
    blobs.close()
    assert list(blobs.temporary_files()) == []


def test_a_draft_that_was_never_written_can_be_discarded(blobs):
    BlobWriter(blobs, 1).discard()
    blobs.close()
    assert list(blobs.temporary_files()) == []


def test_a_disk_that_refuses_is_unavailable_and_nobody_elses_fault(blobs):
    async def run():
        blobs.temporary_path(1).mkdir()  # something in the way
        with pytest.raises(ApiError, match="ServiceUnavailable"):
            await BlobWriter(blobs, 1).write([b"x"])

    asyncio.run(run())


def test_a_file_is_read_from_any_place_in_bounded_pieces(blobs, tmp_path):
    content = bytes(range(251)) * 3000
    (tmp_path / "file").write_bytes(content)

    async def run():
        with (tmp_path / "file").open("rb") as file:
            pieces = [piece async for piece in read_file(blobs, file.fileno(), 100, len(content) - 200)]
        assert b"".join(pieces) == content[100:-100]
        assert max(map(len, pieces)) == READ_BYTES

    asyncio.run(run())


def test_reading_ends_where_the_file_does(blobs, tmp_path):
    (tmp_path / "file").write_bytes(b"short")

    async def run():
        with (tmp_path / "file").open("rb") as file:
            return [piece async for piece in read_file(blobs, file.fileno(), 0, 100)]

    assert asyncio.run(run()) == [b"short"]


def test_removing_is_done_by_the_time_of_close(blobs):
    blobs.folder_of(1)
    blobs.path(1).write_bytes(b"x")
    blobs.unlink([1, 2])
    blobs.close()
    assert list(blobs.files()) == []
