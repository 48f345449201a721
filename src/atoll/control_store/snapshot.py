"""All records as one process knows them, in memory."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import msgspec

from atoll.control_store.record_table import Table, Unreadable

R = TypeVar("R", bound=msgspec.Struct)


class Row(NamedTuple):
    """One record as it stands in the file. `body` None: it was deleted."""

    kind: str
    key: str
    version: int
    body: bytes | None


@dataclass(frozen=True, slots=True)
class Batch:
    """The last row of every record that changed after some version, up to `upto`. `whole`: all records there are."""

    upto: int
    rows: Sequence[Row]
    whole: bool = False


class _CachedRecord:
    """A body in memory, and the record it decodes to once somebody asked."""

    __slots__ = ("body", "record", "version")

    def __init__(self, version: int, body: bytes, record: msgspec.Struct | None) -> None:
        self.version = version
        self.body: bytes | None = body  # None once decoded: nobody needs it twice
        self.record = record  # before decoding: what the reader knew under an older version, if anything


class _TableRows:
    """The records of one table, and their keys in order."""

    __slots__ = ("held", "order")

    def __init__(self) -> None:
        self.held: dict[str, _CachedRecord] = {}
        self.order: list[str] | None = None  # None: keys came or went since somebody asked

    def put(self, row: Row, body: bytes) -> None:
        old = self.held.get(row.key)
        if old is None:
            self.order = None
        elif old.version == row.version:
            return  # the same object stays the same until it changes
        self.held[row.key] = _CachedRecord(row.version, body, old.record if old else None)

    def drop(self, key: str) -> None:
        if self.held.pop(key, None) is not None:
            self.order = None

    def keys(self, prefix: str) -> Iterator[str]:
        order = self.order
        if order is None:
            order = self.order = sorted(self.held)
        for index in range(bisect_left(order, prefix), len(order)):
            if not order[index].startswith(prefix):
                return
            yield order[index]


class Snapshot:
    """All records as of one version. Belongs to one thread; reads are dictionary lookups.

    A record that cannot be read (a newer Atoll wrote it) does not stop anyone: what this process last read under
    that key stays true for it, and `unreadable` tells how many there were.
    """

    __slots__ = ("_tables", "unreadable", "version")

    def __init__(self) -> None:
        self._tables: dict[str, _TableRows] = {}
        self.version = 0
        self.unreadable = 0

    def apply(self, batch: Batch) -> bool:
        """Take the batch in; tells whether anything is newer now. Batches may come twice or in any order."""
        if batch.upto <= self.version:
            return False
        if batch.whole:
            self._keep_only({(row.kind, row.key) for row in batch.rows})
        for row in batch.rows:
            self._take(row)
        self.version = batch.upto
        return True

    def get(self, table: Table[R], key: str) -> R | None:
        table_rows = self._tables.get(table.name)
        held = table_rows.held.get(key) if table_rows is not None else None
        return None if held is None else self._record(table, held)

    def items(self, table: Table[R], prefix: str = "") -> list[tuple[str, R]]:
        """All of them in order of their keys, as they are now: later changes do not show in the list."""
        table_rows = self._tables.get(table.name)
        if table_rows is None:
            return []
        found = ((key, self._record(table, table_rows.held[key])) for key in table_rows.keys(prefix))
        return [(key, record) for key, record in found if record is not None]

    def _take(self, row: Row) -> None:
        table_rows = self._tables.setdefault(row.kind, _TableRows())
        if row.body is None:
            table_rows.drop(row.key)
        else:
            table_rows.put(row, row.body)

    def _keep_only(self, wanted: set[tuple[str, str]]) -> None:
        for kind, table_rows in self._tables.items():
            for key in [key for key in table_rows.held if (kind, key) not in wanted]:
                table_rows.drop(key)

    def _record(self, table: Table[R], held: _CachedRecord) -> R | None:
        body = held.body
        if body is not None:
            held.body = None
            try:
                held.record = table.decode(body)
            except Unreadable:
                self.unreadable += 1
        record = held.record
        assert record is None or isinstance(record, table.type), f"two types for the table {table.name}"
        return record
