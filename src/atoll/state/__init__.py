"""What did API calls configure? Typed records in one file that every process of a world opens."""

from __future__ import annotations

from atoll.state.change import Change
from atoll.state.store import State
from atoll.state.table import Table

__all__ = ["Change", "State", "Table"]
