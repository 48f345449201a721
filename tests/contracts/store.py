"""What every engine promises, as one suite: an engine's test file says how to open it and no more."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path

import pytest

from atoll.domain.errors import ApiError, Incomplete
from atoll.domain.http_message import EMPTY, Body
from atoll.domain.objects import ByteRange, Change, Checksum, Condition, Key, ObjectMetadata, Part, ScanCursor, ScanEntry, Stamp

KEY = Key("bucket", "a/key")
LARGE = bytes(range(256)) * 1200  # 300 KiB: more than engines keep inline
UPLOAD = Key("b!uploads", "u1/")


class Ticks:
    """A wall clock that stands until it is moved."""

    def __init__(self, ms=1_000_000):
        self.ms = ms

    def __call__(self):
        return self.ms


def promise(test):
    """An async test on a fresh store of the class's engine."""

    def run(self, tmp_path):
        async def body():
            clock = Ticks()
            async with self.open(tmp_path, clock) as store:
                await test(self, store, clock)

        type(self).run(body())

    run.__name__ = test.__name__
    run.__doc__ = test.__doc__
    return run


def stream(*pieces, then=None):
    """A body that arrives in pieces and possibly breaks."""

    async def chunks():
        for piece in pieces:
            yield piece
        if then is not None:
            raise then

    return Body(chunks(), None)


def metadata(version="null", **known):
    return ObjectMetadata(version=version, etag=known.pop("etag", "e1"), **known)


async def put(store, key=KEY, content=b"hello", condition=Condition(), **known):
    made = metadata(**known)
    return await store.put(key, Body.of(content), lambda: made, condition)


async def content(store, key=KEY, version=None, byte_range=None):
    found = await store.get(key, version)
    return b"".join([piece async for piece in found.body(byte_range)])


async def names(store, bucket="bucket", **how):
    return [(entry.name, entry.metadata.version, entry.latest) for entry in await store.scan(bucket, **how)]


async def refused(call):
    with pytest.raises(ApiError) as caught:
        await call
    return caught.value.code


class StoreContract:
    run = staticmethod(asyncio.run)

    def open(self, folder: Path, clock: Ticks) -> AbstractAsyncContextManager:
        raise NotImplementedError

    # Bytes and facts

    @promise
    async def test_what_was_put_is_got(self, store, clock):
        known = metadata(
            modified_ms=5, headers={"content-type": "text/plain"}, meta={"a": "ü"}, tags={"t": "1"}, tags_ms=7,
            checksum=Checksum("CRC32", "FULL_OBJECT", "AAAAAA=="), owner="1", replication={"b": "PENDING"},
            replica=True, storage_class="GLACIER", notes={"n": "1"}, parts=(Part(1, 5, "x"),),
        )  # fmt: skip
        made = await store.put(KEY, Body.of(b"hello"), lambda: known)
        assert made == replace(known, size=5, stamp=Stamp(1_000_000, "here", "null"))
        assert (await store.get(KEY)).metadata == made
        assert await store.head(KEY) == made
        assert await content(store) == b"hello"

    @promise
    async def test_nothing_is_found_where_nothing_is(self, store, clock):
        await put(store)
        assert await store.get(Key("bucket", "a/ke")) is None
        assert await store.get(Key("other", "a/key")) is None
        assert await store.get(KEY, "v9") is None
        assert await store.head(KEY, "v9") is None
        assert await store.head(Key("other", "a/key")) is None

    @promise
    async def test_an_empty_body_is_an_object(self, store, clock):
        assert (await put(store, content=b"")).size == 0
        assert await content(store) == b""

    @promise
    async def test_a_large_body_comes_back_whole_and_in_spans(self, store, clock):
        await put(store, content=LARGE)
        assert await content(store) == LARGE
        assert await content(store, byte_range=ByteRange(0, 0)) == LARGE[:1]
        assert await content(store, byte_range=ByteRange(1000, 299_999)) == LARGE[1000:300_000]
        assert await content(store, byte_range=ByteRange(len(LARGE) - 1, len(LARGE) - 1)) == LARGE[-1:]

    @promise
    async def test_a_small_body_comes_back_in_spans(self, store, clock):
        await put(store)
        assert await content(store, byte_range=ByteRange(1, 3)) == b"ell"

    @promise
    async def test_a_body_knows_its_length(self, store, clock):
        await put(store, content=LARGE)
        found = await store.get(KEY)
        assert found.body(ByteRange(10, 19)).length == 10
        found = await store.get(KEY)
        assert found.body().length == len(LARGE)

    @promise
    async def test_the_size_is_what_was_counted(self, store, clock):
        assert (await put(store, size=99)).size == 5

    @promise
    async def test_streams_of_any_length_are_kept(self, store, clock):
        for size in (0, 1, 65_535, 65_536, 65_537):
            pieces = [LARGE[first : first + 1000] for first in range(0, size, 1000)]
            whole = LARGE[: len(pieces) * 1000]
            assert (await store.put(KEY, stream(*pieces), metadata)).size == len(whole)
            assert await content(store) == whole

    @promise
    async def test_a_body_that_breaks_leaves_no_trace(self, store, clock):
        await put(store)
        for pieces in ([b"x"], [LARGE, LARGE, LARGE, LARGE, LARGE]):
            with pytest.raises(Incomplete):
                await store.put(KEY, stream(*pieces, then=Incomplete("cut")), metadata)
        assert await content(store) == b"hello"
        assert len(await store.changes("bucket", 0)) == 1

    @promise
    async def test_a_seal_that_refuses_leaves_no_trace(self, store, clock):
        def refuse():
            raise ApiError("BadDigest")

        for body in (Body.of(b"x"), Body.of(LARGE), stream(LARGE)):
            assert await refused(store.put(KEY, body, refuse)) == "BadDigest"
        assert await store.head(KEY) is None
        assert await store.changes("bucket", 0) == []

    @promise
    async def test_the_seal_is_called_after_the_last_byte(self, store, clock):
        seen = []

        async def chunks():
            yield LARGE
            seen.append("end")

        def make_metadata():
            seen.append("seal")
            return metadata()

        await store.put(KEY, Body(chunks(), None), make_metadata)
        assert seen == ["end", "seal"]

    @promise
    async def test_what_was_sealed_is_committed_before_a_later_write(self, store, clock):
        """Whoever forbids further writes and then waits for a write of their own has seen all that were let through."""
        for content in (b"small", LARGE):
            sealed, key = asyncio.Event(), Key("bucket", f"{len(content)}")

            def make_metadata(result=sealed):
                result.set()
                return metadata()

            async with asyncio.TaskGroup() as group:
                group.create_task(store.put(key, stream(content[:5], content[5:]), make_metadata))
                await sealed.wait()
                await store.drop(Key("!uploads", ""))
                assert (key.name, "null", True) in await names(store)

    @promise
    async def test_a_found_version_can_be_closed_unread(self, store, clock):
        await put(store, content=LARGE)
        found = await store.get(KEY)
        found.close()
        found.close()

    @promise
    async def test_a_reader_keeps_what_it_found_while_it_is_replaced(self, store, clock):
        await put(store, content=LARGE)
        found = await store.get(KEY)
        await put(store, content=b"new")
        await store.delete(KEY, "null")
        assert b"".join([piece async for piece in found.body()]) == LARGE

    # Versions and their order

    @promise
    async def test_the_null_version_is_replaced(self, store, clock):
        await put(store, content=LARGE)
        await put(store, content=b"two")
        assert await content(store) == b"two"
        assert await names(store, versions=True) == [("a/key", "null", True)]

    @promise
    async def test_a_version_that_is_there_is_left_as_it_is(self, store, clock):
        first = await put(store, version="v1")
        for again in (b"other", LARGE):
            assert await put(store, version="v1", content=again, etag="e2") == first
        assert await content(store, version="v1") == b"hello"
        assert len(await store.changes("bucket", 0)) == 1

    @promise
    async def test_versions_stay_readable_by_id(self, store, clock):
        for number in (1, 2, 3):
            await put(store, version=f"v{number}", content=b"%d" % number)
        assert await content(store) == b"3"
        assert await content(store, version="v1") == b"1"
        assert (await store.head(KEY, "v2")).version == "v2"

    @promise
    async def test_stamps_rise_on_a_clock_that_stands_or_goes_back(self, store, clock):
        assert (await put(store, version="v1")).stamp == Stamp(1_000_000, "here", "v1")
        assert (await put(store, version="v2")).stamp == Stamp(1_000_001, "here", "v2")
        clock.ms = 5
        assert (await put(store, version="v3")).stamp == Stamp(1_000_002, "here", "v3")
        assert (await put(store, key=Key("bucket", "other"), version="v1")).stamp == Stamp(5, "here", "v1")

    @promise
    async def test_a_stamp_rises_above_the_null_version_that_it_replaces(self, store, clock):
        await put(store)
        clock.ms = 5
        assert (await put(store)).stamp == Stamp(1_000_001, "here", "null")

    @promise
    async def test_a_given_stamp_is_kept_and_decides_what_is_current(self, store, clock):
        await put(store, version="v5", stamp=Stamp(500, "b", "v5"))
        await put(store, version="v4", stamp=Stamp(400, "b", "v4"))
        await put(store, version="v6", stamp=Stamp(500, "b", "v6"))
        await put(store, version="v0", stamp=Stamp(500, "a", "v0"))
        assert (await store.head(KEY)).version == "v6"
        assert (await store.head(KEY)).stamp == Stamp(500, "b", "v6")
        assert [version for _, version, _ in await names(store, versions=True)] == ["v6", "v5", "v0", "v4"]

    @promise
    async def test_a_stamp_from_the_future_is_topped(self, store, clock):
        await put(store, version="v1", stamp=Stamp(9_000_000, "b", "v1"))
        assert (await put(store, version="v2")).stamp == Stamp(9_000_001, "here", "v2")

    @promise
    async def test_a_null_version_with_an_old_stamp_makes_room_for_the_next(self, store, clock):
        await put(store, version="v1", stamp=Stamp(100, "b", "v1"))
        await put(store, version="null", stamp=Stamp(200, "b", "null"))
        await put(store, version="null", stamp=Stamp(50, "b", "null"))
        assert await names(store, versions=True) == [("a/key", "v1", True), ("a/key", "null", False)]
        assert (await store.head(KEY)).version == "v1"

    @promise
    async def test_a_late_arrival_does_not_hide_what_is_newer(self, store, clock):
        await put(store, version="v2", content=b"new")
        await put(store, version="v1", content=b"old", stamp=Stamp(1, "b", "v1"))
        assert await content(store) == b"new"
        assert await content(store, version="v1") == b"old"

    @promise
    async def test_a_marker_is_current_but_not_listed(self, store, clock):
        await put(store, version="v1")
        marker = await store.put(KEY, EMPTY, lambda: ObjectMetadata(version="m1", marker=True))
        assert (await store.head(KEY)) == marker
        assert await names(store) == []
        assert await names(store, versions=True) == [("a/key", "m1", True), ("a/key", "v1", False)]

    # Delete

    @promise
    async def test_deleting_the_current_version_shows_the_one_before(self, store, clock):
        for number in (1, 2, 3):
            await put(store, version=f"v{number}")
        assert (await store.delete(KEY, "v3")).version == "v3"
        assert (await store.head(KEY)).version == "v2"
        assert (await store.delete(KEY, "v1")).version == "v1"
        assert await names(store, versions=True) == [("a/key", "v2", True)]

    @promise
    async def test_deleting_what_is_not_there_tells_so(self, store, clock):
        assert await store.delete(KEY, "null") is None
        await put(store, version="v1")
        assert await store.delete(KEY, "v2") is None
        assert len(await store.changes("bucket", 0)) == 1

    @promise
    async def test_the_last_version_leaves_nothing(self, store, clock):
        await put(store, content=LARGE)
        await store.delete(KEY, "null")
        assert await store.get(KEY) is None
        assert await names(store, versions=True) == []

    # Conditions

    @promise
    async def test_if_none_match_stores_only_where_nothing_is(self, store, clock):
        once = Condition(if_none_match=True)
        await put(store, condition=once)
        assert await refused(put(store, content=LARGE, condition=once)) == "PreconditionFailed"
        assert await content(store) == b"hello"

    @promise
    async def test_if_match_stores_only_over_that_etag(self, store, clock):
        assert await refused(put(store, condition=Condition(if_match="e1"))) == "NoSuchKey"
        await put(store)
        await put(store, content=b"two", etag="e2", condition=Condition(if_match="e1"))
        assert await refused(put(store, condition=Condition(if_match="e1"))) == "PreconditionFailed"
        assert await content(store) == b"two"

    @promise
    async def test_a_delete_is_conditional_on_the_current_version(self, store, clock):
        await put(store)
        assert await refused(store.delete(KEY, "null", Condition(if_match="e2"))) == "PreconditionFailed"
        assert (await store.delete(KEY, "null", Condition(if_match="e1"))).etag == "e1"

    @promise
    async def test_of_many_at_once_one_wins(self, store, clock):
        async def attempt(number):
            try:
                await put(store, content=b"%d" % number, condition=Condition(if_none_match=True))
            except ApiError as fault:
                return fault.code
            return b"%d" % number

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(attempt(number)) for number in range(20)]
        outcomes = [task.result() for task in tasks]
        assert outcomes.count("PreconditionFailed") == 19
        assert await content(store) in outcomes

    # Amend

    @promise
    async def test_amend_replaces_facts_and_keeps_bytes(self, store, clock):
        before = await put(store, content=LARGE)
        after = await store.update_metadata(KEY, "null", lambda known: replace(known, tags={"a": "b"}, tags_ms=9))
        assert after == replace(before, tags={"a": "b"}, tags_ms=9)
        assert await store.head(KEY) == after
        assert await content(store) == LARGE

    @promise
    async def test_amend_reaches_versions_that_are_not_current(self, store, clock):
        await put(store, version="v1")
        await put(store, version="v2")
        await store.update_metadata(KEY, "v1", lambda known: replace(known, replication={"b": "COMPLETED"}))
        assert (await store.head(KEY, "v1")).replication == {"b": "COMPLETED"}
        assert (await store.head(KEY)).replication == {}

    @promise
    async def test_amend_of_what_is_missing_calls_nothing(self, store, clock):
        called = []
        assert await store.update_metadata(KEY, "null", called.append) is None
        assert called == []

    @promise
    async def test_an_amendment_that_refuses_or_changes_nothing_leaves_no_trace(self, store, clock):
        def refuse(known):
            raise ApiError("MethodNotAllowed")

        before = await put(store)
        assert await refused(store.update_metadata(KEY, "null", refuse)) == "MethodNotAllowed"
        assert await store.update_metadata(KEY, "null", lambda known: known) == before
        assert len(await store.changes("bucket", 0)) == 1

    @promise
    async def test_an_amendment_cannot_move_a_version(self, store, clock):
        before = await put(store)
        with pytest.raises(AssertionError):
            await store.update_metadata(KEY, "null", lambda known: replace(known, stamp=Stamp(1, "x", "null")))
        assert await store.head(KEY) == before

    # Join and drop

    @promise
    async def test_parts_become_one_version(self, store, clock):
        await put(store, key=Key("b!uploads", "u1/1"), content=LARGE)
        await put(store, key=Key("b!uploads", "u1/2"), content=LARGE[::-1])
        await put(store, key=Key("b!uploads", "u1/3"), content=b"tail")
        await put(store, key=Key("b!uploads", "u10/1"), content=b"another upload's")
        parts = [Key("b!uploads", f"u1/{number}") for number in (1, 2, 3)]
        made = await store.join(KEY, parts, metadata("v1", etag="e-3"), discard=UPLOAD)
        whole = LARGE + LARGE[::-1] + b"tail"
        assert (made.size, made.etag, made.stamp) == (len(whole), "e-3", Stamp(1_000_000, "here", "v1"))
        assert await content(store) == whole
        middle = ByteRange(len(LARGE) - 10, 2 * len(LARGE) + 1)
        assert await content(store, byte_range=middle) == whole[middle.first : middle.last + 1]
        assert await content(store, byte_range=ByteRange(len(whole) - 3, len(whole) - 1)) == b"ail"
        assert await names(store, "b!uploads") == [("u10/1", "null", True)]

    @promise
    async def test_joined_parts_live_on_until_their_version_is_deleted(self, store, clock):
        await put(store, key=Key("b!uploads", "u1/1"), content=LARGE)
        await store.join(KEY, [Key("b!uploads", "u1/1")], metadata(), discard=UPLOAD)
        await store.drop(UPLOAD)
        assert await content(store) == LARGE
        await store.delete(KEY, "null")
        assert await store.get(KEY) is None

    @promise
    async def test_unused_parts_are_discarded_by_a_join(self, store, clock):
        await put(store, key=Key("b!uploads", "u1/1"), content=b"one")
        await put(store, key=Key("b!uploads", "u1/2"), content=LARGE)
        await put(store, key=Key("b!uploads", "u1/"), content=b"record")
        await store.join(KEY, [Key("b!uploads", "u1/1")], metadata(), discard=UPLOAD)
        assert await content(store) == b"one"
        assert await names(store, "b!uploads", versions=True) == []

    @promise
    async def test_a_missing_part_joins_nothing(self, store, clock):
        await put(store, key=Key("b!uploads", "u1/1"))
        parts = [Key("b!uploads", "u1/1"), Key("b!uploads", "u1/2")]
        assert await refused(store.join(KEY, parts, metadata(), discard=UPLOAD)) == "InvalidPart"
        assert await store.head(KEY) is None
        assert len(await names(store, "b!uploads")) == 1

    @promise
    async def test_a_join_whose_condition_fails_keeps_the_parts(self, store, clock):
        await put(store)
        part = Key("b!uploads", "u1/1")
        await put(store, key=part, content=LARGE)
        once = Condition(if_none_match=True)
        assert await refused(store.join(KEY, [part], metadata(), discard=UPLOAD, condition=once)) == "PreconditionFailed"
        assert await content(store, part) == LARGE
        assert await content(store) == b"hello"

    @promise
    async def test_empty_parts_join_to_an_empty_object(self, store, clock):
        await put(store, key=Key("b!uploads", "u1/1"), content=b"")
        made = await store.join(KEY, [Key("b!uploads", "u1/1")], metadata(), discard=UPLOAD)
        assert made.size == 0
        assert await content(store) == b""

    @promise
    async def test_a_join_replaces_the_null_version(self, store, clock):
        await put(store, content=LARGE)
        await put(store, key=Key("b!uploads", "u1/1"), content=b"part")
        await store.join(KEY, [Key("b!uploads", "u1/1")], metadata(), discard=UPLOAD)
        assert await content(store) == b"part"
        assert len(await names(store, versions=True)) == 1

    @promise
    async def test_a_joined_version_is_read_to_its_end_after_its_deletion(self, store, clock):
        await put(store, key=Key("b!uploads", "u1/1"), content=LARGE)
        await put(store, key=Key("b!uploads", "u1/2"), content=b"tail")
        parts = [Key("b!uploads", "u1/1"), Key("b!uploads", "u1/2")]
        await store.join(KEY, parts, metadata(), discard=UPLOAD)
        found = await store.get(KEY)
        await store.delete(KEY, "null")
        assert b"".join([piece async for piece in found.body()]) == LARGE + b"tail"

    @promise
    async def test_drop_removes_all_versions_under_a_prefix_and_no_others(self, store, clock):
        await put(store, key=Key("bucket", "p/1"), version="v1", content=LARGE)
        await put(store, key=Key("bucket", "p/1"), version="v2")
        await put(store, key=Key("bucket", "p"))
        await put(store, key=Key("bucket", "p0"))
        await put(store, key=Key("other", "p/1"))
        await store.drop(Key("bucket", "p/"))
        assert await names(store, versions=True) == [("p", "null", True), ("p0", "null", True)]
        assert len(await names(store, "other")) == 1

    @promise
    async def test_drop_of_no_prefix_empties_the_bucket(self, store, clock):
        await put(store)
        await put(store, key=Key("other", "a"))
        await store.drop(Key("bucket", ""))
        assert await names(store, versions=True) == []
        assert len(await names(store, "other")) == 1

    # Scan

    @promise
    async def test_a_scan_is_in_the_order_of_utf8_bytes(self, store, clock):
        order = ["\t", " ", "!", "A", "a", "a\0", "a!", "ab", "é", "\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0010ffff"]
        for name in reversed(order):
            await put(store, key=Key("bucket", name))
        assert [entry.name for entry in await store.scan("bucket")] == order
        assert [entry.name for entry in await store.scan("bucket", versions=True)] == order

    @promise
    async def test_a_scan_takes_a_prefix_a_mark_and_a_limit(self, store, clock):
        for name in ("a", "b/1", "b/2", "b/3", "b0", "c"):
            await put(store, key=Key("bucket", name))
        for versions in (False, True):
            how = {"versions": versions}
            assert [name for name, _, _ in await names(store, prefix="b/", **how)] == ["b/1", "b/2", "b/3"]
            assert [name for name, _, _ in await names(store, after=ScanCursor("b/2"), **how)] == ["b/3", "b0", "c"]
            assert [name for name, _, _ in await names(store, prefix="b/", after=ScanCursor("b/1"), limit=1, **how)] == ["b/2"]
            assert await names(store, prefix="b/", after=ScanCursor("b/3"), **how) == []
            assert await names(store, prefix="b/", after=ScanCursor("b/\U0010ffff"), **how) == []
            assert [name for name, _, _ in await names(store, prefix="c", after=ScanCursor("a"), **how)] == ["c"]
            assert await names(store, limit=0, **how) == []
            assert await names(store, "none", **how) == []

    @promise
    async def test_a_scan_of_current_versions_ignores_the_marked_version(self, store, clock):
        await put(store, key=Key("bucket", "a"), version="v1")
        await put(store, key=Key("bucket", "b"), version="v1")
        assert await names(store, after=ScanCursor("a", "v1")) == [("b", "v1", True)]

    @promise
    async def test_versions_are_listed_page_by_page(self, store, clock):
        for name in ("a", "b", "c"):
            for number in (1, 2, 3):
                await put(store, key=Key("bucket", name), version=f"v{number}")
        whole = [(name, f"v{number}", number == 3) for name in "abc" for number in (3, 2, 1)]
        assert await names(store, versions=True) == whole
        for size in (1, 2, 4):
            pages, after = [], ScanCursor()
            while page := await names(store, versions=True, limit=size, after=after):
                assert len(page) <= size
                pages += page
                after = ScanCursor(*page[-1][:2])
            assert pages == whole

    @promise
    async def test_a_listing_goes_on_after_the_marked_version_was_deleted(self, store, clock):
        for number in (1, 2, 3):
            await put(store, version=f"v{number}")
        await store.delete(KEY, "v3")
        assert await names(store, versions=True, after=ScanCursor("a/key", "v3")) == [
            ("a/key", "v2", True), ("a/key", "v1", False),
        ]  # fmt: skip

    @promise
    async def test_an_entry_has_the_facts(self, store, clock):
        made = await put(store, meta={"a": "b"})
        assert await store.scan("bucket") == [ScanEntry("a/key", made)]

    # Changes

    @promise
    async def test_every_change_is_in_the_feed_in_order(self, store, clock):
        await put(store, version="v1")
        await store.put(KEY, EMPTY, lambda: ObjectMetadata(version="m1", marker=True))
        await store.update_metadata(KEY, "v1", lambda known: replace(known, tags={"a": "b"}))
        await store.delete(KEY, "m1")
        await put(store, key=Key("other", "x"))
        feed = await store.changes("bucket", 0)
        assert [(change.name, change.version, change.kind) for change in feed] == [
            ("a/key", "v1", "put"), ("a/key", "m1", "marker"), ("a/key", "v1", "amend"), ("a/key", "m1", "delete"),
        ]  # fmt: skip
        assert sorted({change.seq for change in feed}) == [change.seq for change in feed]
        assert await store.changes("bucket", feed[1].seq) == feed[2:]
        assert await store.changes("bucket", 0, 3) == feed[:3]
        assert await store.changes("bucket", feed[3].seq) == []

    @promise
    async def test_a_join_and_a_drop_are_in_the_feed(self, store, clock):
        await put(store, key=Key("b!uploads", "u1/1"))
        await store.join(KEY, [Key("b!uploads", "u1/1")], metadata("v1"), discard=UPLOAD)
        await put(store, key=Key("bucket", "b"), version="v1")
        await store.drop(Key("bucket", ""))
        feed = [(change.name, change.kind) for change in await store.changes("bucket", 0)]
        assert feed == [("a/key", "put"), ("b", "put"), ("a/key", "delete"), ("b", "delete")]

    @promise
    async def test_internal_areas_keep_no_feed(self, store, clock):
        await put(store, key=Key("b!uploads", "u1/1"))
        await store.drop(UPLOAD)
        assert await store.changes("b!uploads", 0) == []

    @promise
    async def test_a_trimmed_feed_goes_on_counting(self, store, clock):
        await put(store, version="v1")
        await put(store, version="v2")
        feed = await store.changes("bucket", 0)
        await store.trim("bucket", feed[0].seq)
        assert await store.changes("bucket", 0) == feed[1:]
        await store.trim("bucket", feed[1].seq)
        await put(store, version="v3")
        (last,) = await store.changes("bucket", 0)
        assert isinstance(last, Change)
        assert last.seq > feed[1].seq
