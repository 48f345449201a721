import os
from dataclasses import dataclass

import pytest

from atoll.gateway.metrics import Metrics
from atoll.gateway.record import Recorder
from atoll.node import region
from atoll.node.config import load
from atoll.services.iam.making import create_world
from atoll.services.iam.plane import Identities
from atoll.services.s3.here import RuleBook
from atoll.services.s3.nudge import Nudge
from atoll.services.s3control.plane import AccessPoints
from atoll.state import State
from atoll.store.memory import MemoryStore
from s3world import ACCOUNT, Ticks


@dataclass
class Made:
    """A region's parts over the memory engine."""

    shared: region.Shared
    root: object


@pytest.fixture
def make(tmp_path):
    """Makes a region of the built-in world; its control state is given away with it."""

    async def making(name="us-east-1", *, profile=None, compat=None, peers=None):
        clock, state = Ticks(1_800_000_000.0), State.memory()
        root = await create_world(state, account=ACCOUNT, dice=os.urandom, now=clock.now())
        store = MemoryStore(name, lambda: int(clock.now() * 1000))
        shared = region.Shared(
            load(None).with_settings(profile, compat), name, state, store, store, clock, Identities(state, os.urandom),
            AccessPoints(state), Nudge(), Recorder(tmp_path / f"{name}.jsonl", name), Metrics(name), RuleBook(), (peers or {}).__getitem__,
        )  # fmt: skip
        return Made(shared, root)

    return making
