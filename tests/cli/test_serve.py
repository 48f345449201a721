"""What `node-key` and `serve` say to whom they cannot serve. tests/processes/test_serve_place.py runs them for real."""

import pytest
import typer
from typer.testing import CliRunner

from atoll.cli import serve
from machines import world_text

pytestmark = pytest.mark.xdist_group("cli")


@pytest.fixture
def run(tmp_path):
    app = typer.Typer()
    serve.register(app)
    (tmp_path / "world.toml").write_text(world_text())
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


def test_a_bundle_is_made_and_its_folder_is_named(run, tmp_path):
    done = run("node-key", "london", "--world", str(tmp_path / "world.toml"), "--home", str(tmp_path / "ca"))
    assert (done.exit_code, done.stdout) == (0, f"{tmp_path}/ca/nodes/london\n")
    assert (tmp_path / "ca" / "nodes" / "london" / "node.pem").exists()


def test_the_world_file_in_the_folder_is_taken_when_none_is_named(run, tmp_path):
    assert run("node-key", "london", "--home", str(tmp_path)).exit_code == 0


@pytest.mark.parametrize("verb", [["node-key", "us-east-1", "--home"], ["serve", "--place", "us-east-1", "--data"]])
def test_without_a_world_file_nothing_is_done(run, tmp_path, verb):
    done = run(*verb, str(tmp_path / "empty"))
    assert (done.exit_code, "name the world file with --world" in done.stderr) == (64, True)
    assert not (tmp_path / "empty").exists()


def test_a_place_that_is_not_in_the_world_gets_no_bundle(run, tmp_path):
    done = run("node-key", "paris", "--home", str(tmp_path))
    assert (done.exit_code, "paris is no place" in done.stderr) == (64, True)


def test_a_place_without_a_bundle_is_not_served(run, tmp_path):
    done = run("serve", "--place", "us-east-1", "--data", str(tmp_path))
    assert (done.exit_code, "atoll node-key us-east-1" in done.stderr) == (78, True)


def test_a_place_that_is_not_in_the_world_is_not_served(run, tmp_path):
    assert run("serve", "--place", "paris", "--data", str(tmp_path)).exit_code == 64
