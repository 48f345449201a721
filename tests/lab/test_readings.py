from atoll.lab.readings import Readings


def test_rows_are_sorted_by_place_path_and_round():
    readings = Readings()
    readings.add("tokyo", [("single", 0, 170.0, 1.0), ("mrap", 0, 30.0, 2.0), ("single", 0, 171.0, 1.5)])
    readings.add("tokyo", [("single", 1, 172.0, 1.0)])
    assert readings.samples == {"tokyo": {"single": [[170.0, 171.0], [172.0]], "mrap": [[30.0]]}}
    assert readings.cpu_ms == {"tokyo": {"single": [1.0, 1.5, 1.0], "mrap": [2.0]}}
    assert (readings.count("tokyo"), readings.count("london")) == (4, 0)


def test_places_come_in_the_order_that_is_wanted():
    readings = Readings()
    readings.add("tokyo", [("single", 0, 170.0, 1.0)])
    readings.add("virginia", [("single", 0, 2.0, 1.0)])
    ordered = readings.ordered(["virginia", "oregon", "tokyo"])
    assert list(ordered.samples) == list(ordered.cpu_ms) == ["virginia", "tokyo"]
