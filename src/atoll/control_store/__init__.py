"""The control plane's store: typed records of what API calls configured, in one file that every process of a world opens."""

from __future__ import annotations

from atoll.control_store.control_store import ControlStore
from atoll.control_store.record_table import Table
from atoll.control_store.transaction import Transaction

__all__ = ["ControlStore", "Table", "Transaction"]
