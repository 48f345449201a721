"""The tutorial of the README, word for word, in a shell."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)
TUTORIAL_MAX_S = 120


def tutorial():
    text = (ROOT / "README.md").read_text()
    section = text[text.index("\n## Tutorial\n") : text.index("\n## Ways in\n")]
    return "\n".join(BLOCK.findall(section))


@pytest.mark.client
@pytest.mark.xdist_group("world-readme")
def test_the_tutorial_does_what_it_says(tmp_path):
    environment = {**os.environ, "ATOLL_HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path)}
    shell = ["bash", "-euo", "pipefail", "-c", tutorial()]
    try:
        done = subprocess.run(shell, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=TUTORIAL_MAX_S)
    finally:
        subprocess.run([sys.executable, "-m", "atoll", "down"], cwd=ROOT, env=environment, check=False, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("hello from Virginia") == 3
    answers = re.findall(r"^entry: GET from ap-northeast-1 -> 200 in [\d.]+ ms, answered by ([\w-]+) ", done.stdout, re.MULTILINE)
    assert answers == ["ap-northeast-1", "us-east-1", "ap-northeast-1", "us-east-1"]  # nearest; dialled away; back; lost
    views = re.findall(r"^  candidates: .*'ap-northeast-1:[\d.]+ms:([\w:]+)'", done.stdout, re.MULTILINE)
    assert views == ["active", "passive", "active:down"]
    assert len(re.findall(r"^[\w-]+: GetObject -> 200 in [\d.]+ ms, entered at ap-northeast-1$", done.stdout, re.MULTILINE)) == 3
    assert "0 broken invariants" in done.stdout
    assert done.stdout.endswith("The world is down.\n")
