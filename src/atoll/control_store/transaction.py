"""One transaction on the control store: reads and writes of records."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import TypeVar

import msgspec

from atoll.control_store import sqlite_file
from atoll.control_store.record_table import Table, Unreadable
from atoll.domain.errors import ApiError

R = TypeVar("R", bound=msgspec.Struct)


class Transaction:
    """Reads and writes of one transaction; reads see the file as it is, other processes' changes and own writes included.

    A record that this version cannot read is never overlooked and overwritten: it raises ServiceUnavailable.
    """

    __slots__ = ("_connection", "_version")

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._version = 0  # 0: nothing written so far

    def get(self, table: Table[R], key: str) -> R | None:
        body = self._body(table, key)
        return None if body is None else _decode(table, body)

    def items(self, table: Table[R], prefix: str = "") -> list[tuple[str, R]]:
        """In order of the keys."""
        return [(key, _decode(table, body)) for key, body in self._bodies(table, prefix)]

    def put(self, table: Table[R], key: str, record: R) -> None:
        """Writing what is there already changes nothing and wakes nobody."""
        body = table.encode(record)
        if body != self._body(table, key):
            self._write(table, key, body)

    def delete(self, table: Table[R], key: str) -> bool:
        """Tells whether it was there."""
        there = self._body(table, key) is not None
        if there:
            self._write(table, key, None)
        return there

    def _body(self, table: Table[R], key: str) -> bytes | None:
        query = "SELECT body FROM records WHERE kind = ? AND key = ?"
        row: tuple[bytes | None] | None = self._connection.execute(query, (table.name, key)).fetchone()
        return None if row is None else row[0]

    def _bodies(self, table: Table[R], prefix: str) -> Iterator[tuple[str, bytes]]:
        # SQLite compares UTF-8 bytes, Python code points: the same order.
        query = "SELECT key, body FROM records WHERE kind = ? AND key >= ? AND body IS NOT NULL ORDER BY key"
        for key, body in self._connection.execute(query, (table.name, prefix)):
            if not key.startswith(prefix):
                return
            yield key, body

    def _write(self, table: Table[R], key: str, body: bytes | None) -> None:
        if not self._version:
            self._version = sqlite_file.advance(self._connection)
        self._connection.execute(
            "INSERT INTO records VALUES (?, ?, ?, ?) "
            "ON CONFLICT DO UPDATE SET version = excluded.version, body = excluded.body",
            (table.name, key, self._version, body),
        )


def _decode(table: Table[R], body: bytes) -> R:
    try:
        return table.decode(body)
    except Unreadable as error:
        raise ApiError("ServiceUnavailable", "A newer version of Atoll wrote what this request would change.") from error
