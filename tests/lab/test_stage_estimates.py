import pytest

from atoll.lab import plan as plans
from atoll.lab import stage_estimates
from atoll.lab.plan import Plan
from atoll.lab.stage_estimates import Shares, Stage
from atoll.processes import world_config

THREE = [Stage("a", "boiling", 10.0), Stage("b", "cooking", 200.0), Stage("c", "eating", 30.0)]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (-3, "0 s"), (59.6, "60 s"), (119.4, "119 s"), (120, "2 min 00 s"), (605, "10 min 05 s")]
)
def test_a_duration_is_said_for_people(seconds, text):
    assert stage_estimates.duration(seconds) == text


def test_time_left_is_what_is_expected_until_a_stage_knows_its_own_pace():
    assert stage_estimates.left_s(THREE, 0, 4.0, None) == 6 + 200 + 30
    assert stage_estimates.left_s(THREE, 0, 4.0, 0.05) == 6 + 200 + 30
    assert stage_estimates.left_s(THREE, 0, 4.0, 0.25) == 12 + 200 + 30
    assert stage_estimates.left_s(THREE, 2, 15.0, 0.75) == 5


def test_a_stage_that_takes_longer_than_expected_owes_no_negative_time():
    assert stage_estimates.left_s(THREE, 0, 99.0, None) == 230
    assert stage_estimates.left_s(THREE, 2, 99.0, 1.0) == 0


def test_a_line_has_the_stage_its_share_and_the_time_left():
    assert stage_estimates.line(THREE, 1, 50.0, 0.5, "5 of 10") == "[2/3] cooking 50% (5 of 10); about 80 s left"
    assert stage_estimates.line(THREE, 1, 20.0, None) == "[2/3] cooking; about 3 min 30 s left"
    assert stage_estimates.line(THREE, 2, 30.0, None) == "[3/3] eating; nearly done"


def test_a_stage_of_more_than_three_minutes_says_so_before_it_starts():
    assert stage_estimates.opening(THREE, 1) == "[2/3] cooking: about 3 min 20 s, more than three minutes for this stage alone"
    assert stage_estimates.opening(THREE, 2) == "[3/3] eating: about 30 s"


def test_the_first_stage_says_how_long_the_whole_run_takes():
    assert stage_estimates.opening(THREE, 0) == "[1/3] boiling: about 10 s; the whole run about 4 min 00 s"


def test_side_by_side_the_slowest_decides_and_in_turn_each_counts_by_its_weight():
    shares = Shares(["near", "far"], 10)
    shares.done("near", 10)
    shares.done("far", 5)
    assert shares.slowest() == 0.5
    assert shares.weighted({"near": 1.0, "far": 3.0}) == 0.625


def expected(**of_plan):
    return {stage.name: stage.expected_s for stage in plans.stages(Plan(**{"seed": 1, **of_plan}), world_config.load(None))}


def test_the_quick_form_of_profile_aws_is_expected_to_end_within_two_minutes():
    assert sum(expected(profile="aws", files=40, rounds=5, overwrites=2, quick=True).values()) < 100


def test_no_stage_of_the_quick_forms_is_a_long_one():
    for profile, rounds in (("aws", 5), ("native", 2)):
        assert max(expected(profile=profile, files=40, rounds=rounds, overwrites=2, quick=True).values()) < 60


def test_the_full_forms_have_long_stages_and_say_so():
    world = world_config.load(None)
    for profile, long in (("aws", {"setup", "reads"}), ("native", {"reads"})):
        found = plans.stages(Plan(profile, 200, 8, 5, 1), world)
        text = {stage.name for number, stage in enumerate(found) if "more than three minutes" in stage_estimates.opening(found, number)}
        assert text == long


def test_reads_of_profile_aws_wait_as_long_as_was_published():
    assert expected(profile="aws", files=200, rounds=8, overwrites=0)["reads"] == pytest.approx(1600 * (0.1736 + 0.030))


def test_a_run_without_overwrites_has_no_stage_for_them():
    assert "overwrites" not in expected(profile="native", files=4, rounds=1, overwrites=0)
    assert "overwrites" in expected(profile="native", files=4, rounds=1, overwrites=1)
