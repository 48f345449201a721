"""What the rows say to the writer."""

from dataclasses import replace

from atoll.domain.objects import Key
from atoll.object_store.disk.index_writer import Index
from object_store.disk.rows import KEY, UPLOAD


def test_current_is_the_highest_and_the_others_are_found_by_name(rows):
    rows.put(version="v1")
    rows.put(version="v2")
    current = rows.index.current(KEY)
    assert current.version == "v2"
    assert rows.index.find(KEY, "v2", current) is current
    assert rows.index.find(KEY, "v1", current).id == 1
    assert rows.index.find(KEY, "v3", current) is None


def test_a_key_without_versions_has_neither(rows):
    assert rows.index.current(KEY) is None
    assert rows.index.find(KEY, "v1", None) is None


def test_the_next_in_line_is_the_highest_stamp_and_not_the_last_arrival(rows):
    for version, ms in (("top", 900), ("old", 100), ("next", 500), ("older", 50)):
        rows.put(version=version, ms=ms)
    rows.index.remove(rows.index.current(KEY))
    assert rows.index.current(KEY) is None
    rows.index.promote_next(KEY)
    assert rows.index.current(KEY).version == "next"


def test_only_files_outlive_the_rows_that_named_them(rows):
    rows.put(Key("bucket", "inline"))
    rows.put(Key("bucket", "file"), file=True)
    rows.put(Key("bucket", "empty"), content=b"")
    gone = [rows.index.remove(rows.index.current(Key("bucket", name))) for name in ("inline", "file", "empty")]
    assert gone == [[], [2], []]
    assert rows.db.execute("SELECT count(*) FROM blob").fetchone() == (0,)


def test_what_lies_under_a_prefix_is_by_name_and_newest_first(rows):
    for name, version in (("u1/2", "a"), ("u1/1", "a"), ("u1/1", "b"), ("u10", "a"), ("u1", "a"), ("u2/1", "a")):
        rows.put(Key(UPLOAD.bucket, name), version)
    rows.put(Key("other!uploads", "u1/9"))
    assert [(row.name, row.version) for row in rows.index.under(UPLOAD)] == [("u1/1", "b"), ("u1/1", "a"), ("u1/2", "a")]


def test_forgetting_a_prefix_spares_its_neighbours(rows):
    for name in ("u1/1", "u1/1", "u10", "u1", "u1/2"):
        rows.put(Key(UPLOAD.bucket, name), f"v{rows._id}")
    rows.index.delete_rows_under(UPLOAD)
    assert [name for name, _, _ in rows.versions(UPLOAD.bucket)] == ["u1", "u10"]


def test_a_rewrite_changes_one_version_only(rows):
    rows.put(version="v1")
    rows.put(version="v2")
    old = rows.index.find(KEY, "v1", rows.index.current(KEY))
    rows.index.rewrite(old, replace(old.metadata, tags={"a": "b"}))
    assert [rows.reads.head(KEY, version).tags for version in ("v1", "v2")] == [{"a": "b"}, {}]


def test_the_feed_counts_on_after_all_of_it_was_trimmed_and_the_store_was_opened_again(rows):
    rows.put()
    rows.put(Key("other", "k"))
    rows.index.trim("bucket", 9)
    rows.index.trim("other", 9)
    again = Index(rows.db, "here", lambda: 1)
    again.note(KEY, "null", "put")
    assert [change.seq for change in rows.reads.changes("bucket", 0, 10)] == [3]


def test_trimming_takes_one_bucket_up_to_a_place(rows):
    for _ in range(3):
        rows.put()
    rows.put(Key("other", "k"))
    rows.index.trim("bucket", 2)
    assert [change.seq for change in rows.reads.changes("bucket", 0, 10)] == [3]
    assert [change.seq for change in rows.reads.changes("other", 0, 10)] == [4]
