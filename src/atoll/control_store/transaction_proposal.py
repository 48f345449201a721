"""A transaction that is run elsewhere: what it read, and what it writes.

A node that does not hold the state rehearses a change on its copy. What it read goes along as marks of the contents, whole
ranges too, so that the holder of the state takes the writes only if all of it still reads the same there: the change then
is what it would have been had it run there. Contents, not versions, are compared: if what was read has come back to what it
was, the change is still right.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from atoll.control_store.record_table import Table
from atoll.control_store.snapshot import Batch
from atoll.control_store.transaction import Transaction
from atoll.domain.caller import Caller

R = TypeVar("R", bound=msgspec.Struct)

STATE_PATH = "/_atoll/state"
TRANSACTION_PATH = "/_atoll/state/change"
# Who asks in the name of a node itself. An entry never vouches for this caller, whatever a client sends.
NODE = Caller("service", service="state.atoll")
PROPOSAL_MAX_BYTES = 16 * 1024 * 1024  # one control operation's reads and writes; the largest documents of S3 are 2 MB
HOLD_S = 20.0  # a question for news is answered after so long at the latest, with no news


class KeyRead(msgspec.Struct, frozen=True, array_like=True):
    """One record that was looked at."""

    kind: str
    key: str
    fingerprint: bytes


class PrefixRead(msgspec.Struct, frozen=True, array_like=True):
    """All records of a kind whose keys begin with `prefix`, looked at together."""

    kind: str
    prefix: str
    fingerprint: bytes


class Write(msgspec.Struct, frozen=True, array_like=True):
    """`body` None: the record is deleted."""

    kind: str
    key: str
    body: bytes | None


class Proposal(msgspec.Struct, frozen=True, rename={"prefix_reads": "spans"}):
    """A change to be made if all of `reads` and `prefix_reads` still hold. `id` is remembered, so that it is made once; `seen` is
    the version of the copy, and the reply says what is newer."""

    id: str
    seen: int
    reads: list[KeyRead]
    prefix_reads: list[PrefixRead]
    writes: list[Write]


class Reply(msgspec.Struct, frozen=True):
    """`taken` False: something that was read has changed meanwhile; `news` has it."""

    taken: bool
    news: Batch


class Raw(msgspec.Struct, frozen=True):
    """A record whose meaning is nobody's business here."""

    body: bytes


@dataclass(frozen=True, slots=True)
class RawTable(Table[Raw]):
    """A table as it lies in the file."""

    def encode(self, record: Raw) -> bytes:
        return record.body

    def decode(self, body: bytes) -> Raw:
        return Raw(body)


def raw(kind: str) -> RawTable:
    return RawTable(kind, Raw)


def fingerprint(body: bytes | None) -> bytes:
    """Of one record. Nothing has the empty mark, which no digest is."""
    return b"" if body is None else hashlib.sha256(body).digest()


def fingerprint_all(rows: Iterable[tuple[str, bytes]]) -> bytes:
    """Of a range, in order of its keys."""
    digest = hashlib.sha256()
    for key, body in rows:
        name = key.encode()
        digest.update(b"%d %d " % (len(name), len(body)) + name + body)
    return digest.digest()


class RecordingTransaction(Transaction):
    """A Change that writes nowhere: it notes what it read in the copy, and what it would write."""

    __slots__ = ("_prefix_reads", "_reads", "_writes")

    def __init__(self, copy: sqlite3.Connection) -> None:
        super().__init__(copy)
        self._reads: dict[tuple[str, str], bytes] = {}
        self._prefix_reads: dict[tuple[str, str], bytes] = {}
        self._writes: dict[tuple[str, str], bytes | None] = {}

    def proposal(self, name: str, seen: int) -> Proposal:
        return Proposal(
            name,
            seen,
            [KeyRead(kind, key, found) for (kind, key), found in self._reads.items()],
            [PrefixRead(kind, prefix, found) for (kind, prefix), found in self._prefix_reads.items()],
            [Write(kind, key, body) for (kind, key), body in self._writes.items()],
        )

    def _body(self, table: Table[R], key: str) -> bytes | None:
        place = (table.name, key)
        if place in self._writes:
            return self._writes[place]
        body = super()._body(table, key)
        self._reads[place] = fingerprint(body)
        return body

    def _bodies(self, table: Table[R], prefix: str) -> Iterator[tuple[str, bytes]]:
        there = dict(super()._bodies(table, prefix))
        self._prefix_reads[table.name, prefix] = fingerprint_all(there.items())
        for (kind, key), body in self._writes.items():
            if kind == table.name and key.startswith(prefix):
                if body is None:
                    there.pop(key, None)
                else:
                    there[key] = body
        return iter(sorted(there.items()))

    def _write(self, table: Table[R], key: str, body: bytes | None) -> None:
        self._writes[table.name, key] = body


class TransactionConflict(Exception):
    """What a proposal rests on is no longer so."""


def apply_proposal(proposal: Proposal, transaction: Transaction) -> None:
    """Where the state is, inside a transaction. Raises Conflict."""
    for read in proposal.reads:
        found = transaction.get(raw(read.kind), read.key)
        if fingerprint(found.body if found else None) != read.fingerprint:
            raise TransactionConflict(f"{read.kind} {read.key}")
    for prefix_read in proposal.prefix_reads:
        rows = transaction.items(raw(prefix_read.kind), prefix_read.prefix)
        if fingerprint_all((key, record.body) for key, record in rows) != prefix_read.fingerprint:
            raise TransactionConflict(f"{prefix_read.kind} {prefix_read.prefix}*")
    for write in proposal.writes:
        if write.body is None:
            transaction.delete(raw(write.kind), write.key)
        else:
            transaction.put(raw(write.kind), write.key, Raw(write.body))
