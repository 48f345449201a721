import asyncio

import pytest

from atoll.gateway.pace import Pace, PaceSettings, PathPace
from atoll.rules.pace import Fit
from s3world import Ticks

SURE = PathPace(mu=3.0, sigma=0.0, overhead_ms=0.0)  # always e^3 = 20.0855 ms
MS = 20.085536923187668


def held(pace, operation="GetObject", path="single", *, spent_s=0.0):
    """How many milliseconds after its arrival an answer leaves."""
    arrived = pace.clock.monotonic()
    pace.clock.seconds += spent_s
    asyncio.run(pace.hold(operation, path, arrived))
    return (pace.clock.monotonic() - arrived) * 1000


def paced(**paths):
    pace = Pace(Ticks(100.0))
    pace.set(PaceSettings(paths))
    return pace


def test_without_settings_answers_leave_at_once():
    assert held(Pace(Ticks(100.0))) == 0.0


def test_a_read_leaves_when_its_draw_is_over():
    assert held(paced(single=SURE)) == pytest.approx(MS)


def test_time_spent_already_counts():
    assert held(paced(single=SURE), spent_s=0.005) == pytest.approx(MS)


def test_the_cost_of_the_path_comes_off():
    assert held(paced(single=PathPace(3.0, 0.0, 5.0))) == pytest.approx(MS - 5)


@pytest.mark.parametrize("operation", ["PutObject", "HeadObject", "ListObjectsV2"])
def test_only_object_reads_are_held_back(operation):
    assert held(paced(single=SURE), operation) == 0.0


def test_each_path_has_its_own_pace():
    assert held(paced(mrap=SURE), path="single") == 0.0
    assert held(paced(mrap=SURE), path="mrap") == pytest.approx(MS)


def test_the_same_seed_draws_the_same():
    settings = PaceSettings({"single": PathPace(3.0, 0.3, 0.0)}, seed=7)
    first, again = Pace(Ticks(100.0)), Pace(Ticks(100.0))
    first.set(settings)
    again.set(settings)
    drawn = [held(first) for _ in range(5)]
    assert drawn == [held(again) for _ in range(5)]
    assert len(set(drawn)) == 5


def test_the_median_of_many_draws_is_that_of_the_fit():
    pace = Pace(Ticks(0.0))
    pace.set(PaceSettings({"single": PathPace(3.0, 0.25, 0.0)}, seed=1))
    drawn = sorted(held(pace) for _ in range(999))
    assert drawn[499] == pytest.approx(MS, rel=0.05)
    assert drawn[949] == pytest.approx(Fit(3.0, 0.25).draw_ms(0.95), rel=0.08)
