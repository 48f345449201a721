"""check names each broken invariant, and only broken ones."""

import asyncio
import sqlite3

import pytest

from atoll.domain.errors import ApiError
from atoll.domain.objects import Key
from atoll.object_store.disk.disk_store import DiskStore
from atoll.object_store.disk.integrity_check import check
from atoll.object_store.disk.schema import DATABASE
from contracts.store import KEY, LARGE, Ticks, content, metadata, put

OLD = "SELECT id FROM version WHERE name = 'many' AND version = 'v1'"


async def fill(folder):
    store = await DiskStore.open(folder, "here", Ticks())
    await put(store)
    await put(store, key=Key("bucket", "large"), content=LARGE)
    await put(store, key=Key("bucket", "many"), version="v1")
    await put(store, key=Key("bucket", "many"), version="v2")
    await put(store, key=Key("b!uploads", "u/1"), content=LARGE)
    await put(store, key=Key("b!uploads", "u/2"), content=b"tail")
    parts = [Key("b!uploads", "u/1"), Key("b!uploads", "u/2")]
    await store.join(Key("bucket", "joined"), parts, metadata(), discard=Key("b!uploads", "u/"))
    await store.close()


@pytest.fixture
def folder(tmp_path):
    asyncio.run(fill(tmp_path))
    return tmp_path


def file_of(folder, name="large"):
    db = sqlite3.connect(folder / DATABASE)
    (number,) = db.execute("SELECT id FROM version WHERE name = ?", (name,)).fetchone()
    db.close()
    return folder / "blobs" / f"{number & 0xFF:02x}" / f"{number:x}"


def broken(folder):
    return [(each.kind, each.key) for each in check(folder)]


def test_a_sound_store_has_nothing_to_say(folder):
    assert broken(folder) == []


def test_there_must_be_a_store(tmp_path):
    with pytest.raises(FileNotFoundError):
        broken(tmp_path / "nowhere")


def test_check_changes_nothing(folder):
    before = (folder / DATABASE).read_bytes()
    broken(folder)
    assert (folder / DATABASE).read_bytes() == before


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("UPDATE version SET latest = 0 WHERE name = 'a/key'", [("order", "bucket/a/key")]),
        ("UPDATE version SET latest = 1 - latest WHERE name = 'many' AND version = 'v2'", [("order", "bucket/many")]),
        ("UPDATE version SET ms = ms + 9 WHERE name = 'a/key'", [("columns", "bucket/a/key")]),
        ("UPDATE version SET facts = x'c1' WHERE name = 'a/key'", [("facts", "bucket/a/key")]),
        ("UPDATE version SET segments = x'c1' WHERE name = 'joined'", [("segments", "bucket/joined")] + [("blob-unused", "*")] * 2),
        (f"DELETE FROM blob WHERE id = ({OLD})", [("blob-missing", "bucket/many")]),
        (f"UPDATE blob SET bytes = x'00' WHERE id = ({OLD})", [("size", "bucket/many")]),
        (f"UPDATE blob SET bytes = x'6865006c6f' WHERE id = ({OLD})", [("checksum", "bucket/many")]),
        (f"UPDATE blob SET size = 6 WHERE id = ({OLD})", [("segments", "bucket/many"), ("size", "bucket/many")]),
        ("INSERT INTO blob VALUES (999, 1, 0, NULL)", [("blob-unused", "*"), ("file-missing", "*")]),
        ("INSERT INTO feed VALUES ('bucket', 99, 'ghost', 'v1', 'put')", [("feed", "bucket/ghost")]),
    ],
)
def test_a_row_that_is_wrong_is_named(folder, change, found):
    db = sqlite3.connect(folder / DATABASE)
    db.execute(change)
    db.commit()
    db.close()
    named = [(kind, "*" if key.startswith("blob ") else key) for kind, key in broken(folder)]
    assert named == found


def test_a_file_that_is_gone_is_named(folder):
    file_of(folder).unlink()
    assert broken(folder) == [("file-missing", "bucket/large")]


def test_a_file_of_another_size_is_named(folder):
    with file_of(folder).open("ab") as file:
        file.write(b"x")
    assert broken(folder) == [("size", "bucket/large")]


def flip(path, at):
    with path.open("r+b") as file:
        file.seek(at)
        (byte,) = file.read(1)
        file.seek(at)
        file.write(bytes([byte ^ 1]))


def test_a_flipped_bit_in_a_file_is_named(folder):
    flip(file_of(folder), 200_000)
    assert broken(folder) == [("checksum", "bucket/large")]


def test_a_file_without_a_row_is_named(folder):
    file_of(folder).with_name("ffff").write_bytes(b"x")
    ((kind, path),) = broken(folder)
    assert (kind, path[-4:]) == ("file-orphan", "ffff")


def test_a_damaged_database_is_named(folder):
    with (folder / DATABASE).open("r+b") as file:
        file.seek(4096 * 2)
        file.write(b"\xff" * 4096)
    assert {kind for kind, _ in broken(folder)} == {"database"}


def test_a_store_that_is_open_can_be_checked(folder):
    async def run():
        store = await DiskStore.open(folder, "here", Ticks())
        await put(store, key=Key("bucket", "new"), content=LARGE)
        file_of(folder, "large").with_name("ffff").write_bytes(b"x")  # could be a write on its way in
        found = await asyncio.to_thread(broken, folder)
        await put(store, key=Key("bucket", "newer"))
        await store.close()
        return found

    assert asyncio.run(run()) == []


async def read(folder, name, version=None, byte_range=None):
    store = await DiskStore.open(folder, "here", Ticks())
    try:
        return await content(store, Key("bucket", name), version, byte_range)
    finally:
        await store.close()


def test_torn_inline_bytes_are_never_served(folder, caplog):
    db = sqlite3.connect(folder / DATABASE)
    db.execute(f"UPDATE blob SET bytes = x'6865006c6f' WHERE id = ({OLD})")
    db.commit()
    db.close()
    with pytest.raises(ApiError, match="InternalError.*'many'"):
        asyncio.run(read(folder, "many", "v1"))
    assert "bucket/many" in caplog.text


@pytest.mark.parametrize("name", ["large", "joined"])
def test_torn_files_are_never_served_whole(folder, name):
    for path in (folder / "blobs").glob("??/*"):
        flip(path, 5)
    with pytest.raises(ApiError, match="InternalError"):
        asyncio.run(read(folder, name))


def test_a_short_file_is_an_error_and_not_a_short_body(folder):
    with file_of(folder).open("r+b") as file:
        file.truncate(1000)
    with pytest.raises(ApiError, match="InternalError"):
        asyncio.run(read(folder, "large"))


def test_a_missing_file_is_an_error_before_the_first_byte(folder):
    file_of(folder).unlink()

    async def run():
        store = await DiskStore.open(folder, "here", Ticks())
        found = await store.get(Key("bucket", "large"))
        with pytest.raises(ApiError, match="InternalError"):
            found.body()
        found.close()
        await store.close()

    asyncio.run(run())


def test_the_key_is_named_in_the_log(folder, caplog):
    flip(file_of(folder), 5)
    with pytest.raises(ApiError):
        asyncio.run(read(folder, "large"))
    assert "bucket/large" in caplog.text
    assert KEY.name not in caplog.text
