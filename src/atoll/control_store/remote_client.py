"""The control store of a place whose state another place holds: a copy to read, changes proposed there.

The copy lies in a file and in memory, so this node serves while the place that holds the state is away, and after a restart
too (static stability). Changes answer 503 then.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from atoll.control_store import sqlite_file
from atoll.control_store.control_store import TRANSACTIONS_WAITING_MAX, ControlStore
from atoll.control_store.snapshot import Batch, Row
from atoll.control_store.transaction import Transaction
from atoll.control_store.transaction_proposal import (
    HOLD_S,
    NODE,
    STATE_PATH,
    TRANSACTION_PATH,
    Proposal,
    RecordingTransaction,
    Reply,
)
from atoll.domain.caller import ForwardedContext
from atoll.domain.errors import ApiError, Upstream
from atoll.domain.http_message import EMPTY, Body, Request, Response
from atoll.domain.interfaces import Handler
from atoll.domain.os_error_messages import in_words
from atoll.domain.quotas import MiB

T = TypeVar("T")

TRIES_MAX = 16  # rehearsals of one change, when others keep changing what it reads
YIELD_S = 0.005  # at most, times the tries so far: how long a change that came second lets the others go first
TRANSACTION_S = 10.0  # until a proposal that is not answered is given up
SLACK_S = 10.0  # beyond HOLD_S, before a question for news is asked again
RETRY_S = 0.5  # between questions while the state place is away
NEWS_MAX_BYTES = 512 * MiB  # a whole copy

_pack = msgspec.msgpack.Encoder().encode
_batch = msgspec.msgpack.Decoder(Batch).decode
_reply = msgspec.msgpack.Decoder(Reply).decode


class RemoteControlStore(ControlStore):
    """A State whose changes are made where `ask` leads. `place` is who asks. Reads are those of State."""

    def __init__(self, path: Path, ask: Handler, *, place: str) -> None:
        """Raises Unreadable for a file of a newer Atoll, sqlite3.Error or OSError when there is no using it."""
        sqlite_file.create(path)
        copy = sqlite_file.connect(path)
        super().__init__(path, copy, None)
        self._ask = ask
        self._place = place
        self._trouble = ""
        kept = sqlite_file.since(copy, 0)
        self._kept = kept.upto  # the version of the file; what memory knows may be newer for a moment
        self._apply(kept)

    @property
    def last_error(self) -> str:
        """Why the last question for news failed; "" when all is well."""
        return self._trouble

    async def follow(self) -> None:
        """Bring in what is changed where the state is, for as long as this runs."""
        while True:
            await self._try_to_catch_up()

    async def joined(self, within_s: float) -> bool:
        """Tells whether there is a copy at all: from before, or fetched within that time."""
        try:
            async with asyncio.timeout(within_s):
                while self.version == 0:
                    await self._try_to_catch_up()
        except TimeoutError:
            return False
        return True

    async def transact(self, fn: Callable[[Transaction], T]) -> T:
        """As State.change. `fn` may run more than once: again on newer records, when those that it read have changed.

        What `fn` refuses it refuses by this node's copy. When the answer to a change is lost, that change may have been made:
        the 503 then says only that it is not known.
        """
        if self._waiting >= TRANSACTIONS_WAITING_MAX:
            raise ApiError("ServiceUnavailable", "Too many changes are waiting for the control state.")
        self._waiting += 1
        try:
            for tried in range(TRIES_MAX):
                result, proposal = await self._in_thread(lambda: self._run_on_copy(fn))
                if await self._submit(proposal):
                    return result
                await asyncio.sleep(random.random() * YIELD_S * tried)
        finally:
            self._waiting -= 1
        raise ApiError("ServiceUnavailable", "Others keep changing what this change rests on. Try again.")

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _run_on_copy(self, fn: Callable[[Transaction], T]) -> tuple[T, Proposal]:
        """In the thread that writes the copy, so that no news come in between."""
        recording = RecordingTransaction(self._writer)
        try:
            self._writer.execute("BEGIN")
            try:
                result = fn(recording)
            finally:
                self._writer.rollback()
        except sqlite3.Error as error:
            raise ApiError("ServiceUnavailable", "This node's copy of the control state cannot be read.") from error
        return result, recording.proposal(uuid.uuid4().hex, self._kept)

    async def _submit(self, proposal: Proposal) -> bool:
        try:
            async with asyncio.timeout(TRANSACTION_S):
                response = await self._ask_store("POST", TRANSACTION_PATH, Body.of(_pack(proposal)))
                reply = _reply(await _document(response))
        except (Upstream, TimeoutError, msgspec.MsgspecError) as error:
            raise ApiError("ServiceUnavailable", "The place that holds the control state does not answer. Try again.") from error
        try:
            await self._apply_batch(reply.news)
        except sqlite3.Error as error:  # taken is taken; `follow` brings the file up to date once its disk allows
            self._trouble = str(error)
        return reply.taken

    async def _try_to_catch_up(self) -> None:
        try:
            await self._catch_up()
            self._trouble = ""
        except (Upstream, TimeoutError, ApiError, msgspec.MsgspecError, sqlite3.Error, OSError) as error:
            words = in_words(error) if isinstance(error, OSError) else str(error)
            self._trouble = words or "the place that holds the state does not answer"
            await asyncio.sleep(RETRY_S)

    async def _catch_up(self) -> None:
        async with asyncio.timeout(HOLD_S + SLACK_S):
            response = await self._ask_store("GET", f"{STATE_PATH}?since={self._kept}", EMPTY)
            if response.status == 204:
                return
            news = _batch(await _document(response))
        await self._apply_batch(news)

    async def _ask_store(self, method: str, target: str, body: Body) -> Response:
        forwarded = ForwardedContext("", secure=True, place=self._place, caller=NODE)
        return await self._ask(Request(method, target, {"host": "127.0.0.1"}, body, forwarded=forwarded))

    async def _apply_batch(self, news: Batch) -> None:
        """First for who reads now, then for the next start."""
        self._apply(news)
        await self._in_thread(lambda: self._keep(news))

    def _keep(self, news: Batch) -> None:
        if news.upto <= self._kept:
            return
        self._writer.execute("BEGIN IMMEDIATE")
        try:
            _replay(self._writer, news)
            self._writer.execute("COMMIT")
        except BaseException:
            self._writer.rollback()
            raise
        self._kept = news.upto


def _replay(copy: sqlite3.Connection, news: Batch) -> None:
    """Bring a file to the version of the news. A copy tells nobody what was deleted, so it keeps no tombstones."""
    if news.whole:
        copy.execute("DELETE FROM records")
    copy.executemany("DELETE FROM records WHERE kind = ? AND key = ?", _deleted_keys(news.rows))
    copy.executemany("INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?)", [row for row in news.rows if row.body is not None])
    copy.execute("UPDATE head SET version = ?, trimmed = ?", (news.upto, news.upto))


def _deleted_keys(rows: Sequence[Row]) -> list[tuple[str, str]]:
    return [(row.kind, row.key) for row in rows if row.body is None]


async def _document(response: Response) -> bytes:
    """Raises ApiError when the answer is a refusal."""
    document = await response.body.read_small(NEWS_MAX_BYTES)
    if response.status != 200:
        message = document.decode("utf-8", "replace").strip()
        raise ApiError("ServiceUnavailable", f"The place that holds the control state refused: {message}")
    return document
