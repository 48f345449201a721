"""What can be written in one step."""

from dataclasses import replace

import pytest

from atoll.domain.errors import ApiError
from atoll.domain.objects import ALWAYS, Condition, Key, ObjectMetadata, Stamp
from atoll.object_store.disk.row_codec import decode_segments
from atoll.object_store.disk.schema import JOINED, NOTHING
from atoll.object_store.disk.write_operations import Bytes, Delete, Drop, Join, Put, Trim, UpdateMetadata
from object_store.disk.rows import KEY, UPLOAD

PARTS = [Key(UPLOAD.bucket, f"u1/{number}") for number in (1, 2, 3)]


def join(parts=PARTS, version="v1", *, id=50, condition=ALWAYS):
    return Join((id, KEY, ObjectMetadata(version=version), condition), parts, UPLOAD)


def blobs(rows):
    return [id for (id,) in rows.db.execute("SELECT id FROM blob ORDER BY id")]


def test_a_new_version_comes_above_all_that_the_key_has(rows):
    rows.put(version="v1", ms=500)
    made, gone = rows.put(version="v2", content=b"hello")
    assert (made.stamp, made.size, gone) == (Stamp(501, "here", "v2"), 5, [])
    assert rows.reads.head(KEY, None) == made


def test_a_copy_that_arrives_late_takes_its_place_below(rows):
    rows.put(version="v2", ms=500)
    rows.put(version="v1", ms=400)
    assert rows.reads.head(KEY, None).version == "v2"


def test_a_version_that_is_delivered_twice_is_kept_as_it_was_and_the_second_file_goes(rows):
    first, _ = rows.put(version="v1", content=b"one", file=True)
    second, gone = rows.put(version="v1", content=b"other", file=True)
    assert second == first
    assert gone == [2]
    assert (blobs(rows), rows.kinds()) == ([1], [("v1", "put")])


def test_a_null_version_replaces_the_null_version_and_its_file(rows):
    rows.put(content=b"old", file=True)
    rows.put(version="v1")
    made, gone = rows.put(content=b"new")
    assert gone == [1]
    assert [version for _, version, _ in rows.versions()] == ["null", "v1"]
    assert rows.reads.find(KEY, "null").content == b"new"
    assert rows.reads.head(KEY, None) == made


def test_a_null_version_that_sinks_below_another_gives_up_being_current(rows):
    rows.put(version="v1", ms=500)
    rows.put(ms=900)
    rows.put(ms=100)
    assert rows.versions() == [("k", "v1", True), ("k", "null", False)]


def test_a_refused_condition_changes_nothing(rows):
    rows.put(version="v1", etag="e1")
    with pytest.raises(ApiError, match="PreconditionFailed"):
        rows.put(version="v2", condition=Condition(if_none_match=True))
    with pytest.raises(ApiError, match="PreconditionFailed"):
        rows.put(version="v2", condition=Condition(if_match="e2"))
    assert (rows.kinds(), blobs(rows)) == ([("v1", "put")], [1])


def test_a_delivery_that_was_there_before_is_not_judged_again(rows):
    first, _ = rows.put(version="v1")
    assert rows.put(version="v1", condition=Condition(if_none_match=True))[0] == first


def test_only_bytes_inside_the_database_weigh_and_only_a_file_must_be_cleared_away():
    inline, file = (Put(7, KEY, ObjectMetadata(), Bytes(5, 0, content), ALWAYS) for content in (b"hello", None))
    assert [(write.weight, write.fresh) for write in (inline, file)] == [(5, None), (0, 7)]


def test_deleting_the_current_version_brings_the_one_before_back(rows):
    rows.put(version="v1")
    rows.put(version="v2", file=True)
    was, gone = rows.apply(Delete(KEY, "v2", ALWAYS))
    assert (was.version, gone) == ("v2", [2])
    assert rows.reads.head(KEY, None).version == "v1"
    assert rows.kinds()[-1] == ("v2", "delete")


def test_deleting_what_is_not_there_says_so_and_is_no_change(rows):
    rows.put(version="v1")
    assert rows.apply(Delete(KEY, "v9", ALWAYS)) == (None, [])
    assert rows.kinds() == [("v1", "put")]


def test_a_delete_is_judged_by_what_is_current(rows):
    rows.put(version="v1", etag="e1")
    rows.put(version="v2", etag="e2")
    with pytest.raises(ApiError, match="PreconditionFailed"):
        rows.apply(Delete(KEY, "v1", Condition(if_match="e1")))
    assert rows.apply(Delete(KEY, "v1", Condition(if_match="e2")))[0].version == "v1"


def test_an_amendment_is_a_change_unless_it_changes_nothing(rows):
    rows.put(version="v1")
    rows.apply(UpdateMetadata(KEY, "v1", lambda metadata: metadata))
    assert rows.kinds() == [("v1", "put")]
    changed, _ = rows.apply(UpdateMetadata(KEY, "v1", lambda metadata: replace(metadata, tags={"a": "b"})))
    assert changed.tags == rows.reads.head(KEY, "v1").tags == {"a": "b"}
    assert rows.kinds()[-1] == ("v1", "amend")
    assert rows.apply(UpdateMetadata(KEY, "v9", lambda metadata: metadata))[0] is None


def test_a_join_inherits_the_parts_in_the_order_asked_and_removes_the_rest(rows):
    for part, content in zip(PARTS, (b"one", b"three", b"unused"), strict=True):
        rows.put(part, content=content, file=True)
    made, gone = rows.apply(join([PARTS[1], PARTS[0]]))
    hit = rows.reads.find(KEY, None)
    assert (made.size, hit.place, gone) == (8, JOINED, [3])
    assert [(segment.id, segment.size) for segment in decode_segments(hit.segments)] == [(2, 5), (1, 3)]
    assert (blobs(rows), rows.index.under(UPLOAD)) == ([1, 2], [])


def test_a_joined_version_that_goes_takes_every_inherited_file_along(rows):
    rows.put(PARTS[0], file=True)
    rows.put(PARTS[1], content=b"tail")
    rows.apply(join(PARTS[:2]))
    assert rows.apply(Delete(KEY, "v1", ALWAYS))[1] == [1]
    assert blobs(rows) == []


def test_a_join_of_empty_parts_is_an_empty_version(rows):
    rows.put(PARTS[0], content=b"")
    assert rows.apply(join(PARTS[:1]))[0].size == 0
    assert rows.reads.find(KEY, None).place == NOTHING


def test_a_join_with_a_part_that_is_gone_is_refused_and_the_upload_stays(rows):
    rows.put(PARTS[0])
    with pytest.raises(ApiError, match="InvalidPart"):
        rows.apply(join(PARTS[:2]))
    assert [row.name for row in rows.index.under(UPLOAD)] == ["u1/1"]


def test_a_join_whose_version_was_there_before_throws_the_parts_away(rows):
    first, _ = rows.put(version="v1", content=b"first")
    rows.put(PARTS[0], file=True)
    assert rows.apply(join(PARTS[:1])) == (first, [2])
    assert (rows.reads.find(KEY, None).content, blobs(rows)) == (b"first", [1])


def test_a_dropped_upload_leaves_neither_rows_nor_blobs_and_its_bucket_alone(rows):
    rows.put()
    rows.put(PARTS[0], file=True)
    rows.put(PARTS[0], content=b"again", file=True)
    rows.put(PARTS[1])
    assert rows.apply(Drop(UPLOAD)) == (None, [3])
    assert (blobs(rows), rows.kinds(), rows.kinds(UPLOAD.bucket)) == ([1], [("null", "put")], [])


def test_dropping_a_bucket_tells_its_feed(rows):
    rows.put(version="v1", file=True)
    assert rows.apply(Drop(Key("bucket", "")))[1] == [1]
    assert rows.kinds() == [("v1", "put"), ("v1", "delete")]


def test_a_trim_forgets_changes_and_no_version(rows):
    rows.put(version="v1")
    rows.apply(Trim("bucket", 1))
    assert rows.kinds() == []
    assert rows.reads.head(KEY, None).version == "v1"


def test_a_write_names_the_one_key_that_it_touches_or_none():
    outside = Key("bucket", "logs/")
    joined = Join((1, KEY, ObjectMetadata(), ALWAYS), [], outside)
    touched = [write.touches for write in (Delete(KEY, "v1", ALWAYS), join(), Drop(UPLOAD), joined, Drop(outside))]
    assert touched == [KEY, KEY, UPLOAD, None, None]
