import asyncio

import pytest

from atoll.domain.objects import Key
from atoll.domain.quotas import MiB
from atoll.rules.replication_status import with_pending
from atoll.services.s3.bucket_replicator import IN_FLIGHT_MAX, cursor_key
from services.s3.replication_world import World, configuration, rule, settle


def two() -> World:
    world = World("virginia", "tokyo")
    world["virginia"].configured["b-virginia"] = configuration("b-tokyo")
    return world


def three() -> World:
    world = World("virginia", "tokyo", "oregon")
    world["virginia"].configured["b-virginia"] = configuration("b-tokyo", "b-oregon")
    return world


def test_a_copy_has_the_version_id_the_times_the_metadata_the_tags_and_the_etag_of_its_source():
    async def scene():
        world = two()
        async with world.started():
            original = await world["virginia"].put("a/ü b", b"hello", tags={"k": "v"}, meta={"m": "1"}, headers={"content-type": "text/x"})
            await world.pass_time(0.2)
            copy = await world["tokyo"].head("a/ü b", original.version)
            assert (copy.version, copy.modified_ms, copy.stamp, copy.etag) == (original.version, original.modified_ms, original.stamp, original.etag)
            assert (copy.tags, copy.meta, copy.headers, copy.size) == ({"k": "v"}, {"m": "1"}, {"content-type": "text/x"}, 5)
            assert await world["tokyo"].read("a/ü b") == b"hello"

    asyncio.run(scene())


def test_a_multipart_copy_keeps_its_parts_and_checksum():
    async def scene():
        world = two()
        async with world.started():
            original = await world["virginia"].put_parts("big", b"a" * 70_000, b"b" * 50_000, b"c")
            await world.pass_time(0.2)
            copy = await world["tokyo"].head("big")
            assert (copy.parts, copy.etag, copy.checksum) == (original.parts, original.etag, original.checksum)
            assert len(await world["tokyo"].read("big")) == 120_001

    asyncio.run(scene())


def test_facts_that_do_not_fit_a_header_travel_in_front_of_the_bytes():
    async def scene():
        world = two()
        async with world.started():
            await world["virginia"].put_parts("wide", *[b"%d" % n for n in range(300)])
            await world.pass_time(0.2)
            assert len((await world["tokyo"].head("wide")).parts) == 300
            assert "x-atoll-facts-bytes" in world["tokyo"].requests[0].headers

    asyncio.run(scene())


def test_the_header_goes_from_pending_to_completed_and_the_copy_says_replica():
    async def scene():
        world = two()
        async with world.started():
            await world["virginia"].put("k")
            assert await world["virginia"].status("k") == "PENDING"
            await world.pass_time(0.2)
            assert await world["virginia"].status("k") == "COMPLETED"
            assert await world["tokyo"].status("k") == "REPLICA"

    asyncio.run(scene())


def test_a_write_wakes_the_loop_without_waiting_for_a_poll():
    async def scene():
        world = two()
        async with world.started():
            await world["virginia"].put("k")
            await settle()
            assert await world["tokyo"].head("k") is not None

    asyncio.run(scene())


def test_objects_of_all_destinations_arrive():
    async def scene():
        world = three()
        async with world.started():
            await world["virginia"].put("k")
            await world.pass_time(0.2)
            assert await world["tokyo"].head("k") is not None
            assert await world["oregon"].head("k") is not None

    asyncio.run(scene())


def test_with_two_destinations_of_which_one_refuses_the_header_says_failed():
    async def scene():
        world = three()
        world["oregon"].denied.add("s3:ReplicateObject")
        async with world.started():
            await world["virginia"].put("k")
            await world.pass_time(0.2)
            metadata = await world["virginia"].head("k")
            assert metadata.replication == {"b-tokyo": "COMPLETED", "b-oregon": "FAILED"}
            assert await world["virginia"].status("k") == "FAILED"

    asyncio.run(scene())


def test_a_region_that_is_down_leaves_the_copy_pending_until_it_returns():
    async def scene():
        world = two()
        world["tokyo"].up = False
        async with world.started():
            await world["virginia"].put("k")
            await world.pass_time(3600)
            assert await world["virginia"].status("k") == "PENDING"
            world["tokyo"].up = True
            await world.pass_time(61)
            assert await world["virginia"].status("k") == "COMPLETED"

    asyncio.run(scene())


def test_a_region_that_is_said_to_be_back_is_tried_at_once():
    async def scene():
        world = two()
        world["tokyo"].up = False
        async with world.started():
            await world["virginia"].put("k")
            await world.pass_time(300)
            world["tokyo"].up = True
            world.running["virginia"][2].region_recovered("tokyo")
            await settle()
            assert await world["virginia"].status("k") == "COMPLETED"

    asyncio.run(scene())


def test_an_outage_is_probed_by_one_copy_at_a_time():
    async def scene():
        world = two()
        world["tokyo"].up = False
        async with world.started():
            for n in range(100):
                await world["virginia"].put(f"k{n}")
            await world.pass_time(120)
            assert len(world["virginia"].reported("replication.retry")) < IN_FLIGHT_MAX + 24
            world["tokyo"].up = True
            await world.pass_time(61)
            assert world["tokyo"].replica_counters.stored == 100

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("action", "side", "reason"),
    [
        ("s3:ReplicateObject", "tokyo", "DstPutObjectNotPermitted"),
        ("s3:GetObjectVersionForReplication", "virginia", "SrcGetObjectNotPermitted"),
    ],
)
def test_a_missing_permission_fails_the_copy_with_its_reason_and_event(action, side, reason):
    async def scene():
        world = two()
        world[side].denied.add(action)
        async with world.started():
            await world["virginia"].put("k")
            await world.pass_time(0.2)
            assert await world["virginia"].status("k") == "FAILED"
            [event] = world["virginia"].reported("s3:Replication:OperationFailedReplication")
            assert (event["reason"], event["key"], event["destination"]) == (reason, "k", "b-tokyo")

    asyncio.run(scene())


def test_a_multipart_copy_that_is_not_permitted_has_its_own_reason():
    async def scene():
        world = two()
        world["tokyo"].denied.add("s3:ReplicateObject")
        async with world.started():
            await world["virginia"].put_parts("k", b"a", b"b")
            await world.pass_time(0.2)
            [event] = world["virginia"].reported("s3:Replication:OperationFailedReplication")
            assert event["reason"] == "DstMultipartInitNotPermitted"

    asyncio.run(scene())


def test_a_marker_that_is_not_permitted_fails_and_does_not_hold_its_key():
    async def scene():
        world = two()
        world["tokyo"].denied.add("s3:ReplicateDelete")
        async with world.started():
            await world["virginia"].mark("k")
            await world["virginia"].put("k", b"next")
            await world.pass_time(0.2)
            [event] = world["virginia"].reported("s3:Replication:OperationFailedReplication")
            assert event["reason"] == "DstDelObjNotPermitted"
            assert await world["tokyo"].read("k") == b"next"

    asyncio.run(scene())


def test_a_role_that_cannot_be_taken_fails_the_copy():
    async def scene():
        world = two()
        world["virginia"].assumable = False
        async with world.started():
            await world["virginia"].put("k")
            await world.pass_time(0.2)
            assert world["virginia"].events[-1]["reason"] == "AssumeRoleNotPermitted"

    asyncio.run(scene())


def test_a_destination_that_is_suspended_fails_the_copy():
    async def scene():
        world = two()
        world["tokyo"].buckets["b-tokyo"] = "Suspended"
        async with world.started():
            await world["virginia"].put("k")
            await world.pass_time(0.2)
            assert world["virginia"].events[-1]["reason"] == "DstBucketUnversioned"

    asyncio.run(scene())


def test_a_destination_that_is_gone_fails_the_copy():
    async def scene():
        world = two()
        world["tokyo"].buckets.clear()
        async with world.started():
            await world["virginia"].put("k")
            await world.pass_time(0.2)
            assert world["virginia"].events[-1]["reason"] == "DstBucketNotFound"

    asyncio.run(scene())


@pytest.mark.parametrize(("side", "action"), [("tokyo", "s3:ReplicateTags"), ("virginia", "s3:GetObjectVersionTagging")])
def test_without_the_right_to_tags_the_object_goes_without_them(side, action):
    async def scene():
        world = two()
        world[side].denied.add(action)
        async with world.started():
            await world["virginia"].put("k", tags={"a": "b"})
            await world.pass_time(0.2)
            assert await world["virginia"].status("k") == "COMPLETED"
            assert (await world["tokyo"].head("k")).tags == {}

    asyncio.run(scene())


def test_a_change_of_tags_follows_its_object_without_the_bytes():
    async def scene():
        world = two()
        async with world.started():
            original = await world["virginia"].put("k", b"x" * 1000)
            await world.pass_time(0.2)
            await world["virginia"].tag("k", {"new": "1"}, original.version)
            assert await world["virginia"].status("k") == "PENDING"
            await world.pass_time(1.1)
            assert (await world["tokyo"].head("k")).tags == {"new": "1"}
            assert await world["virginia"].status("k") == "COMPLETED"
            assert world["tokyo"].requests[-1].headers["x-atoll-only"] == "facts"

    asyncio.run(scene())


def test_a_change_of_tags_while_the_copy_is_under_way_is_not_lost():
    async def scene():
        world = two()
        world["tokyo"].delay = lambda: 2.0
        async with world.started():
            original = await world["virginia"].put("k")
            await world.pass_time(1)
            await world["virginia"].tag("k", {"new": "1"}, original.version)
            await world.pass_time(10)
            assert (await world["tokyo"].head("k")).tags == {"new": "1"}
            assert await world["virginia"].status("k") == "COMPLETED"

    asyncio.run(scene())


def test_a_change_of_tags_does_not_bring_back_a_version_that_the_destination_deleted():
    async def scene():
        world = two()
        async with world.started():
            original = await world["virginia"].put("k")
            await world.pass_time(0.2)
            await world["tokyo"].store.delete(Key("b-tokyo", "k"), original.version)
            await world["virginia"].tag("k", {"new": "1"}, original.version)
            await world.pass_time(1.1)
            assert await world["tokyo"].head("k") is None
            assert world["virginia"].events[-1]["reason"] == "DstVersionNotFound"

    asyncio.run(scene())


def test_tags_of_a_replica_travel_back_with_replica_modifications_and_the_header_returns_to_replica():
    async def scene():
        world = World("virginia", "tokyo")
        world.mesh(SourceSelectionCriteria={"ReplicaModifications": {"Status": "Enabled"}})
        async with world.started():
            original = await world["virginia"].put("k")
            await world.pass_time(0.2)
            await world["tokyo"].tag("k", {"back": "1"}, original.version)
            assert await world["tokyo"].status("k") == "PENDING"
            await world.pass_time(1.1)
            assert (await world["virginia"].head("k")).tags == {"back": "1"}
            assert await world["tokyo"].status("k") == "REPLICA"
            assert await world["virginia"].status("k") == "COMPLETED"

    asyncio.run(scene())


def test_tags_of_a_replica_stay_where_they_are_without_replica_modifications():
    async def scene():
        world = World("virginia", "tokyo")
        world.mesh()
        async with world.started():
            original = await world["virginia"].put("k")
            await world.pass_time(0.2)
            await world["tokyo"].tag("k", {"back": "1"}, original.version)
            await world.pass_time(1.1)
            assert (await world["virginia"].head("k")).tags == {}
            assert await world["tokyo"].status("k") == "REPLICA"

    asyncio.run(scene())


def marker_rule(status: str) -> dict[str, object]:
    return {"Role": configuration("x")["Role"], "Rules": [rule("b-tokyo", DeleteMarkerReplication={"Status": status})]}


def v1() -> dict[str, object]:
    destination = {"Bucket": "arn:aws:s3:::b-tokyo"}
    return {"Role": configuration("x")["Role"], "Rules": [{"Status": "Enabled", "Prefix": "", "Destination": destination}]}


@pytest.mark.parametrize(
    ("members", "by_user", "arrives"),
    [
        (marker_rule("Disabled"), True, False),
        (marker_rule("Enabled"), True, True),
        (v1(), True, True),
        (marker_rule("Enabled"), False, False),
        (v1(), False, False),
    ],
    ids=["V2-disabled", "V2-enabled", "V1", "V2-lifecycle", "V1-lifecycle"],
)
def test_a_delete_marker_travels_as_the_rule_says(members, by_user, arrives):
    async def scene():
        world = two()
        world["virginia"].configured["b-virginia"] = members
        async with world.started():
            await world["virginia"].put("k")
            marker = await world["virginia"].mark("k", by_user=by_user)
            await world.pass_time(0.2)
            assert (await world["tokyo"].head("k", marker.version) is not None) is arrives
            assert (await world["tokyo"].head("k")).marker is arrives

    asyncio.run(scene())


def test_a_version_deleted_by_its_id_stays_at_the_destination():
    async def scene():
        world = World("virginia", "tokyo")
        world.mesh()
        async with world.started():
            original = await world["virginia"].put("k")
            await world.pass_time(0.2)
            await world["virginia"].store.delete(Key("b-virginia", "k"), original.version)
            await world.pass_time(5)
            assert await world["tokyo"].head("k", original.version) is not None
            assert await world["virginia"].head("k") is None

    asyncio.run(scene())


def test_a_marker_deleted_by_its_id_stays_at_the_destination():
    async def scene():
        world = two()
        async with world.started():
            marker = await world["virginia"].mark("k")
            await world.pass_time(0.2)
            await world["virginia"].store.delete(Key("b-virginia", "k"), marker.version)
            await world.pass_time(5)
            assert (await world["tokyo"].head("k")).marker

    asyncio.run(scene())


def test_a_version_that_was_deleted_before_its_copy_is_dropped():
    async def scene():
        world = two()
        world["tokyo"].up = False
        async with world.started():
            original = await world["virginia"].put("k")
            await world.pass_time(1)
            await world["virginia"].store.delete(Key("b-virginia", "k"), original.version)
            world["tokyo"].up = True
            await world.pass_time(61)
            assert await world["tokyo"].head("k") is None
            assert world.metrics("virginia")["b-tokyo"].operations_pending == 0

    asyncio.run(scene())


def test_replicas_do_not_travel_on():
    async def scene():
        world = World("virginia", "tokyo", "oregon")
        world["virginia"].configured["b-virginia"] = configuration("b-tokyo")
        world["tokyo"].configured["b-tokyo"] = configuration("b-oregon")
        async with world.started():
            await world["virginia"].put("k")
            await world.pass_time(5)
            assert await world["tokyo"].head("k") is not None
            assert await world["oregon"].head("k") is None

    asyncio.run(scene())


def test_a_marker_never_passes_its_object():
    async def scene():
        world = two()
        world["tokyo"].up = False
        async with world.started():
            first = await world["virginia"].put("k")
            second = await world["virginia"].mark("k")
            third = await world["virginia"].put("k")
            await world.pass_time(30)
            world["tokyo"].up = True
            await world.pass_time(61)
            assert world["tokyo"].stored == [first.version, second.version, third.version]

    asyncio.run(scene())


def test_trouble_with_one_key_does_not_hold_the_others():
    async def scene():
        world = two()
        async with world.started():
            spoilt = await world["virginia"].put("spoilt", b"abc")
            await world["virginia"].store.update_metadata(Key("b-virginia", "spoilt"), spoilt.version, wrong_etag)
            await world["virginia"].put("sound")
            await world.pass_time(10)
            assert await world["virginia"].status("sound") == "COMPLETED"
            assert await world["virginia"].status("spoilt") == "PENDING"

    asyncio.run(scene())


def wrong_etag(metadata):
    from dataclasses import replace

    return replace(metadata, etag="0" * 32)


def test_a_crash_between_answer_and_copy_loses_nothing():
    async def scene():
        world = two()
        async with world.started():
            await world.stop("virginia", kill=True)
            await world["virginia"].put("k")
            world.start("virginia")
            await world.pass_time(0.2)
            assert await world["virginia"].status("k") == "COMPLETED"

    asyncio.run(scene())


def test_a_kill_in_the_middle_of_a_copy_sends_it_again_and_changes_nothing_twice():
    async def scene():
        world = two()
        world["tokyo"].delay = lambda: 0.5
        async with world.started():
            await world["virginia"].put("k")
            await world.pass_time(0.2)
            await world.stop("virginia", kill=True)
            world.start("virginia")
            await world.pass_time(2)
            assert await world["virginia"].status("k") == "COMPLETED"
            assert world["tokyo"].replica_counters.stored == 1

    asyncio.run(scene())


def test_a_lost_answer_leads_to_a_second_delivery_that_changes_nothing():
    async def scene():
        world = two()
        world["tokyo"].drop_responses = True
        async with world.started():
            await world["virginia"].put("k")
            await world.pass_time(2)
            world["tokyo"].drop_responses = False
            await world.pass_time(61)
            assert await world["virginia"].status("k") == "COMPLETED"
            assert world["tokyo"].replica_counters.stored == 1
            assert len(await world["tokyo"].store.scan("b-tokyo", versions=True)) == 1

    asyncio.run(scene())


def test_a_large_object_that_may_have_arrived_is_asked_for_before_it_is_sent_again():
    async def scene():
        world = two()
        world["tokyo"].drop_responses = True
        async with world.started():
            await world["virginia"].put("k", b"z" * (2 * MiB))
            await world.pass_time(0.2)
            world["tokyo"].drop_responses = False
            await world.pass_time(5)
            assert [r.headers.get("x-atoll-only") for r in world["tokyo"].requests] == [None, "question"]
            assert await world["virginia"].status("k") == "COMPLETED"

    asyncio.run(scene())


def test_a_large_object_that_did_not_arrive_is_sent_after_the_question():
    async def scene():
        world = two()
        world["tokyo"].up = False
        async with world.started():
            await world["virginia"].put("k", b"z" * (2 * MiB))
            await world.pass_time(0.2)
            world["tokyo"].up = True
            await world.pass_time(5)
            assert [r.headers.get("x-atoll-only") for r in world["tokyo"].requests] == ["question", None]
            assert await world["virginia"].status("k") == "COMPLETED"

    asyncio.run(scene())


def test_an_orderly_stop_keeps_the_place_in_the_feed():
    async def scene():
        world = two()
        async with world.started():
            await world["virginia"].put("k")
            await world.pass_time(0.2)
            await world.stop("virginia")
            cursor = await world["virginia"].store.head(cursor_key("b-virginia", "b-tokyo"))
            feed = await world["virginia"].store.changes("b-virginia", 0)
            assert int(cursor.notes["seq"]) == feed[-1].seq

    asyncio.run(scene())


def test_the_cursor_stays_before_what_is_owed_and_the_feed_is_kept_for_it():
    async def scene():
        world = three()
        world["oregon"].up = False
        async with world.started():
            await world["virginia"].put("k")
            await world.pass_time(5)
            feed = await world["virginia"].store.changes("b-virginia", 0)
            assert (feed[0].name, feed[0].kind) == ("k", "put")
            world["oregon"].up = True
            await world.pass_time(61)
            assert await world["virginia"].store.changes("b-virginia", 0) == []

    asyncio.run(scene())


def test_the_feed_of_a_bucket_without_configuration_is_emptied():
    async def scene():
        world = two()
        async with world.started():
            await world["tokyo"].put("k")
            await world.pass_time(31)
            assert await world["tokyo"].store.changes("b-tokyo", 0) == []

    asyncio.run(scene())


def test_a_configuration_that_comes_later_starts_its_lane():
    async def scene():
        world = World("virginia", "tokyo")
        async with world.started():
            await world["virginia"].put("before")
            world.configure("virginia", configuration("b-tokyo"))
            await world["virginia"].put("after")
            await world.pass_time(0.2)
            assert await world["tokyo"].head("after") is not None
            assert await world["tokyo"].head("before") is None

    asyncio.run(scene())


def test_a_rule_that_is_removed_drops_its_copies_and_leaves_the_header():
    async def scene():
        world = two()
        world["tokyo"].up = False
        async with world.started():
            await world["virginia"].put("k")
            await world.pass_time(1)
            world.configure("virginia", None)
            world["tokyo"].up = True
            await world.pass_time(120)
            assert await world["tokyo"].head("k") is None
            assert await world["virginia"].status("k") == "PENDING"
            assert world.metrics("virginia") == {}

    asyncio.run(scene())


def test_a_rule_that_is_narrowed_drops_what_it_no_longer_takes():
    async def scene():
        world = two()
        world["tokyo"].up = False
        async with world.started():
            await world["virginia"].put("out/k")
            await world["virginia"].put("in/k")
            await world.pass_time(1)
            world.configure("virginia", {**configuration("b-tokyo"), "Rules": [rule("b-tokyo", Filter={"Prefix": "in/"})]})
            world["tokyo"].up = True
            await world.pass_time(61)
            assert await world["tokyo"].head("out/k") is None
            assert await world["tokyo"].head("in/k") is not None

    asyncio.run(scene())


def test_failed_copies_go_again_when_they_are_queued_again():
    async def scene():
        world = two()
        world["tokyo"].denied.add("s3:ReplicateObject")
        async with world.started():
            original = await world["virginia"].put("k")
            await world.pass_time(0.2)
            world["tokyo"].denied.clear()
            await world["virginia"].store.update_metadata(Key("b-virginia", "k"), original.version, lambda f: with_pending(f, ["b-tokyo"]))
            await world.pass_time(1.1)
            assert await world["tokyo"].head("k") is not None
            assert await world["virginia"].status("k") == "COMPLETED"

    asyncio.run(scene())


def test_objects_from_before_the_configuration_go_when_they_are_queued():
    async def scene():
        world = World("virginia", "tokyo")
        async with world.started():
            old = await world["virginia"].put("old")
            world.configure("virginia", configuration("b-tokyo"))
            await world["virginia"].store.update_metadata(Key("b-virginia", "old"), old.version, lambda f: with_pending(f, ["b-tokyo"]))
            await world.pass_time(1.1)
            assert (await world["tokyo"].head("old")).version == old.version

    asyncio.run(scene())


def test_metrics_tell_what_is_pending_how_far_behind_it_is_and_what_failed():
    async def scene():
        world = three()
        world["tokyo"].up = False
        world["oregon"].denied.add("s3:ReplicateObject")
        async with world.started():
            await world["virginia"].put("k", b"12345")
            await world["virginia"].put("l", b"123")
            await world.pass_time(10)
            metrics = world.metrics("virginia")
            assert (metrics["b-tokyo"].operations_pending, metrics["b-tokyo"].bytes_pending) == (2, 8)
            assert metrics["b-tokyo"].latency_s == pytest.approx(10, abs=0.01)
            assert (metrics["b-oregon"].operations_failed, metrics["b-oregon"].operations_pending) == (2, 0)

    asyncio.run(scene())


def test_time_control_reports_a_copy_that_is_late_once_and_again_when_it_arrives():
    async def scene():
        world = two()
        minutes = {"Minutes": 15}
        destination = {
            "Bucket": "arn:aws:s3:::b-tokyo",
            "ReplicationTime": {"Status": "Enabled", "Time": minutes},
            "Metrics": {"Status": "Enabled", "EventThreshold": minutes},
        }
        world["virginia"].configured["b-virginia"] = {**configuration("b-tokyo"), "Rules": [rule("b-tokyo", Destination=destination)]}
        world["tokyo"].up = False
        async with world.started():
            await world["virginia"].put("k")
            await world.pass_time(960)
            assert len(world["virginia"].reported("s3:Replication:OperationMissedThreshold")) == 1
            world["tokyo"].up = True
            await world.pass_time(61)
            assert len(world["virginia"].reported("s3:Replication:OperationReplicatedAfterThreshold")) == 1

    asyncio.run(scene())


PUBLISHED = (22.7, 21.7, 22.6, 22.7, 22.6)


@pytest.mark.parametrize("seed", range(5))
def test_with_the_profile_aws_all_three_buckets_have_an_overwrite_after_21_to_24_seconds(seed):
    async def scene():
        world = World("virginia", "tokyo", "oregon", "frankfurt", seed=seed, published=PUBLISHED)
        world["virginia"].configured["b-virginia"] = configuration("b-tokyo", "b-oregon", "b-frankfurt")
        for name in ("tokyo", "oregon", "frankfurt"):
            world[name].delay = lambda: 0.3
        async with world.started():
            for content in (b"old", b"new"):
                await world["virginia"].put("k", content)
                await world.pass_time(21)
                readers = [await world[name].read("k") for name in ("tokyo", "oregon", "frankfurt")]
                assert content not in readers
                await world.pass_time(3)
                readers = [await world[name].read("k") for name in ("tokyo", "oregon", "frankfurt")]
                assert readers == [content] * 3

    asyncio.run(scene())


def test_the_native_profile_adds_no_delay():
    async def scene():
        world = two()
        async with world.started():
            await world["virginia"].put("k")
            await world.pass_time(0.001)
            assert await world["tokyo"].read("k") == b"x"

    asyncio.run(scene())


def test_two_overwrites_in_a_row_arrive_in_order_under_the_profile_aws():
    async def scene():
        world = World("virginia", "tokyo", published=PUBLISHED, seed=3)
        world["virginia"].configured["b-virginia"] = configuration("b-tokyo")
        async with world.started():
            first = await world["virginia"].put("k", b"1")
            second = await world["virginia"].put("k", b"2")
            await world.pass_time(24)
            assert world["tokyo"].stored == [first.version, second.version]

    asyncio.run(scene())


def test_more_than_the_backlog_holds_is_copied_too(monkeypatch):
    monkeypatch.setattr("atoll.services.s3.bucket_replicator.QUEUE_MAX", 10)

    async def scene():
        world = two()
        world["tokyo"].up = False
        async with world.started():
            for n in range(50):
                await world["virginia"].put(f"k{n}")
            await world.pass_time(5)
            assert world.metrics("virginia")["b-tokyo"].operations_pending == 10
            world["tokyo"].up = True
            await world.pass_time(90)
            assert world["tokyo"].replica_counters.stored == 50

    asyncio.run(scene())


def test_no_more_copies_than_the_limit_are_under_way_to_one_destination():
    async def scene():
        world = two()
        under_way = [0, 0]
        world["tokyo"].delay = lambda: under_way.__setitem__(0, under_way[0] + 1) or 1000.0
        async with world.started():
            for n in range(IN_FLIGHT_MAX + 24):
                await world["virginia"].put(f"k{n}")
            await world.pass_time(0.5)
            assert under_way[0] == IN_FLIGHT_MAX

    asyncio.run(scene())


def test_a_region_that_is_back_twice_over_does_not_confuse_the_line():
    async def scene():
        world = two()
        world["tokyo"].up = False
        async with world.started():
            for n in range(8):
                await world["virginia"].put(f"k{n}")
            await world.pass_time(100.5)
            world.running["virginia"][2].region_recovered("tokyo")
            world.running["virginia"][2].region_recovered("tokyo")
            world["tokyo"].up = True
            await world.pass_time(120)
            assert world["tokyo"].replica_counters.stored == 8

    asyncio.run(scene())


def test_a_source_disk_that_refuses_is_tried_again():
    async def scene():
        world = two()
        async with world.started():
            world.running["virginia"][0].refuse = {"get", "update_metadata"}
            await world["virginia"].put("k")
            await world.pass_time(2)
            world.running["virginia"][0].refuse = {"update_metadata"}
            await world.pass_time(60)
            assert await world["virginia"].status("k") == "PENDING"
            world.running["virginia"][0].refuse = set()
            await world.pass_time(61)
            assert await world["virginia"].status("k") == "COMPLETED"
            assert world["tokyo"].replica_counters.stored == 1

    asyncio.run(scene())


def test_a_disk_too_full_for_the_cursor_does_not_stop_the_copies():
    async def scene():
        world = two()
        async with world.started():
            world.running["virginia"][0].refuse = {"put"}
            await world["virginia"].put("k")
            await world.pass_time(2)
            assert await world["virginia"].status("k") == "COMPLETED"
            assert world["virginia"].reported("replication.cursor")
            world.running["virginia"][0].refuse = set()

    asyncio.run(scene())


def test_an_answer_that_is_not_the_receivers_own_is_never_final():
    async def scene():
        world = two()
        world["tokyo"].impostor = True
        async with world.started():
            await world["virginia"].put("k")
            await world.pass_time(30)
            assert await world["virginia"].status("k") == "PENDING"
            world["tokyo"].impostor = False
            await world.pass_time(61)
            assert await world["virginia"].status("k") == "COMPLETED"

    asyncio.run(scene())


def test_what_is_owed_behind_the_cursor_survives_a_kill_during_an_outage():
    async def scene():
        world = two()
        async with world.started():
            await world["virginia"].put("early")
            await world.pass_time(5)
            world["tokyo"].up = False
            await world["virginia"].put("owed")
            await world.pass_time(5)
            await world.stop("virginia", kill=True)
            world["tokyo"].up = True
            world.start("virginia")
            await world.pass_time(1)
            assert await world["virginia"].status("owed") == "COMPLETED"

    asyncio.run(scene())


def test_the_feed_is_kept_for_a_destination_whose_lane_has_not_started():
    async def scene():
        world = three()
        world["virginia"].configured["b-virginia"] = configuration("b-tokyo")
        async with world.started():
            world["virginia"].configured["b-virginia"] = configuration("b-tokyo", "b-oregon")
            await world["virginia"].put("k")
            await world.pass_time(5)
            world.changed["virginia"].set()
            await world.pass_time(1)
            assert await world["virginia"].status("k") == "COMPLETED"
            assert await world["oregon"].head("k") is not None

    asyncio.run(scene())


def test_the_feed_of_a_bucket_whose_configuration_is_news_is_kept():
    async def scene():
        world = World("virginia", "tokyo")
        async with world.started():
            world["virginia"].configured["b-virginia"] = configuration("b-tokyo")
            await world["virginia"].put("k")
            await world.pass_time(31)
            world.changed["virginia"].set()
            await world.pass_time(1)
            assert await world["virginia"].status("k") == "COMPLETED"

    asyncio.run(scene())


def test_only_a_rule_that_overrides_the_owner_asks_for_it():
    async def scene():
        world = World("virginia", "tokyo", "oregon")
        given = {"Bucket": "arn:aws:s3:::b-oregon", "Account": "999900001111", "AccessControlTranslation": {"Owner": "Destination"}}
        rules = [rule("b-tokyo"), rule("-", 1, Destination=given)]
        world["virginia"].configured["b-virginia"] = {**configuration("b-tokyo"), "Rules": rules}
        async with world.started():
            await world["virginia"].put("k")
            await world.pass_time(0.2)
            assert [world[name].requests[0].headers.get("x-atoll-owner") for name in ("tokyo", "oregon")] == [None, "destination"]

    asyncio.run(scene())
