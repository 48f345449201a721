"""One process owns a store."""

import os
import subprocess
import sys

from atoll.object_store.disk.folder_lock import claim

HOLD = "import sys; from pathlib import Path; from atoll.object_store.disk.folder_lock import claim; print(claim(Path(sys.argv[1])) is not None, flush=True); sys.stdin.read()"


def test_a_claim_keeps_others_out_until_it_is_closed(tmp_path):
    first = claim(tmp_path)
    assert claim(tmp_path) is None
    os.close(first)
    second = claim(tmp_path)
    assert second is not None
    os.close(second)


def test_two_stores_are_two_claims(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    held = [claim(tmp_path / "a"), claim(tmp_path / "b")]
    assert None not in held
    for handle in held:
        os.close(handle)


def test_the_claim_of_a_killed_process_is_forgotten(tmp_path):
    with subprocess.Popen([sys.executable, "-c", HOLD, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"True\n"
        assert claim(tmp_path) is None
        other.kill()
    handle = claim(tmp_path)
    assert handle is not None
    os.close(handle)
