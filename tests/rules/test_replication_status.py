from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.objects import ObjectMetadata, Stamp
from atoll.rules import replication_status
from atoll.rules.replication_status import Filter, Rule, Rules

PUBLISHED = (22.7, 21.7, 22.6, 22.7, 22.6)
ORIGINAL = ObjectMetadata(version="v", stamp=Stamp(5, "tokyo", "v"), replication={"a": "PENDING", "b": "PENDING"})


def rules(*each):
    return Rules("arn:aws:iam::111122223333:role/r", each)


def chosen(filter, key, tags=None):
    return replication_status.destinations(rules(Rule("r", "there", filter=filter)), key, tags or {}, kind="object", by_user=True)


@pytest.mark.parametrize(
    ("filter", "key", "tags", "matches"),
    [
        (Filter(), "any", {}, True),
        (Filter("p/"), "p/k", {}, True),
        (Filter("p/"), "q/k", {}, False),
        (Filter(tags=(("a", "1"),)), "k", {"a": "1", "b": "2"}, True),
        (Filter(tags=(("a", "1"),)), "k", {"a": "2"}, False),
        (Filter(tags=(("a", "1"), ("b", "2"))), "k", {"a": "1"}, False),
        (Filter("p/", tags=(("a", "1"),)), "p/k", {"a": "1"}, True),
        (Filter("p/", tags=(("a", "1"),)), "q/k", {"a": "1"}, False),
        (Filter(not_prefixes=("tmp/",)), "k", {}, True),
        (Filter(not_prefixes=("tmp/",)), "tmp/k", {}, False),
        (Filter(not_tags=(("a", "1"),)), "k", {}, True),
        (Filter(not_tags=(("a", "1"),)), "k", {"a": "1"}, False),
        (Filter(not_prefixes=("x/", "y/"), not_tags=(("a", "1"), ("b", "2"))), "y/k", {}, False),
        (Filter(not_prefixes=("x/", "y/"), not_tags=(("a", "1"), ("b", "2"))), "k", {"b": "2"}, False),
        (Filter(not_prefixes=("x/", "y/"), not_tags=(("a", "1"), ("b", "2"))), "k", {"b": "3"}, True),
        (Filter("p/", not_prefixes=("p/tmp/",)), "p/tmp/k", {}, False),
    ],
)
def test_a_filter_takes_and_excludes(filter, key, tags, matches):
    assert bool(chosen(filter, key, tags)) is matches


def test_different_destinations_are_all_served():
    both = rules(Rule("1", "a"), Rule("2", "b"))
    assert replication_status.destinations(both, "k", {}, kind="object", by_user=True) == ("a", "b")


def test_of_two_rules_with_one_destination_the_higher_priority_decides():
    two = rules(Rule("low", "a", priority=1, markers=True), Rule("high", "a", priority=2, markers=False))
    assert replication_status.destinations(two, "k", {}, kind="object", by_user=True) == ("a",)
    assert replication_status.destinations(two, "k", {}, kind="marker", by_user=True) == ()
    assert replication_status.governing_rule(two, "k", {}, "a").id == "high"


def test_a_rule_of_higher_priority_that_does_not_match_decides_nothing():
    two = rules(Rule("low", "a", priority=1, markers=True), Rule("high", "a", priority=2, filter=Filter("other/")))
    assert replication_status.destinations(two, "k", {}, kind="marker", by_user=True) == ("a",)


def test_a_disabled_rule_takes_nothing():
    assert replication_status.destinations(rules(Rule("1", "a", enabled=False)), "k", {}, kind="object", by_user=True) == ()


@pytest.mark.parametrize(("markers", "by_user", "goes"), [(True, True, True), (True, False, False), (False, True, False)])
def test_a_marker_goes_only_when_a_user_made_it_and_the_rule_says_so(markers, by_user, goes):
    found = replication_status.destinations(rules(Rule("1", "a", markers=markers)), "k", {}, kind="marker", by_user=by_user)
    assert bool(found) is goes


@pytest.mark.parametrize(
    ("states", "replica", "header"),
    [
        ([], False, ""),
        (["PENDING"], False, "PENDING"),
        (["COMPLETED"], False, "COMPLETED"),
        (["COMPLETED", "PENDING"], False, "PENDING"),
        (["COMPLETED", "FAILED"], False, "FAILED"),
        (["PENDING", "FAILED"], False, "FAILED"),
        ([], True, "REPLICA"),
        (["PENDING"], True, "PENDING"),
        (["COMPLETED"], True, "REPLICA"),
        (["FAILED"], True, "FAILED"),
    ],
)
def test_the_header_sums_up_the_destinations(states, replica, header):
    assert replication_status.status({str(n): state for n, state in enumerate(states)}, replica=replica) == header


def test_a_task_moves_only_as_the_table_says():
    states = {state for pair in replication_status.TRANSITIONS for state in (pair[0],)} | set(replication_status.TRANSITIONS.values())
    events = {event for _, event in replication_status.TRANSITIONS}
    allowed = {pair for pair in product(states, events) if pair in replication_status.TRANSITIONS}
    assert allowed == {
        ("QUEUED", "taken"),
        ("RETRY", "taken"),
        ("COPYING", "stored"),
        ("COPYING", "trouble"),
        ("COPYING", "refused"),
        ("COPYING", "amended"),
    }
    with pytest.raises(KeyError):
        replication_status.next_state("DONE", "taken")


@pytest.mark.parametrize(
    ("code", "step", "reason"),
    [
        ("NoSuchBucket", "object", "DstBucketNotFound"),
        ("InvalidBucketState", "marker", "DstBucketUnversioned"),
        ("AccessDenied", "object", "DstPutObjectNotPermitted"),
        ("AccessDenied", "multipart", "DstMultipartInitNotPermitted"),
        ("AccessDenied", "marker", "DstDelObjNotPermitted"),
        ("AccessDenied", "tags", "DstPutTaggingNotPermitted"),
        ("NoSuchVersion", "tags", "DstVersionNotFound"),
        ("ServiceUnavailable", "object", None),
        ("BadDigest", "object", None),
        ("SlowDown", "multipart", None),
        ("", "object", None),
    ],
)
def test_only_what_the_destination_refuses_for_good_is_permanent(code, step, reason):
    assert replication_status.permanent_reason(code, step) == reason


@pytest.mark.parametrize(("attempt", "full"), [(1, 1), (2, 2), (3, 4), (6, 32), (7, 60), (100_000, 60)])
def test_a_retry_waits_one_second_doubling_to_sixty_of_which_half_is_jitter(attempt, full):
    assert replication_status.backoff(attempt, 0.0) == full / 2
    assert replication_status.backoff(attempt, 1.0) == full


@given(st.floats(0, 1))
def test_a_lag_lies_between_the_published_figures(uniform):
    lag = replication_status.draw_lag(uniform, PUBLISHED)
    assert 21.7 <= lag <= 22.7
    assert replication_status.LAG_MIN_S <= lag <= replication_status.LAG_MAX_S


def test_the_ends_of_the_dice_are_the_ends_of_the_figures():
    assert (replication_status.draw_lag(0, PUBLISHED), replication_status.draw_lag(1, PUBLISHED)) == (21.7, 22.7)
    assert replication_status.draw_lag(0.5, (22.0,)) == 22.0


def test_a_lag_that_was_never_published_is_our_mistake():
    with pytest.raises(AssertionError):
        replication_status.draw_lag(0.5, (2.0,))


def test_copy_time_is_learned_apart_for_round_trip_and_rate():
    times = replication_status.CopyTime()
    assert times.expected(10**9) == 0
    times.observe(100, 0.2)
    times.observe(10_000_000, 1.2)
    assert times.expected(50) == pytest.approx(0.2)
    assert times.expected(20_000_000) == pytest.approx(2.2)


def test_copy_time_follows_slowly():
    times = replication_status.CopyTime()
    times.observe(1, 1.0)
    times.observe(1, 2.0)
    assert times.expected(1) == pytest.approx(1.2)


def test_a_change_of_tags_follows_the_object_to_where_it_went_or_is_going():
    metadata = replace(ORIGINAL, replication={"a": "COMPLETED", "b": "PENDING", "c": "FAILED"})
    held = rules(Rule("1", "a"), Rule("2", "b"), Rule("3", "c"))
    changed = replication_status.with_changed_tags(held, "k", metadata, {"t": "1"}, now_ms=9)
    assert changed.replication == {"a": "PENDING", "b": "PENDING", "c": "FAILED"}
    assert (changed.tags, changed.tags_ms) == ({"t": "1"}, 9)
    assert replication_status.completed_destinations(changed) == {"a"}


def test_a_second_change_of_tags_still_knows_where_the_bytes_are():
    held = rules(Rule("1", "a"))
    once = replication_status.with_changed_tags(held, "k", replace(ORIGINAL, replication={"a": "COMPLETED"}), {"t": "1"}, now_ms=9)
    twice = replication_status.with_changed_tags(held, "k", once, {"t": "2"}, now_ms=9)
    assert replication_status.completed_destinations(twice) == {"a"}
    assert twice.tags_ms == 10


def test_a_tag_rule_that_begins_to_match_later_carries_nothing():
    held = rules(Rule("1", "a", filter=Filter(tags=(("t", "1"),))))
    changed = replication_status.with_changed_tags(held, "k", replace(ORIGINAL, replication={}), {"t": "1"}, now_ms=9)
    assert changed.replication == {}


def test_without_a_configuration_a_change_of_tags_owes_nothing():
    changed = replication_status.with_changed_tags(None, "k", replace(ORIGINAL, replication={"a": "COMPLETED"}), {}, now_ms=9)
    assert changed.replication == {"a": "COMPLETED"}


@pytest.mark.parametrize(("sync", "pending"), [(True, {"a": "PENDING"}), (False, {})])
def test_a_change_of_tags_on_a_replica_goes_back_only_with_replica_modifications(sync, pending):
    held = rules(Rule("1", "a", replica_modifications=sync))
    changed = replication_status.with_changed_tags(held, "k", replace(ORIGINAL, replica=True, replication={}), {"t": "1"}, now_ms=9)
    assert changed.replication == pending


def test_a_copy_is_complete_only_when_the_tags_it_took_are_still_the_same():
    assert replication_status.with_completed(ORIGINAL, "a", ORIGINAL.tags_ms).replication["a"] == "COMPLETED"
    assert replication_status.with_completed(replace(ORIGINAL, tags_ms=7), "a", 5).replication["a"] == "PENDING"


def test_completion_and_failure_settle_only_what_is_pending():
    done = replace(ORIGINAL, replication={"a": "FAILED"})
    assert replication_status.with_completed(done, "a", 0) is done
    assert replication_status.failed(done, "a", "DstBucketNotFound") is done
    assert replication_status.failed(done, "never", "DstBucketNotFound") is done


def test_a_failure_keeps_its_reason_until_the_copy_is_queued_again():
    gone = replication_status.failed(ORIGINAL, "a", "DstBucketNotFound")
    assert "DstBucketNotFound" in gone.notes.values()
    again = replication_status.with_pending(gone, ["a"])
    assert again.replication == {"a": "PENDING", "b": "PENDING"}
    assert "DstBucketNotFound" not in again.notes.values()


def test_queueing_again_asks_for_the_bytes_too():
    metadata = replication_status.with_changed_tags(rules(Rule("1", "a")), "k", replace(ORIGINAL, replication={"a": "COMPLETED"}), {}, now_ms=9)
    assert replication_status.completed_destinations(replication_status.with_pending(metadata, ["a"])) == frozenset()


def test_null_versions_are_not_eligible():
    null = ObjectMetadata()
    assert replication_status.with_pending(null, ["a"]) is null


def test_of_two_changes_of_tags_the_later_wins_and_in_one_millisecond_the_same_everywhere():
    early, late = ObjectMetadata(tags={"z": "1"}, tags_ms=1), ObjectMetadata(tags={"a": "1"}, tags_ms=2)
    assert replication_status.has_later_tags(early, late)
    assert not replication_status.has_later_tags(late, early)
    twin = ObjectMetadata(tags={"b": "1"}, tags_ms=2)
    assert replication_status.has_later_tags(late, twin) is not replication_status.has_later_tags(twin, late)
    assert not replication_status.has_later_tags(late, late)


@pytest.mark.parametrize(
    ("current", "expected"),
    [
        (Stamp(9, "here", "w"), True),
        (Stamp(3, "here", "w"), False),
        (Stamp(9, "elsewhere", "w"), False),
    ],
)
def test_an_arrival_below_a_version_born_here_is_a_conflict(current, expected):
    mine = ObjectMetadata(version="w", stamp=current)
    arrived = ObjectMetadata(version="v", stamp=Stamp(5, "there", "v"))
    assert replication_status.is_conflict(mine, arrived, "here") is expected
    assert not replication_status.is_conflict(None, arrived, "here")
