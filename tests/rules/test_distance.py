import pytest

from atoll.rules.distance import Coordinates, Distance, distance, estimate, great_circle_km

TOKYO, VIRGINIA, LONDON = Coordinates(35.7, 139.7), Coordinates(38.9, -77.4), Coordinates(51.5, -0.1)


def test_great_circle_between_london_and_virginia_is_about_5900_km():
    assert great_circle_km(LONDON, VIRGINIA) == pytest.approx(5900, rel=0.02)


def test_an_estimate_over_the_atlantic_is_within_twelve_percent_of_the_measured_link():
    assert estimate(LONDON, VIRGINIA).rtt_ms == pytest.approx(75.3, rel=0.12)


def test_a_measured_link_wins_over_the_estimate_in_both_directions():
    links = {frozenset(("a", "b")): Distance(146.4, "2026")}
    coordinates = {"a": TOKYO, "b": VIRGINIA}
    assert distance("b", "a", links=links, coordinates=coordinates, same_ms=0.3) == Distance(146.4, "2026")


def test_inside_one_place_the_same_region_figure_holds():
    assert distance("a", "a", links={}, coordinates={}, same_ms=0.3).rtt_ms == 0.3


def test_an_unlisted_pair_says_that_it_is_an_estimate():
    assert distance("a", "b", links={}, coordinates={"a": TOKYO, "b": LONDON}, same_ms=0.3).source == "estimate"
