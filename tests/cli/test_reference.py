"""docs/CLI.md says what the commands say."""

import subprocess
import sys
from pathlib import Path

import pytest

from atoll.cli import reference
from atoll.cli.exits import MEANING

pytestmark = pytest.mark.xdist_group("cli")
WRITTEN = (Path(__file__).parent.parent.parent / "docs" / "CLI.md").read_text()


def test_the_reference_is_what_the_commands_say_of_themselves():
    made = subprocess.run([sys.executable, "-m", "atoll.cli.reference"], capture_output=True, text=True, check=True, timeout=30).stdout
    assert made == WRITTEN, "run `make reference`"


def test_every_exit_code_and_every_command_is_in_it():
    assert [code for code in MEANING if f"\n| {code} | " not in WRITTEN] == []
    assert "\n### atoll lab cost\n" in WRITTEN


def test_the_help_of_a_command_is_whole():
    assert reference.help_of("atoll exec").startswith("Usage: atoll exec [OPTIONS] -- COMMAND ...\n")
