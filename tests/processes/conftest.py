import os
from dataclasses import dataclass

import pytest

from atoll.control_store import ControlStore
from atoll.gateway.metrics import Metrics
from atoll.gateway.request_log import RequestLog
from atoll.object_store.memory_store import MemoryStore
from atoll.processes import build_region
from atoll.processes.world_config import load
from atoll.services.iam.caller_lookup import Identities
from atoll.services.iam.id_generation import create_root_account
from atoll.services.s3.change_notifier import ChangeNotifier
from atoll.services.s3.dependencies import ReplicationRuleCache
from atoll.services.s3control.access_points import MrapLookup
from s3world import ACCOUNT, Ticks


@dataclass
class Made:
    """A region's parts over the memory engine."""

    shared: build_region.Shared
    root: object


@pytest.fixture
def make(tmp_path):
    """Makes a region of the built-in world; its control state is given away with it."""

    async def making(name="us-east-1", *, profile=None, compat=None, peers=None):
        clock, state = Ticks(1_800_000_000.0), ControlStore.memory()
        root = await create_root_account(state, account=ACCOUNT, random_bytes=os.urandom, now=clock.now())
        store = MemoryStore(name, lambda: int(clock.now() * 1000))
        shared = build_region.Shared(
            load(None).with_settings(profile, compat), name, state, store, store, clock, Identities(state, os.urandom),
            MrapLookup(state), ChangeNotifier(), RequestLog(tmp_path / f"{name}.jsonl", name), Metrics(name), ReplicationRuleCache(), (peers or {}).__getitem__,
        )  # fmt: skip
        return Made(shared, root)

    return making
