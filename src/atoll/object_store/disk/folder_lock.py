"""The lock on a store's folder: one process writes; the kernel forgets the lock when the process dies."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from atoll.object_store.disk.schema import LOCK


def claim(folder: Path) -> int | None:
    """A handle that keeps everybody else out until it is closed; None when somebody has the store."""
    handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    return handle
