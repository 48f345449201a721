import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from atoll.lab import keep_cpus_awake

QUIET_S = 5.0


def policies_of(spinners):
    return {os.sched_getscheduler(int(pid)) for pid in spinners}


def spinning(lab=None):
    """Process ids of the spinners that a process (this one) has started."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if b"atoll.lab.keep_cpus_awake" in words and int(parent) == (lab or os.getpid()):
            found.append(folder.name)
    return found


def until(holds):
    end = time.monotonic() + QUIET_S
    while not holds() and time.monotonic() < end:
        time.sleep(0.01)
    assert holds()


@pytest.mark.parametrize(
    ("limits", "own", "counted"),
    [
        ({}, "0::/\n", False),
        ({"": "max 100000"}, "0::/\n", False),
        ({"": "200000 100000"}, "0::/\n", True),
        ({"user/mine": "max 100000", "user": "50000 100000"}, "0::/user/mine\n", True),
        ({"user/mine": "max 100000", "other": "50000 100000"}, "0::/user/mine\n", False),
        ({"": "50000 100000"}, "0::/../outside\n", True),
    ],
)
def test_a_share_that_is_counted_is_not_spun_away(tmp_path, limits, own, counted):
    for group, text in limits.items():
        (tmp_path / group).mkdir(parents=True, exist_ok=True)
        (tmp_path / group / "cpu.max").write_text(text)
    assert keep_cpus_awake.has_quota(own, tmp_path) is counted


def test_each_processor_has_one_spinner_of_idle_priority_and_afterwards_none(monkeypatch):
    monkeypatch.setattr(keep_cpus_awake, "has_quota", lambda own, root: False)
    with keep_cpus_awake.processors_awake() as kept:
        assert kept
        assert policies_of(spinning()) == {os.SCHED_IDLE}
        assert sorted(tuple(os.sched_getaffinity(int(pid))) for pid in spinning()) == [(cpu,) for cpu in sorted(os.sched_getaffinity(0))]
        assert {os.getsid(int(pid)) for pid in spinning()} == {os.getsid(0)}
    assert spinning() == []


@pytest.mark.parametrize(
    ("controllers", "quota", "own", "counted"),
    [("cpu", "-1", "4:cpu:/", False), ("cpu", "50000", "4:cpu:/", True), ("cpu,cpuacct", "50000", "4:cpu,cpuacct:/", True), ("cpuset", "5", "4:cpuset:/", False)],
)
def test_the_first_version_of_cgroups_counts_too(tmp_path, controllers, quota, own, counted):
    (tmp_path / controllers).mkdir()
    (tmp_path / controllers / "cpu.cfs_quota_us").write_text(quota + "\n")
    assert keep_cpus_awake.has_quota(own + "\n", tmp_path) is counted


def test_a_spinner_that_cannot_begin_is_told(monkeypatch):
    monkeypatch.setattr(keep_cpus_awake, "has_quota", lambda own, root: False)
    monkeypatch.setattr(keep_cpus_awake, "BEGUN", b"something else")
    with keep_cpus_awake.processors_awake() as kept:
        assert not kept
    assert spinning() == []


def test_where_the_share_is_counted_nothing_is_spun(monkeypatch):
    monkeypatch.setattr(keep_cpus_awake, "has_quota", lambda own, root: True)
    with keep_cpus_awake.processors_awake() as kept:
        assert (kept, spinning()) == (False, [])


def test_spinners_go_when_the_lab_is_killed():
    lab = subprocess.Popen(
        (sys.executable, "-c", "from atoll.lab import keep_cpus_awake\nkeep_cpus_awake.has_quota = lambda *_: False\nwith keep_cpus_awake.processors_awake(): print('on', flush=True); input()"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert lab.stdout.readline() == b"on\n"
    until(lambda: len(spinning(lab.pid)) == len(os.sched_getaffinity(0)) and policies_of(spinning(lab.pid)) == {os.SCHED_IDLE})
    left = spinning(lab.pid)
    lab.send_signal(signal.SIGKILL)
    lab.wait()
    until(lambda: not [pid for pid in left if Path(f"/proc/{pid}").exists()])
    lab.stdin.close()
    lab.stdout.close()
