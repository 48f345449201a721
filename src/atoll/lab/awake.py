"""Are the processors awake while reads are measured? One spinning process of idle priority on each keeps them so.

A processor that has nothing to do for a hundred milliseconds goes to sleep, and in a virtual machine is given to others. The first
millisecond after that runs at a third of the speed: botocore's 0.8 ms for a read become 2.4. A server or a caller with other work
never sees that, and the lab asks one question at a time. What is spun at idle priority gives way to everything at once.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from atoll.node.supervisor import die_with_parent

CGROUP = Path("/proc/self/cgroup")
CGROUPS = Path("/sys/fs/cgroup")
LEAVE_S = 5.0


def has_quota(own: str, root: Path) -> bool:
    """Is this process's share of the processors counted? Spinning would use it up, and stop what is measured.

    `own` is the text of /proc/self/cgroup (version 2: one line "0::/path"); `root` is where the groups are mounted. A group
    whose limits are above what is mounted (a container) shows its own at the root.
    """
    path = next((line.partition("::")[2] for line in own.splitlines() if line.startswith("0::")), "/")
    group = root / path.lstrip("/")
    folders = [group, *group.parents]
    limits = [folder / "cpu.max" for folder in folders if folder == root or root in folder.parents]
    return any(limit.read_text().split()[0] != "max" for limit in limits if limit.exists())


def possible() -> bool:
    """Linux has the priority below all others; a quota forbids."""
    return hasattr(os, "SCHED_IDLE") and not (CGROUP.exists() and has_quota(CGROUP.read_text(), CGROUPS))


@contextmanager
def processors_awake() -> Iterator[bool]:
    """While the block runs, no processor that we may use sleeps. Gives False, and does nothing, where that is not possible."""
    spinners = [_spinner(cpu) for cpu in sorted(os.sched_getaffinity(0))] if possible() else []
    try:
        yield bool(spinners)
    finally:
        for spinner in spinners:
            spinner.kill()
        for spinner in spinners:
            spinner.wait(LEAVE_S)


def _spinner(cpu: int) -> subprocess.Popen[bytes]:
    """In our own session: the kernel weighs sessions first, and priorities only inside one."""
    return subprocess.Popen(  # noqa: S603 - our own interpreter and module
        (sys.executable, "-m", "atoll.lab.awake", str(cpu)),
        stdin=subprocess.DEVNULL,
        process_group=0,  # a Ctrl-C in the terminal is the lab's business
        preexec_fn=die_with_parent,  # noqa: PLW1509 - the lab has one thread
    )


def _leave(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)


def spin(cpu: int) -> None:
    """For as long as this process lives."""
    signal.signal(signal.SIGTERM, _leave)
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    os.sched_setaffinity(0, {cpu})
    while True:
        pass


if __name__ == "__main__":
    spin(int(sys.argv[1]))
