from atoll.lab.delay_accuracy import echo_errors


def test_an_echo_takes_at_least_the_round_trip_and_not_much_longer():
    errors = echo_errors([0.3, 4.0])
    assert list(errors) == ["0.3", "4"]
    assert all(0 <= error < 50 for error in errors.values())
