"""The wheel, installed where no checkout is: the commands, the lab, and the pytest plugin with the examples of its page."""

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)

pytestmark = [pytest.mark.client, pytest.mark.xdist_group("wheel")]


class Installed:
    """A virtual environment with Atoll's wheel. Other packages are borrowed from this one, whose own Atoll is not seen: a path
    that a .pth file adds is not searched for further .pth files, which is how an editable install is found."""

    def __init__(self, folder):
        self.folder, self.home = folder, folder / "home"
        packages = Path(find_spec("hatchling").origin).parents[1]
        venv = folder / "venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True, timeout=60)
        (found,) = (venv / "lib").glob("python3*/site-packages")
        (found / "borrowed.pth").write_text(str(packages))
        self.bin = venv / "bin"
        pip = [self.bin / "python", "-m", "pip", "--disable-pip-version-check", "--no-cache-dir"]
        self.run(*pip, "wheel", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--wheel-dir", folder / "dist", ROOT)
        (self.wheel,) = (folder / "dist").glob("atoll-*.whl")
        self.run(*pip, "install", "--quiet", "--no-index", "--no-deps", "--ignore-installed", self.wheel)

    def run(self, *command, check=True, timeout=100):
        environment = {"PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}", "HOME": str(self.folder), "ATOLL_HOME": str(self.home), "LANG": "C.UTF-8"}
        done = subprocess.run([str(word) for word in command], cwd=self.folder, env=environment, capture_output=True, text=True, timeout=timeout)
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done

    def atoll(self, *arguments, **settings):
        return self.run(self.bin / "atoll", *arguments, **settings)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    found = Installed(tmp_path_factory.mktemp("wheel"))
    yield found
    found.atoll("down", check=False)


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(installed):
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "src/atoll"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    wanted = {name.removeprefix("src/") for name in listed if name and (ROOT / name).exists()}
    held = {name for name in zipfile.ZipFile(installed.wheel).namelist() if ".dist-info/" not in name}
    assert {"atoll/processes/builtin.toml", "atoll/processes/preload.cjs", "atoll/lab/report.css", "atoll/py.typed"} <= held
    assert held == wanted


def test_what_runs_is_the_wheel_and_not_the_checkout(installed):
    result = installed.run("python", "-c", "import atoll, sys; print(atoll.__file__, *sys.path, sep='\\n')").stdout
    assert result.startswith(str(installed.bin.parent))
    assert str(ROOT / "src") not in result


def test_a_world_comes_up_serves_a_client_and_goes_down(installed):
    (installed.folder / "small.toml").write_text('[places.us-east-1]\nkind = "region"\nat = [38.9, -77.4]\n')
    assert len(tomllib.loads(installed.atoll("config", "show").stdout)["places"]) == 7
    assert "127.0.0.1" in installed.atoll("up", "--detach", "--world", "small.toml").stdout
    code = "import boto3\ns3 = boto3.client('s3')\ns3.create_bucket(Bucket='wheel')\ns3.put_object(Bucket='wheel', Key='k', Body=b'whole')\nprint(s3.get_object(Bucket='wheel', Key='k')['Body'].read())"
    assert installed.atoll("exec", "--", "python", "-c", code).stdout == "b'whole'\n"
    preload = re.search(r"--require (\S+?)'?$", installed.atoll("env", "--node").stdout, re.MULTILINE)[1]
    assert Path(preload).is_relative_to(installed.bin.parent)
    assert Path(preload).exists()
    assert installed.atoll("status").stdout.startswith("place ")
    assert "GetObject -> 200" in installed.atoll("explain", "--last").stdout
    assert installed.atoll("check").stdout.endswith("0 broken invariants\n")
    assert installed.atoll("down").stdout == "The world is down.\n"


def test_the_lab_reckons_measures_and_reports(installed):
    assert json.loads(installed.atoll("lab", "cost", "--json").stdout)["total_usd"] == 0.546837
    installed.atoll("lab", "mrap", "--files", "1", "--rounds", "1", "--overwrites", "0", "--json", "lab.json", "--html", "lab.html")
    assert json.loads((installed.folder / "lab.json").read_text())["experiment"] == "mrap"
    assert "</html>" in (installed.folder / "lab.html").read_text()


def test_the_plugin_is_found_and_the_examples_of_its_page_pass(installed):
    orders, world, alone = BLOCK.findall((ROOT / "docs" / "TESTING.md").read_text())
    folder = installed.folder / "shop"
    folder.mkdir()
    for name, text in (("test_orders.py", orders), ("conftest.py", world), ("test_alone.py", alone)):
        (folder / name).write_text(text)
    result = installed.run("python", "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", folder).stdout
    assert re.search(r"^plugins: .*\batoll-\d", result, re.MULTILINE)
    assert re.search(r"^=+ 3 passed in ", result, re.MULTILINE)
