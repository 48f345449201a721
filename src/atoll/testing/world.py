"""A temporary world of real processes for tests: started by `atoll up`, entered by unmodified boto3, and faults in it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from atoll.processes.client_environment import Mode, place_of, setting
from atoll.processes.home_folder import Home

if TYPE_CHECKING:
    from atoll.testing.in_memory_region import Faulty

COMMAND_MAX_S = 120.0  # for `atoll up` on a busy machine


class AtollWorld:
    """A world that is up. `home` is its folder; `atoll --home` takes it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        run = Home(home).read_run()
        if run is None:
            raise ValueError(f"there is no world in {home}")
        self._run = run

    @property
    def account(self) -> str:
        return str(self._run["account"])

    @property
    def places(self) -> tuple[str, ...]:
        """Where a client may stand, in the order of the world file."""
        return tuple(place["name"] for place in self._run["places"])

    @property
    def regions(self) -> tuple[str, ...]:
        return tuple(self._run["regions"])

    def atoll(self, *arguments: str) -> str:
        """What a command prints, e.g. `world.atoll("explain", "--last")`. Raises RuntimeError with its words when it fails."""
        return _atoll(self.home, *arguments)

    def environment(self, place: str | None = None, mode: Mode = "proxy") -> dict[str, str]:
        """The environment of a program that stands in `place` (the first one): what `atoll exec` gives it. Raises NoSuchPlace."""
        return setting(self._run, self.home, place_of(self._run, place or self.places[0]), mode=mode).applied_to(os.environ)

    def client(self, service: str, place: str | None = None, region_name: str | None = None, **settings: Any) -> Any:
        """A boto3 client with the root user's keys that stands in `place`; `region_name` is the region that it asks, else the
        nearest. `settings` are boto3's own, such as `config`. Raises RuntimeError without boto3, NoSuchPlace."""
        try:
            import boto3
        except ImportError as error:
            raise RuntimeError("clients need boto3, which Atoll does not bring: pip install boto3") from error
        environment = self.environment(place)
        with patch.dict(os.environ, environment, clear=True):  # boto3 reads all of it when it makes the client
            return boto3.session.Session().client(service, region_name=region_name, **settings)


class AtollFault:
    """Faults for one test."""

    def __init__(self, world: AtollWorld) -> None:
        self._world = world

    @contextmanager
    def region_down(self, region: str) -> Iterator[None]:
        """Without the process of a region; it is up again afterwards, whatever the test did. Raises RuntimeError for a place
        that is no region."""
        self._world.atoll("down", "--place", region)
        try:
            yield
        finally:
            self._world.atoll("up", "--detach", "--place", region)

    @staticmethod
    def store(region: str = "us-east-1") -> Faulty:
        """A store in memory that fails on command, for `memory_region(store=...)`."""
        from atoll.testing.in_memory_region import Faulty, MemoryStore

        return Faulty(MemoryStore(region, lambda: int(time.time() * 1000)))


@contextmanager
def atoll_world(home: Path, world_file: Path | None = None) -> Iterator[AtollWorld]:
    """A world in the folder `home`: the built-in one, or that of a file. It is down afterwards; its objects stay in the folder."""
    chosen = () if world_file is None else ("--world", str(world_file))
    _atoll(home, "up", "--detach", *chosen)
    try:
        yield AtollWorld(home)
    finally:
        _atoll(home, "down")


def _atoll(home: Path, *arguments: str) -> str:
    environment: Mapping[str, str] = {**os.environ, "ATOLL_HOME": str(home)}
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-m", "atoll", *arguments], env=environment, capture_output=True, text=True, timeout=COMMAND_MAX_S, check=False
    )
    if done.returncode:
        raise RuntimeError(f"atoll {' '.join(arguments)}: {done.stderr.strip().removeprefix('atoll: ')}")
    return done.stdout
