import random
from statistics import quantiles

import pytest

from atoll.rules.published_latency import S3_API, Figure
from atoll.rules.service_time_distribution import Fit, wait_s


@pytest.mark.parametrize("figure", S3_API.values())
def test_the_fit_goes_through_both_published_figures(figure):
    fit = Fit.through(figure)
    assert fit.draw_ms(0.5) == pytest.approx(figure.p50)
    assert fit.draw_ms(0.95) == pytest.approx(figure.p95)


def test_many_draws_have_the_published_median_and_tail():
    fit, uniform = Fit.through(Figure(30.0, 35.6)), random.Random(1)
    draws = [fit.draw_ms(uniform.random()) for _ in range(20_000)]
    twentieths = quantiles(draws, n=20)
    assert twentieths[9] == pytest.approx(30.0, rel=0.01)
    assert twentieths[18] == pytest.approx(35.6, rel=0.01)


def test_a_higher_quantile_is_a_longer_time():
    fit = Fit.through(Figure(30.0, 35.6))
    assert fit.draw_ms(0.1) < fit.draw_ms(0.5) < fit.draw_ms(0.9)


@pytest.mark.parametrize("uniform", [0.0, 1.0])
def test_the_ends_of_the_dice_are_finite(uniform):
    assert 0 < Fit.through(Figure(30.0, 35.6)).draw_ms(uniform) < 100


def test_the_paths_own_cost_comes_off_the_draw():
    assert wait_s(30.0, 4.0) == pytest.approx(0.026)


def test_a_draw_below_the_paths_own_cost_waits_for_nothing():
    assert wait_s(3.0, 4.0) == 0.0
