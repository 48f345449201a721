"""What tests of code around Atoll stand on: a clock that a test moves, a region in memory, a store that fails on command, and,
as a pytest plugin, a world of real processes.

    async with memory_region() as region:
        await region.ask("PUT", "/bucket")
        assert (await region.ask("GET", "/bucket/missing")).status == 404

This module is public: what it exports stays. Engines are held to `tests/contracts/store.py`, which ships with the sources and
not with the package. Names are loaded when they are first used, so that a pytest run without them pays nothing.
docs/TESTING.md walks through it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from atoll.testing.in_memory_region import FakeClock, Faulty, MemoryRegion, MemoryStore, memory_region
    from atoll.testing.world import AtollFault, AtollWorld, atoll_world

__all__ = [
    "AtollFault", "AtollWorld", "FakeClock", "Faulty", "MemoryRegion", "MemoryStore", "atoll_world", "memory_region",
]  # fmt: skip
_HOME = {name: "world" if name.lower().startswith("atoll") else "in_memory_region" for name in __all__}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
