"""Paths in a world's home folder, and the file that says what is running."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DEFAULT_HOME = "~/.atoll"
SOCKET_PATH_MAX = 100  # bytes; a unix socket's path is at most 107 on Linux


@dataclass(frozen=True, slots=True)
class Home:
    """A world's folder. Nothing here is readable by others (0700)."""

    root: Path

    @classmethod
    def at(cls, environment: Mapping[str, str], given: str | None = None) -> Home:
        """`given`, else $ATOLL_HOME, else ~/.atoll."""
        return cls(Path(given or environment.get("ATOLL_HOME") or DEFAULT_HOME).expanduser().absolute())

    def make(self) -> Home:
        for folder in (self.root, self.logs, self.stores, self.aws):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self

    @property
    def state(self) -> Path:
        return self.root / "state.db"

    @property
    def stores(self) -> Path:
        return self.root / "stores"

    def store(self, region: str) -> Path:
        return self.stores / region

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    def log(self, process: str) -> Path:
        return self.logs / f"{process}.jsonl"

    @property
    def world(self) -> Path:
        """The world file that is in force: a copy of what `up` was given."""
        return self.root / "world.toml"

    @property
    def node_key(self) -> Path:
        return self.root / "node.key"

    @property
    def ca(self) -> Path:
        return self.root / "ca.pem"

    @property
    def aws(self) -> Path:
        """Config and credentials files for clients: empty, so that the user's own are not used."""
        return self.root / "aws"

    @property
    def run(self) -> Path:
        return self.root / "run.json"

    @property
    def lock(self) -> Path:
        return self.root / "lock"

    @property
    def socket(self) -> str:
        """The supervisor's control socket; long homes get one in the abstract namespace, named by the home."""
        path = str(self.root / "control.sock")
        if len(path) <= SOCKET_PATH_MAX:
            return path
        import hashlib

        return "\0atoll-" + hashlib.sha256(path.encode()).hexdigest()[:32]

    def read_run(self) -> dict[str, Any] | None:
        """What `run.json` says: ports, keys' places, pids. None when no world was ever started here."""
        try:
            return dict(json.loads(self.run.read_text(encoding="utf-8")))
        except (FileNotFoundError, json.JSONDecodeError):
            return None

    def write_run(self, run_info: Mapping[str, Any]) -> None:
        write_whole(self.run, json.dumps(run_info, indent=1).encode())


def write_whole(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Write a small file so that readers see the old one or the new one, never half."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)
