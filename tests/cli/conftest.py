import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

VENV = Path(sys.executable).parent
LITTLE = """
[places.us-east-1]
kind = "region"
at = [38.9, -77.4]
[places.london]
kind = "city"
at = [51.5, -0.1]
"""


class Shell:
    """A shell whose ATOLL_HOME is its own."""

    def __init__(self, folder):
        self.folder, self.home = folder, folder / "w"
        self.env = {"PATH": f"{VENV}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder), "ATOLL_HOME": str(self.home), "LANG": "C.UTF-8", "COLUMNS": "120"}
        (folder / "little.toml").write_text(LITTLE)

    def __call__(self, *arguments, stdin=None, timeout=40, **settings):
        return subprocess.run(["atoll", *map(str, arguments)], env=self.env | settings, cwd=self.folder, input=stdin, capture_output=True, text=True, timeout=timeout)

    def begin(self, *arguments):
        return subprocess.Popen(["atoll", *arguments], env=self.env, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def up(self, *arguments):
        done = self("up", "--detach", "--world", "little.toml", *arguments)
        assert done.returncode == 0, done.stderr
        return done

    def places(self):
        return {row["name"]: row for row in json.loads(self("status", "--json").stdout)["places"]}


@pytest.fixture
def shell(tmp_path):
    """No world yet; what is begun is ended."""
    found = Shell(tmp_path)
    yield found
    found("down")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A little world for the tests of one file."""
    found = Shell(tmp_path_factory.mktemp("cli"))
    found.up()
    yield found
    assert found("down").returncode == 0
