import pytest

from atoll.lab import tables


@pytest.fixture
def shown(told, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")

    def of(profile):
        tables.show(told(profile))
        return capsys.readouterr().out

    return of


def test_each_median_stands_beside_the_published_one(shown):
    row = next(line for line in shown("aws").splitlines() if "ap-northeast-1" in line and "single" in line)
    assert row.split() == ["ap-northeast-1", "single", "bucket", "100.0", "173.6", "-42.4", "%", "103.4", "193.3", "-46.5", "%", "predicted"]


def test_it_fits_into_eighty_columns(shown):
    assert max(len(line.rstrip()) for line in shown("aws").splitlines() if "overhead" not in line) <= 80
    assert "…" not in shown("native") + shown("aws")


def test_native_shows_what_our_own_paths_cost(shown):
    assert "mrap - direct" in shown("native")
    assert "processors kept awake" in shown("native")
    assert "mrap - direct" not in shown("aws")


def test_overwrites_are_listed_and_the_published_span_last(shown):
    lines = [line.split() for line in shown("aws").splitlines()]
    assert ["2", "22.75", "22.30", "50"] in lines
    assert "21.7 to 22.7" in shown("aws")


def test_the_cost_is_exact(shown):
    assert "0.546837" in shown("native")
    assert "0.000087" in shown("native")


def test_the_overheads_are_printed_in_profile_aws(shown):
    assert "single 4.50 in us-east-1" in shown("aws")
