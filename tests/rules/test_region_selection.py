import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.errors import ApiError
from atoll.rules.region_selection import BETTER_SAMPLES, FAILURES_MAX, Candidate, RegionSelector


def candidate(region, rtt_ms=10.0, *, active=True, healthy=True):
    return Candidate(region, f"demo-{region}", active, healthy, rtt_ms)


def test_the_nearest_active_healthy_member_is_chosen():
    choice = RegionSelector().choose("a", [candidate("far", 90), candidate("near", 5), candidate("middle", 40)])
    assert (choice.region, choice.bucket) == ("near", "demo-near")


def test_a_passive_member_is_never_used_even_when_it_is_nearest():
    assert RegionSelector().choose("a", [candidate("near", 1, active=False), candidate("far", 90)]).region == "far"


def test_an_unhealthy_member_is_skipped_while_another_active_one_answers():
    assert RegionSelector().choose("a", [candidate("near", 1, healthy=False), candidate("far", 90)]).region == "far"


@pytest.mark.parametrize("members", [[], [candidate("a", healthy=False)], [candidate("a", active=False)], [candidate("a", healthy=False), candidate("b", active=False)]])
def test_without_an_active_healthy_member_the_answer_is_503(members):
    with pytest.raises(ApiError) as refused:
        RegionSelector().choose("x", members)
    assert (refused.value.code, refused.value.status) == ("ServiceUnavailable", 503)


def test_ties_go_by_region_name():
    assert RegionSelector().choose("a", [candidate("b", 5), candidate("a", 5)]).region == "a"


def test_a_slightly_nearer_rival_does_not_move_traffic():
    region_selector = RegionSelector()
    region_selector.choose("x", [candidate("a", 30), candidate("b", 40)])
    for _ in range(10):
        region_selector.observe("b", 29)
        assert region_selector.choose("x", [candidate("a", 30), candidate("b", 29)]).region == "a"


def test_a_clearly_nearer_rival_moves_traffic_after_three_samples():
    region_selector = RegionSelector()
    region_selector.choose("x", [candidate("a", 30), candidate("b", 40)])
    chosen = []
    for _ in range(BETTER_SAMPLES + 1):
        chosen.append(region_selector.choose("x", [candidate("a", 30), candidate("b", 20)]).region)
        region_selector.observe("b", 20)
    assert chosen == ["a", "a", "a", "b"]


def test_a_rival_that_falls_back_starts_counting_anew():
    region_selector = RegionSelector()
    region_selector.choose("x", [candidate("a", 30), candidate("b", 40)])
    region_selector.choose("x", [candidate("a", 30), candidate("b", 20)])
    region_selector.observe("b", 20)
    region_selector.observe("b", 20)
    region_selector.choose("x", [candidate("a", 30), candidate("b", 31)])
    region_selector.observe("b", 20)
    assert region_selector.choose("x", [candidate("a", 30), candidate("b", 20)]).region == "a"


@pytest.mark.parametrize("left", [{"active": False}, {"healthy": False}])
def test_a_member_that_becomes_passive_or_silent_is_left_at_once(left):
    region_selector = RegionSelector()
    region_selector.choose("x", [candidate("a", 5), candidate("b", 40)])
    assert region_selector.choose("x", [candidate("a", 5, **left), candidate("b", 40)]).region == "b"


def test_a_region_is_down_after_two_silent_probes_and_up_after_one_answer():
    region_selector = RegionSelector()
    region_selector.observe("a", 5)
    for _ in range(FAILURES_MAX):
        assert region_selector.healthy("a")
        region_selector.failed("a")
    assert not region_selector.healthy("a")
    region_selector.observe("a", 7)
    assert region_selector.healthy("a")
    assert region_selector.rtt_ms("a") == 7


def test_a_region_where_nobody_is_counts_as_down_at_once_and_as_up_after_one_answer():
    region_selector = RegionSelector()
    region_selector.observe("a", 5)
    region_selector.lost("a")
    assert not region_selector.healthy("a")
    region_selector.observe("a", 7)
    assert region_selector.healthy("a")


def test_an_unknown_region_is_taken_for_healthy_and_unmeasured():
    assert RegionSelector().healthy("a")
    assert RegionSelector().rtt_ms("a") is None


def test_round_trips_are_a_moving_average():
    region_selector = RegionSelector()
    region_selector.observe("a", 10)
    region_selector.observe("a", 20)
    assert region_selector.rtt_ms("a") == 12


members = st.lists(st.tuples(st.sampled_from("abcd"), st.floats(0, 300), st.booleans(), st.booleans()), min_size=1, max_size=4, unique_by=lambda row: row[0])


@given(st.lists(members, min_size=1, max_size=20))
def test_whatever_happens_the_choice_is_active_and_healthy(history):
    region_selector = RegionSelector()
    for rows in history:
        offered = [candidate(region, rtt, active=active, healthy=healthy) for region, rtt, active, healthy in rows]
        able = {one.region for one in offered if one.active and one.healthy}
        if not able:
            with pytest.raises(ApiError):
                region_selector.choose("x", offered)
            continue
        assert region_selector.choose("x", offered).region in able
