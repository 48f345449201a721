import pytest

from atoll.lab.quantiles import deviation_percent, p50, p95, quantile


def test_the_median_of_an_odd_number_is_the_middle_one():
    assert p50([9.0, 1.0, 5.0]) == 5.0


def test_the_median_of_an_even_number_lies_between():
    assert p50([1.0, 2.0, 4.0, 9.0]) == 3.0


def test_the_ninety_fifth_lies_between_the_last_two_of_eleven():
    assert p95([float(n) for n in range(11)]) == pytest.approx(9.5)


def test_the_ends_are_the_least_and_the_greatest():
    assert (quantile([3.0, 1.0, 2.0], 0), quantile([3.0, 1.0, 2.0], 1)) == (1.0, 3.0)


def test_one_reading_is_every_quantile():
    assert p50([7.0]) == p95([7.0]) == 7.0


def test_nothing_has_no_quantile():
    with pytest.raises(ValueError, match="nothing"):
        p50([])


def test_a_deviation_is_relative_to_what_was_published():
    assert deviation_percent(99.0, 110.0) == pytest.approx(-10.0)
