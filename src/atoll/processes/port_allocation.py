"""Picks listening ports: the wanted block or a free one; tells who holds a port that is taken."""

from __future__ import annotations

import fcntl
import os
import socket
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

FIRST_PORT = 4566  # what local-AWS tooling expects
SEARCH_FROM, SEARCH_TO, SEARCH_STEP = 14566, 20000, 16
INNER_FROM, INNER_TO = 20000, 32000  # Linux: net.ipv4.ip_local_port_range begins at 32768


class PortTaken(Exception):
    """Somebody else listens there. The text names the port and, where /proc tells, the process."""


def is_free(port: int, host: str = "127.0.0.1") -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def _inodes(port: int) -> Iterable[str]:
    """Sockets that listen on the port. Source: proc(5), /proc/net/tcp."""
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            rows = Path(table).read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for row in rows:
            fields = row.split()
            if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
                yield f"socket:[{fields[9]}]"


def holder(port: int) -> str:
    """The process that listens on the port, as "name (pid N)", or "another process"."""
    wanted = set(_inodes(port))
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if any(str(link.readlink()) in wanted for link in (entry / "fd").iterdir()):
                return f"{(entry / 'comm').read_text(encoding='utf-8').strip()} (pid {entry.name})"
        except OSError:
            continue
    return "another process"


def block(count: int, *, insist_on: int | None = None, before: Sequence[int] = ()) -> list[int]:
    """`count` ports in a row: where the user insists, else where this world was before, else from 4566, else a free block.

    Raises PortTaken when the user insists on a block that is not free.
    """
    if insist_on is not None:
        wanted = list(range(insist_on, insist_on + count))
        for port in wanted:
            if not is_free(port):
                raise PortTaken(f"port {port} is held by {holder(port)}; stop it or choose another with --port")
        return wanted
    starts = [before[0]] if len(before) == count else []
    for first in (*starts, FIRST_PORT, *range(SEARCH_FROM, SEARCH_TO, SEARCH_STEP)):
        wanted = list(range(first, first + count))
        if all(map(is_free, wanted)):
            return wanted
    raise PortTaken(f"no free block of {count} ports between {SEARCH_FROM} and {SEARCH_TO}")


def free(count: int, before: Sequence[int] = ()) -> list[int]:
    """Ports that only this world's own processes use: the ones from before where they are still free, else a free block
    below the range from which the kernel gives ports to outgoing connections, which could take them while a region is down."""
    if len(before) == count and all(map(is_free, before)):
        return list(before)
    for first in range(INNER_FROM, INNER_TO, SEARCH_STEP):
        wanted = list(range(first, first + count))
        if all(map(is_free, wanted)):
            return wanted
    raise PortTaken(f"no free block of {count} ports between {INNER_FROM} and {INNER_TO}")


@contextmanager
def port_lock() -> Iterator[None]:
    """While one world of this user chooses its ports and binds them, others wait: a look and a bind are two steps."""
    path = Path(tempfile.gettempdir()) / f"atoll-{os.getuid()}-ports.lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # forked processes share the descriptor: closing ours would not do
        os.close(descriptor)
