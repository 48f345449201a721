"""Serves the state to the other places, and takes the changes that they propose."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import OrderedDict
from pathlib import Path

import msgspec

from atoll.control_store.control_store import ControlStore
from atoll.control_store.file_follower import Follower
from atoll.control_store.transaction_proposal import (
    HOLD_S,
    NODE,
    PROPOSAL_MAX_BYTES,
    STATE_PATH,
    TRANSACTION_PATH,
    Proposal,
    Reply,
    TransactionConflict,
    apply_proposal,
)
from atoll.domain.errors import ApiError
from atoll.domain.http_message import Body, Request, Response

HELD_MAX = 1024  # questions for news that wait at a time; a node asks one
TAKEN_KEPT = 4096  # ids of proposals that were taken, so that one that is sent twice is not made twice

_pack = msgspec.msgpack.Encoder().encode
_proposal = msgspec.msgpack.Decoder(Proposal).decode


class ControlStoreServer:
    """A Handler for `GET /_atoll/state?since=N` (the next news: a Batch, or 204 after HOLD_S) and `POST /_atoll/state/transaction`
    (a Proposal; answered with a Reply).

    It reads the state file on a connection of its own. Whoever asks must be vouched for as a node.
    """

    def __init__(self, state: ControlStore, path: Path) -> None:
        self._state = state
        self._file = Follower(path)
        self._held: set[asyncio.Timeout] = set()
        self._taken: OrderedDict[str, None] = OrderedDict()
        self._leaving = False

    @staticmethod
    def is_for(request: Request) -> bool:
        """Is this a node's question about the state? Nothing that a client sends is."""
        forwarded = request.forwarded
        return forwarded is not None and forwarded.caller == NODE and request.path in (STATE_PATH, TRANSACTION_PATH)

    async def __call__(self, request: Request) -> Response:
        if not self.is_for(request):
            return _text_response(403, "The state is for the nodes of this world.")
        try:
            if request.method == "POST" and request.path == TRANSACTION_PATH:
                return await self._receive_proposal(await request.body.read_small(PROPOSAL_MAX_BYTES))
            return await self._send_changes(request.query)
        except ApiError as error:
            return _text_response(error.status, error.message)
        except sqlite3.Error as error:
            return _text_response(503, f"The state file cannot be read: {error}")

    def leave(self) -> None:
        """Answer everyone who waits, now: this place is about to stop."""
        self._leaving = True
        for hold in self._held:
            hold.reschedule(0.0)

    def close(self) -> None:
        self._file.close()

    async def _send_changes(self, query: str) -> Response:
        name, _, text = query.partition("=")
        if name != "since" or not (text.isascii() and text.isdigit() and len(text) <= 18):
            return _text_response(400, "since=N is missing")
        since = int(text)
        if since > self._state.version:
            return _text_response(409, f"the copy has version {since}, the state is older: {self._state.version}")
        if not await self._wait_for_newer(since):
            return Response(204)
        return _packed(self._file.read(since))

    async def _wait_for_newer(self, since: int) -> bool:
        """Wait a while for a version after `since`."""
        if self._state.version > since:
            return True
        if self._leaving:
            return False
        if len(self._held) >= HELD_MAX:
            raise ApiError("ServiceUnavailable", f"{HELD_MAX} nodes wait for news already.")
        try:
            async with asyncio.timeout(HOLD_S) as hold:
                self._held.add(hold)
                try:
                    await self._state.changed(since)
                finally:
                    self._held.discard(hold)
        except TimeoutError:
            return False
        return True

    async def _receive_proposal(self, document: bytes) -> Response:
        try:
            proposal = _proposal(document)
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            return _text_response(400, f"not a proposal: {error}")
        taken = proposal.id in self._taken or await self._apply_proposal(proposal)
        return _packed(Reply(taken, self._file.read(proposal.seen)))

    async def _apply_proposal(self, proposal: Proposal) -> bool:
        try:
            await self._state.transact(lambda transaction: apply_proposal(proposal, transaction))
        except TransactionConflict:
            return proposal.id in self._taken  # its twin, sent again over another connection, was first
        self._taken[proposal.id] = None
        if len(self._taken) > TAKEN_KEPT:
            self._taken.popitem(last=False)
        return True


def _packed(response: object) -> Response:
    return Response(200, {"content-type": "application/msgpack"}, Body.of(_pack(response)))


def _text_response(status: int, text: str) -> Response:
    return Response(status, {"content-type": "text/plain"}, Body.of(f"{text}\n".encode()))
