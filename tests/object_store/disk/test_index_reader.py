"""What readers find in committed rows."""

import pytest

from atoll.domain.objects import ALWAYS, START, Key, ScanCursor
from atoll.object_store.disk.schema import FILE, INLINE, NOTHING
from atoll.object_store.disk.write_operations import Delete
from object_store.disk.rows import KEY


@pytest.fixture
def listing(rows):
    """a: two versions; b: an object under a marker; c: three versions that arrived out of order."""
    rows.put(Key("bucket", "a"), "a1")
    rows.put(Key("bucket", "a"), "a2")
    rows.put(Key("bucket", "b"), "b1")
    rows.put(Key("bucket", "b"), "b2", b"", marker=True)
    rows.put(Key("bucket", "c"), "c9", ms=900)
    rows.put(Key("bucket", "c"), "c1", ms=10)
    rows.put(Key("bucket", "c"), "c5", ms=500)
    return rows


ALL = [("a", "a2", True), ("a", "a1", False), ("b", "b2", True), ("b", "b1", False), ("c", "c9", True), ("c", "c5", False), ("c", "c1", False)]


def test_a_hit_says_where_the_bytes_are(rows):
    rows.put(version="v1", content=b"inside")
    rows.put(version="v2", content=b"outside", file=True)
    rows.put(version="v3", content=b"")
    hits = [rows.reads.find(KEY, version) for version in ("v1", "v2", None)]
    assert [(hit.place, hit.content, hit.metadata.size) for hit in hits] == [(INLINE, b"inside", 6), (FILE, None, 7), (NOTHING, None, 0)]
    assert rows.reads.content(1) == b"inside"
    assert rows.reads.content(99) is None


@pytest.mark.parametrize(("key", "version"), [(Key("bucket", "nothing"), None), (KEY, "v9"), (Key("other", "k"), "v1")])
def test_what_is_not_there_is_not_found(rows, key, version):
    rows.put(version="v1")
    assert rows.reads.find(key, version) is None
    assert rows.reads.head(key, version) is None


def test_head_finds_the_current_and_any_other_version(listing):
    heads = [listing.reads.head(Key("bucket", "c"), version).version for version in (None, "c9", "c5", "c1")]
    assert heads == ["c9", "c9", "c5", "c1"]


def test_a_plain_listing_shows_no_markers(listing):
    assert [(entry.name, entry.metadata.version) for entry in listing.reads.live("bucket", "", START, 10)] == [("a", "a2"), ("c", "c9")]


def test_a_plain_listing_goes_on_after_a_name_and_stays_below_its_prefix(rows):
    for name in ("a", "a/", "a/1", "a/2", "a0", "b"):
        rows.put(Key("bucket", name))
    live = [[entry.name for entry in rows.reads.live("bucket", "a/", ScanCursor(after), limit)] for after, limit in (("", 9), ("", 2), ("a/1", 9), ("a/9", 9), ("b", 9))]
    assert live == [["a/", "a/1", "a/2"], ["a/", "a/1"], ["a/2"], [], []]


def test_all_versions_come_by_name_and_newest_first(listing):
    assert listing.versions() == ALL


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_pages_of_any_size_add_up_to_the_whole(listing, limit):
    pages, mark = [], START
    while page := listing.versions(after=mark, limit=limit):
        assert len(page) <= limit
        pages += page
        assert len(pages) <= len(ALL)
        mark = ScanCursor(*page[-1][:2])
    assert pages == ALL


def test_a_listing_goes_on_with_all_of_a_key_whose_marked_version_is_gone(listing):
    listing.apply(Delete(Key("bucket", "c"), "c5", ALWAYS))
    assert listing.versions(after=ScanCursor("c", "c5")) == [("c", "c9", True), ("c", "c1", False)]


def test_a_mark_outside_the_prefix_does_not_bring_its_key_back(listing):
    assert listing.versions(prefix="b", after=ScanCursor("a", "a2")) == [("b", "b2", True), ("b", "b1", False)]


def test_changes_come_in_order_after_a_place_and_no_more_than_asked(rows):
    for version in ("v1", "v2", "v3"):
        rows.put(version=version)
        rows.put(Key("other", "k"), version)
    assert [(change.seq, change.version) for change in rows.reads.changes("bucket", 1, 9)] == [(3, "v2"), (5, "v3")]
    assert [change.version for change in rows.reads.changes("bucket", 0, 2)] == ["v1", "v2"]
