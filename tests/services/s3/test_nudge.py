from atoll.services.s3.nudge import Nudge


def test_a_ring_is_heard_by_all_that_follow_the_bucket_and_by_nobody_else():
    nudge = Nudge()
    with nudge.bell("a") as one, nudge.bell("a") as two, nudge.bell("b") as other:
        nudge.ring("a")
        assert (one.is_set(), two.is_set(), other.is_set()) == (True, True, False)


def test_a_ring_after_the_last_listener_left_is_free():
    nudge = Nudge()
    with nudge.bell("a") as bell:
        pass
    nudge.ring("a")
    assert not bell.is_set()
    assert nudge.rung
