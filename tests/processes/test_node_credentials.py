"""What node-key makes is what serve takes, and nothing else is taken."""

import shutil
import stat
import subprocess
import time

import pytest

from atoll.processes import node_credentials
from atoll.processes.home_folder import Home
from atoll.processes.node_credentials import BundleError, load, make
from atoll.processes.world_config import parse
from machines import world_text

DAY = 86400


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The home of a CA, and one bundle from it."""
    home, world = Home(tmp_path_factory.mktemp("home")), parse(world_text(), "w")
    return home, world, make(home, world, "eu-central-1", None)


@pytest.fixture
def folder(made, tmp_path):
    """A copy of the bundle that a test may spoil."""
    return shutil.copytree(made[2], tmp_path / "node")


def test_a_bundle_is_for_its_owner_only(made):
    _, _, folder = made
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert sorted(path.name for path in folder.iterdir()) == ["ca.pem", "leaves.pem", "node.key", "node.pem"]


def test_the_key_of_the_ca_stays_where_it_is(made):
    home, _, folder = made
    secret = (home.root / "ca.key").read_bytes()
    assert all(secret not in path.read_bytes() for path in folder.iterdir())


def test_a_bundle_is_read_back(made):
    home, _, folder = made
    found = load(folder, "eu-central-1", now=time.time())
    assert found.key == home.node_key.read_bytes()
    assert 299 * DAY < found.until - time.time() < 300 * DAY
    assert found.leaf_certificates.path == folder / "ca.pem"


def test_all_bundles_of_a_world_have_one_ca_and_one_key(made, tmp_path):
    home, world, folder = made
    other = make(home, world, "us-east-1", tmp_path / "out")
    assert other == tmp_path / "out"
    for name in (node_credentials.CA, node_credentials.KEY):
        assert (other / name).read_bytes() == (folder / name).read_bytes()
    assert (other / node_credentials.NODE).read_bytes() != (folder / node_credentials.NODE).read_bytes()


def test_making_it_again_renews_it(made, folder):
    home, world, _ = made
    before = (folder / node_credentials.NODE).read_bytes()
    make(home, world, "eu-central-1", folder)
    assert (folder / node_credentials.NODE).read_bytes() != before
    assert load(folder, "eu-central-1", now=time.time())


def test_there_is_no_bundle_for_a_place_that_is_not_in_the_world(made):
    home, world, _ = made
    with pytest.raises(BundleError, match="paris is no place of this world"):
        make(home, world, "paris", None)


def test_a_bundle_of_another_place_is_refused(folder):
    with pytest.raises(BundleError, match="is for eu-central-1.node.atoll.internal, not for us-east-1"):
        load(folder, "us-east-1", now=time.time())


def test_a_bundle_that_has_ended_is_refused(folder):
    with pytest.raises(BundleError, match="have expired; make it with `atoll node-key eu-central-1`"):
        load(folder, "eu-central-1", now=time.time() + 301 * DAY)


@pytest.mark.parametrize("name", ["ca.pem", "node.pem", "leaves.pem", "node.key"])
def test_a_bundle_with_a_part_missing_is_refused(folder, name):
    (folder / name).unlink()
    with pytest.raises(BundleError, match=name):
        load(folder, "eu-central-1", now=time.time())


@pytest.mark.parametrize("name", ["node.pem", "leaves.pem", "node.key"])
def test_a_key_that_others_can_read_is_refused(folder, name):
    (folder / name).chmod(0o640)
    with pytest.raises(BundleError, match="can be read by others"):
        load(folder, "eu-central-1", now=time.time())


@pytest.mark.parametrize("name", ["node.pem", "leaves.pem"])
def test_a_part_that_is_not_what_it_should_be_is_refused(folder, name):
    (folder / name).write_text("-----BEGIN CERTIFICATE-----\nnot this\n")
    with pytest.raises(BundleError, match="is not what node-key made"):
        load(folder, "eu-central-1", now=time.time())


def test_a_node_vouches_for_the_host_by_which_clients_call_it(made, tmp_path):
    home, _, _ = made
    text = world_text().replace('address = "127.0.0.1:', 'address = "s3.example.org:', 1)
    folder = make(home, parse(text, "w"), "us-east-1", tmp_path / "out")
    printed = subprocess.run(["openssl", "x509", "-noout", "-text", "-in", folder / "leaves.pem"], capture_output=True, text=True)
    assert "DNS:s3.example.org" in printed.stdout
