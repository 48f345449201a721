import os
import stat
import subprocess
import sys

import pytest

from atoll.net.certificates import load_ca
from atoll.processes import start_world
from atoll.processes.home_folder import Home
from atoll.processes.port_allocation import PortTaken, free
from atoll.processes.world_config import load, parse

LITTLE = '[places.us-east-1]\nkind = "region"\nat = [38.9, -77.4]\n[places.london]\nkind = "city"\nat = [51.5, -0.1]\n'


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "w").make()


@pytest.fixture
def made(home):
    return start_world.Root(**start_world._make(home))


def test_the_keys_of_a_world_are_made_once(home, made):
    kept = {path: path.read_bytes() for path in (home.node_key, home.ca, home.root / "ca.key")}
    assert start_world.Root(**start_world._make(home)) == made
    assert {path: path.read_bytes() for path in kept} == kept
    assert len(home.node_key.read_bytes()) == start_world.KEY_BYTES
    assert load_ca(home.root).certificate.subject.rfc4514_string()


def test_no_key_is_readable_by_others(home, made):
    private = [home.node_key, home.root / "ca.key", home.aws / "config", home.aws / "credentials", home.state]
    assert {stat.S_IMODE(path.stat().st_mode) for path in private} == {0o600}


def test_two_worlds_have_different_keys(tmp_path):
    one, other = (start_world.Root(**start_world._make(Home(tmp_path / name).make())) for name in ("a", "b"))
    assert one.secret != other.secret
    assert one.account != other.account


def test_preparing_happens_in_a_process_of_its_own_and_its_failure_is_ours(home):
    program = "import os\nfrom atoll.processes.home_folder import Home\nfrom atoll.processes import start_world\nprint(start_world.prepare(Home.at(os.environ)).account)"
    done = subprocess.run([sys.executable, "-c", program], env=os.environ | {"ATOLL_HOME": str(home.root)}, capture_output=True, text=True, timeout=30)
    assert done.stdout.strip().isdigit(), done.stderr
    home.state.write_bytes(b"this is no database" * 100)
    done = subprocess.run([sys.executable, "-c", program], env=os.environ | {"ATOLL_HOME": str(home.root)}, capture_output=True, text=True, timeout=30)
    assert "the world's keys could not be made" in done.stderr


def test_one_supervisor_per_home(home):
    held = start_world.lock(home)
    with pytest.raises(start_world.AlreadyUp):
        start_world.lock(home)
    os.close(held)
    os.close(start_world.lock(home))


def test_every_place_gets_a_port_and_every_region_two_more(home, made):
    plan = start_world.plan(home, load(None), made, port=None)
    numbers = list(plan.entry_ports.values())
    assert list(plan.entry_ports) == [place.name for place in load(None).places]
    assert numbers == list(range(numbers[0], numbers[0] + 7))
    inner = [number for one in plan.regions.values() for number in (one.port, one.tls)]
    assert len(set(inner)) == 8
    assert not set(inner) & set(numbers)


def test_a_world_comes_back_to_its_ports(home, made):
    plan = start_world.plan(home, load(None), made, port=None)
    home.write_run(start_world.run_info(plan, made))
    again = start_world.plan(home, load(None), made, port=None)
    assert (again.entry_ports, again.regions) == (plan.entry_ports, plan.regions)


def test_a_port_that_is_insisted_on_is_the_first_one(home, made):
    (port,) = free(1)
    try:
        assert start_world.plan(home, parse(LITTLE, "w"), made, port=port).entry_ports["us-east-1"] == port
    except PortTaken:
        pytest.fail("a free block was refused")


def test_what_is_said_of_a_world_lets_a_client_in(home, made):
    plan = start_world.plan(home, parse(LITTLE, "w"), made, port=None)
    result = start_world.run_info(plan, made)
    assert (result["account"], result["access_key_id"], result["secret_access_key"]) == (made.account, made.access_key, made.secret)
    assert [(row["name"], row["kind"], row["region"]) for row in result["places"]] == [("us-east-1", "region", "us-east-1"), ("london", "city", "us-east-1")]
    assert result["ca"] == str(home.ca)


def test_there_is_a_process_for_each_region_and_one_for_all_that_enter(home, made):
    plan = start_world.plan(home, load(None), made, port=None)
    found = start_world.children(plan)
    assert [child.name for child in found] == [*load(None).regions, "entry"]
    assert [row["name"] for row in found[-1].places] == ["london", "mumbai", "sydney", "entry"]
    assert found[0].places[0]["direct_port"] == plan.regions["us-east-1"].port
    assert {child.stderr.parent for child in found} == {home.logs}


def test_secrets_are_not_shown_by_status(home, made):
    plan = start_world.plan(home, load(None), made, port=None)
    assert made.secret not in str([child.places for child in start_world.children(plan)])
