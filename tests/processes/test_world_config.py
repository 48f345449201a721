import pytest

from atoll.processes.world_config import Listener, WorldError, builtin_text, load, parse


def test_the_built_in_world_has_the_four_measured_regions_and_three_cities():
    world = load(None)
    assert world.regions == ("us-east-1", "us-west-2", "eu-central-1", "ap-northeast-1")
    assert [place.name for place in world.places if place.kind == "city"] == ["london", "mumbai", "sydney"]


def test_its_links_are_the_published_ones():
    world = load(None)
    assert world.distance("ap-northeast-1", "us-east-1").rtt_ms == 146.4
    assert world.distance("eu-central-1", "eu-central-1").rtt_ms == 0.3
    assert world.distance("mumbai", "us-east-1").source == "estimate"


def test_the_nearest_regions_come_in_order_of_distance():
    assert load(None).nearest_regions("ap-northeast-1") == ("ap-northeast-1", "us-west-2", "us-east-1", "eu-central-1")


def test_settings_given_at_start_win_over_the_file():
    assert load(None).with_settings("aws", "strict").profile == "aws"
    assert load(None).with_settings(None, None).compat == "lenient"
    assert [load(None).with_settings(None, None, workers).workers for workers in (None, 3)] == [1, 3]


@pytest.mark.parametrize("workers", ["0", "65", "true", "1.5", '"two"'])
def test_a_number_of_workers_is_a_number(workers):
    with pytest.raises(WorldError, match="workers"):
        parse(f"workers = {workers}\n{builtin_text()}", "w.toml")


def test_all_faults_of_a_world_file_are_reported_together():
    with pytest.raises(WorldError) as caught:
        parse('profile = "fast"\nspeed = 3\njitter_ms = -1\nlinks = [{ between = ["a"] }]\n[places.A]\nkind = "town"\n', "w.toml")
    text = str(caught.value)
    assert len(caught.value.complaints) == 7
    assert all(word in text for word in ("w.toml", "speed", "'fast'", "'town'", "between", "jitter_ms", "at least one place"))


@pytest.mark.parametrize(("more", "complaint"), [
    ("speed = 3\n", "speed is no setting of a world; there are: compat, "),
    ('[places.london]\nkind = "city"\nat = [0, 0]\ncolour = "red"\n', "place london: colour is no setting of a place; there are: address, at, kind, node"),
    ('links = [{ between = ["a", "b"], rtt_ms = 1, loss = 2 }]\n', "link: loss is no setting of a link; there are: between, rtt_ms, source"),
    ("links = 3\n", "links = 3, expected a list"),
])  # fmt: skip
def test_a_key_that_nothing_reads_is_refused_with_those_that_are_read(more, complaint):
    region = '[places.us-east-1]\nkind = "region"\nat = [0, 0]\n'
    with pytest.raises(WorldError) as caught:
        parse(region + more if more.startswith("[") else more + region, "w.toml")
    assert any(text.startswith(complaint) for text in caught.value.complaints)
    assert len(caught.value.complaints) == 1


def test_a_place_that_is_no_table_is_refused():
    with pytest.raises(WorldError, match=r"places.london = 3, expected a table"):
        parse("[places]\nlondon = 3\n", "w.toml")


@pytest.mark.parametrize(("content", "complaint"), [(b"\xff", "not UTF-8"), (None, "no such file")])
def test_a_world_file_that_cannot_be_read_is_refused_in_words(tmp_path, content, complaint):
    if content is not None:
        (tmp_path / "w.toml").write_bytes(content)
    with pytest.raises(WorldError, match=complaint):
        load(tmp_path / "w.toml")


def test_a_file_that_is_not_toml_is_refused_with_its_line():
    with pytest.raises(WorldError, match="line 1"):
        parse("= 3", "w.toml")


def test_a_world_without_places_is_refused():
    with pytest.raises(WorldError, match="no \\[places"):
        parse("", "w.toml")


def test_the_printed_built_in_world_can_be_read_again():
    assert parse(builtin_text(), "copy") == load(None)


PLACE = '[places.us-east-1]\nkind = "region"\nat = [38.9, -77.4]\n'


def test_a_place_may_say_where_it_is_reached():
    world = parse(f'state = "us-east-1"\n{PLACE}address = "s3.example.org:4566"\nnode = "[2001:db8::1]:4600"\n', "w.toml")
    place = world.by_name["us-east-1"]
    assert (place.address, place.node, world.state) == (Listener("s3.example.org", 4566), Listener("2001:db8::1", 4600), "us-east-1")
    assert (str(place.address), str(place.node)) == ("s3.example.org:4566", "[2001:db8::1]:4600")


@pytest.mark.parametrize("text", ['"host"', '":80"', '"host:0"', '"host:65536"', '"2001:db8::1:80"', "80", '"http://host:80"'])
def test_what_is_no_host_and_port_is_refused(text):
    with pytest.raises(WorldError, match='expected "HOST:PORT"'):
        parse(f"{PLACE}node = {text}\n", "w.toml")


@pytest.mark.parametrize("state", ['"tokyo"', '"london"', "3"])
def test_only_a_region_of_the_world_holds_the_state(state):
    with pytest.raises(WorldError, match="is no region of this world"):
        parse(f'state = {state}\n{PLACE}[places.london]\nkind = "city"\nat = [51.5, -0.1]\n', "w.toml")


def test_how_long_an_access_point_takes_to_be_made_may_be_said():
    assert parse(f"create_delay_s = 1.5\n{PLACE}", "w.toml").create_delay_s == 1.5
    assert parse(PLACE, "w.toml").create_delay_s is None


@pytest.mark.parametrize("text", ["-1", '"soon"', "true"])
def test_a_create_delay_that_is_no_time_is_refused(text):
    with pytest.raises(WorldError, match="create_delay_s = .* is not a number of seconds"):
        parse(f"create_delay_s = {text}\n{PLACE}", "w.toml")
