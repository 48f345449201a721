from atoll.services.s3.change_notifier import ChangeNotifier


def test_a_ring_is_heard_by_all_that_follow_the_bucket_and_by_nobody_else():
    change_notifier = ChangeNotifier()
    with change_notifier.subscribe("a") as one, change_notifier.subscribe("a") as two, change_notifier.subscribe("b") as other:
        change_notifier.notify("a")
        assert (one.is_set(), two.is_set(), other.is_set()) == (True, True, False)


def test_a_ring_after_the_last_listener_left_is_free():
    change_notifier = ChangeNotifier()
    with change_notifier.subscribe("a") as wakeup:
        pass
    change_notifier.notify("a")
    assert not wakeup.is_set()
    assert change_notifier.has_notifier
