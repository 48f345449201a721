"""The pytest plugin `atoll`: a world, a client per place, and faults, for whoever asks for them (docs/TESTING.md).

pytest loads it wherever Atoll is installed, so it imports nothing but pytest until a fixture is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from atoll.testing.world import AtollFault, AtollWorld


@pytest.fixture(scope="session")
def atoll_world_file() -> Path | None:
    """The world file; override this fixture to test in places of your own. None: the built-in world."""
    return None


@pytest.fixture(scope="session")
def atoll_world(tmp_path_factory: pytest.TempPathFactory, atoll_world_file: Path | None) -> Iterator[AtollWorld]:
    """A temporary world of real processes, one per session: regions, places, links with their distances."""
    from atoll.testing import world

    with world.atoll_world(tmp_path_factory.mktemp("atoll") / "home", atoll_world_file) as up:
        yield up


@pytest.fixture(scope="session")
def atoll_client(atoll_world: AtollWorld) -> Callable[..., Any]:
    """`atoll_client(service, place, region_name=None, **settings)`: a boto3 client that stands in a place."""
    return atoll_world.client


@pytest.fixture
def atoll_fault(atoll_world: AtollWorld) -> AtollFault:
    """`with atoll_fault.region_down(region)`: a test without a region. `atoll_fault.store()`: a store that fails on command."""
    from atoll.testing.world import AtollFault

    return AtollFault(atoll_world)
