import asyncio

import pytest

from atoll.gateway.service_time_emulation import PathServiceTime, ServiceTimeDelay, ServiceTimeSettings
from atoll.rules.service_time_distribution import Fit
from s3world import Ticks

SURE = PathServiceTime(mu=3.0, sigma=0.0, overhead_ms=0.0)  # always e^3 = 20.0855 ms
MS = 20.085536923187668


def held(service_time, operation="GetObject", path="single", *, spent_s=0.0):
    """How many milliseconds after its arrival an answer leaves."""
    arrived = service_time.clock.monotonic()
    service_time.clock.seconds += spent_s
    asyncio.run(service_time.delay_response(operation, path, arrived))
    return (service_time.clock.monotonic() - arrived) * 1000


def paced(**paths):
    service_time = ServiceTimeDelay(Ticks(100.0))
    service_time.set(ServiceTimeSettings(paths))
    return service_time


def test_without_settings_answers_leave_at_once():
    assert held(ServiceTimeDelay(Ticks(100.0))) == 0.0


def test_a_read_leaves_when_its_draw_is_over():
    assert held(paced(single=SURE)) == pytest.approx(MS)


def test_time_spent_already_counts():
    assert held(paced(single=SURE), spent_s=0.005) == pytest.approx(MS)


def test_the_cost_of_the_path_comes_off():
    assert held(paced(single=PathServiceTime(3.0, 0.0, 5.0))) == pytest.approx(MS - 5)


@pytest.mark.parametrize("operation", ["PutObject", "HeadObject", "ListObjectsV2"])
def test_only_object_reads_are_held_back(operation):
    assert held(paced(single=SURE), operation) == 0.0


def test_each_path_has_its_own_pace():
    assert held(paced(mrap=SURE), path="single") == 0.0
    assert held(paced(mrap=SURE), path="mrap") == pytest.approx(MS)


def test_the_same_seed_draws_the_same():
    settings = ServiceTimeSettings({"single": PathServiceTime(3.0, 0.3, 0.0)}, seed=7)
    first, again = ServiceTimeDelay(Ticks(100.0)), ServiceTimeDelay(Ticks(100.0))
    first.set(settings)
    again.set(settings)
    drawn = [held(first) for _ in range(5)]
    assert drawn == [held(again) for _ in range(5)]
    assert len(set(drawn)) == 5


def test_the_median_of_many_draws_is_that_of_the_fit():
    service_time = ServiceTimeDelay(Ticks(0.0))
    service_time.set(ServiceTimeSettings({"single": PathServiceTime(3.0, 0.25, 0.0)}, seed=1))
    drawn = sorted(held(service_time) for _ in range(999))
    assert drawn[499] == pytest.approx(MS, rel=0.05)
    assert drawn[949] == pytest.approx(Fit(3.0, 0.25).draw_ms(0.95), rel=0.08)
