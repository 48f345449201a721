"""Keeps the processors awake while reads are measured: one spinning process of idle priority on each.

A processor that has nothing to do for a hundred milliseconds goes to sleep, and in a virtual machine is given to others. The first
millisecond after that runs at a third of the speed: botocore's 0.8 ms for a read become 2.4. A server or a caller with other work
never sees that, and the lab asks one question at a time. What is spun at idle priority gives way at once to all of its session.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from atoll.processes.supervisor import die_with_parent

CGROUP = Path("/proc/self/cgroup")
CGROUPS = Path("/sys/fs/cgroup")
BEGUN = b"at idle priority\n"


def has_quota(own: str, root: Path) -> bool:
    """Is this process's share of the processors counted? Spinning would use it up, and stop what is measured.

    `own` is the text of /proc/self/cgroup, a line "number:controllers:/path" for each hierarchy (version 2: "0::/path"); `root`
    is where the groups are mounted. A group whose limits lie above what is mounted (a container) shows its own at the root.
    """
    for line in own.splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers and _limits(root, path, "cpu.max", lambda text: text.split()[0] != "max"):
            return True
        if "cpu" in controllers.split(",") and _limits(root / controllers, path, "cpu.cfs_quota_us", lambda text: int(text) > 0):
            return True
    return False


def _limits(root: Path, path: str, name: str, counts: Callable[[str], bool]) -> bool:
    """Does the file `name` of the group, or of one above it, set a limit?"""
    group = root / path.lstrip("/")
    files = [folder / name for folder in (group, *group.parents) if folder == root or root in folder.parents]
    return any(counts(file.read_text()) for file in files if file.exists())


def is_possible() -> bool:
    """Linux has the priority below all others; a quota forbids."""
    return hasattr(os, "SCHED_IDLE") and not (CGROUP.exists() and has_quota(CGROUP.read_text(), CGROUPS))


@contextmanager
def processors_awake() -> Iterator[bool]:
    """While the block runs, no processor that we may use sleeps. Gives False where that is not possible, or did not succeed."""
    with ExitStack() as stack:
        spinners = [stack.enter_context(_spinner_process(cpu)) for cpu in sorted(os.sched_getaffinity(0))] if is_possible() else []
        yield bool(spinners) and all(_has_begun(spinner) for spinner in spinners)


@contextmanager
def _spinner_process(cpu: int) -> Iterator[subprocess.Popen[bytes]]:
    """In our own session: the kernel weighs sessions first, and priorities only inside one."""
    with subprocess.Popen(  # noqa: S603 - our own interpreter and module
        (sys.executable, "-m", "atoll.lab.keep_cpus_awake", str(cpu)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        process_group=0,  # a Ctrl-C in the terminal is the lab's business
        preexec_fn=die_with_parent,  # noqa: PLW1509 - the lab has one thread
    ) as spinner:
        try:
            yield spinner
        finally:
            spinner.kill()


def _has_begun(spinner: subprocess.Popen[bytes]) -> bool:
    """Waits until it is at its priority: before, it starts up like any program. False for one that could not."""
    assert spinner.stdout is not None
    return spinner.stdout.readline() == BEGUN


def spin(cpu: int) -> None:
    """For as long as this process lives."""
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    os.sched_setaffinity(0, {cpu})
    os.write(sys.stdout.fileno(), BEGUN)
    while True:
        pass


if __name__ == "__main__":
    spin(int(sys.argv[1]))
