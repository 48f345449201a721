"""A supervisor with tiny processes, for test_supervisor: python supervised_children.py FOLDER NAME=START..., in a process of its own."""

import os
import signal
import sys
import time
from functools import partial
from pathlib import Path

from atoll.processes import supervisor
from atoll.processes.supervisor import Child, StartFailed, Supervisor

supervisor.STOP_GRACE_S = 0.3


def lasting(ready):
    os.write(ready, b"1")
    while True:
        time.sleep(60)


def start_failed(ready):
    raise RuntimeError("no such luck")


def stubborn(ready):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    lasting(ready)


def brittle(ready):
    """Is ready, and falls over while the file is there."""
    os.write(ready, b"1")
    print("about to fall", flush=True)
    while not (folder / "fall").exists():
        time.sleep(0.005)
    sys.exit(3)


def slow(ready):
    """Is ready when the file is there."""
    while not (folder / "go").exists():
        time.sleep(0.005)
    lasting(ready)


STARTS = {"lasting": lasting, "stillborn": start_failed, "stubborn": stubborn, "brittle": brittle, "slow": slow}

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    children = []
    for word in sys.argv[2:]:
        name, _, start = word.partition("=")
        place = name.partition(".")[0]  # "a.1" is one more process of a
        rows = ({"name": name, "kind": "region"},) if place == name else ()
        children.append(Child(name, partial(STARTS[start]), folder / f"{name}.err", rows, place=place))
    try:
        Supervisor(children, str(folder / "s.sock"), {"home": str(folder)}).run(lambda: print("ready", flush=True))
    except StartFailed as error:
        sys.exit(f"stillborn: {error}")
