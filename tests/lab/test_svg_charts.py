from xml.etree import ElementTree as ET

import pytest

from atoll.lab.svg_charts import Line, Series, distribution, map_of, nice_ceiling
from atoll.rules.distance import Coordinates

TOKYO, VIRGINIA, SYDNEY = Coordinates(35.7, 139.7), Coordinates(38.9, -77.4), Coordinates(-33.9, 151.2)


@pytest.mark.parametrize(("value", "ceiling"), [(0.0, 1.0), (0.7, 0.8), (12, 15), (146, 150), (99, 100), (150, 150), (1001, 1500)])
def test_an_axis_ends_at_a_round_number(value, ceiling):
    assert nice_ceiling(value) == pytest.approx(ceiling)


def test_a_distribution_has_a_curve_per_path_and_a_ring_per_published_figure():
    series = [Series("far", "single", [100.0, 110.0], [(0.5, 105.0)]), Series("near", "mrap", [3.0, 4.0])]
    drawing = ET.fromstring(distribution(series, "times"))
    assert [curve.get("class") for curve in drawing.iter("polyline")] == ["single", "mrap"]
    assert [ring.find("title").text for ring in drawing.iter("circle")] == ["far, published p50: 105.0 ms"]


def test_a_curve_rises_from_left_to_right():
    drawing = ET.fromstring(distribution([Series("x", "mrap", [5.0, 1.0, 3.0])], "times"))
    coordinates = [tuple(map(float, pair.split(","))) for pair in drawing.find("polyline").get("points").split()]
    assert coordinates == sorted(coordinates, key=lambda point: (point[0], -point[1]))


def test_a_far_outlier_stays_inside_the_frame():
    drawing = ET.fromstring(distribution([Series("x", "mrap", [*[1.0] * 999, 1e6])], "times"))
    assert max(float(pair.split(",")[0]) for pair in drawing.find("polyline").get("points").split()) <= 450


def test_a_map_has_a_dot_per_place_and_a_text_per_link():
    drawing = ET.fromstring(map_of({"tokyo": TOKYO, "virginia": VIRGINIA}, [Line("tokyo", "virginia", "146.4", "link")], "map"))
    assert len(list(drawing.iter("circle"))) == 2
    assert [text.text for text in drawing.iter("text")].count("146.4") == 1


def test_a_link_across_the_pacific_leaves_the_map_on_one_side_and_comes_in_on_the_other():
    places = {"tokyo": TOKYO, "virginia": VIRGINIA, "frankfurt": Coordinates(50.1, 8.7)}
    across = ET.fromstring(map_of(places, [Line("tokyo", "virginia", "146.4", "link")], "map"))
    overland = ET.fromstring(map_of(places, [Line("tokyo", "frankfurt", "238.3", "link")], "map"))
    assert len(list(across.iter("path"))) == 2
    assert len(list(overland.iter("path"))) == 1


def test_east_is_right_and_north_is_up():
    drawing = ET.fromstring(map_of({"tokyo": TOKYO, "virginia": VIRGINIA, "sydney": SYDNEY}, [], "map"))
    tokyo, virginia, sydney = drawing.iter("circle")
    assert float(tokyo.get("cx")) > float(virginia.get("cx"))
    assert float(sydney.get("cy")) > float(tokyo.get("cy"))


def test_names_are_escaped():
    assert "&lt;x&gt;" in map_of({"<x>": TOKYO}, [], "map")
