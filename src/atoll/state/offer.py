"""What does the place that holds the state tell the other nodes, and what does it take from them?"""

from __future__ import annotations

import asyncio
import sqlite3
from collections import OrderedDict
from pathlib import Path

import msgspec

from atoll.domain.errors import ApiError
from atoll.domain.message import Body, Request, Response
from atoll.state.follow import Follower
from atoll.state.proposal import CHANGE_PATH, HOLD_S, NODE, PROPOSAL_MAX_BYTES, STATE_PATH, Conflict, Proposal, Reply, perform
from atoll.state.store import State

HELD_MAX = 1024  # questions for news that wait at a time; a node asks one
TAKEN_KEPT = 4096  # ids of proposals that were taken, so that one that is sent twice is not made twice

_pack = msgspec.msgpack.Encoder().encode
_proposal = msgspec.msgpack.Decoder(Proposal).decode


class Offer:
    """A Handler for `GET /_atoll/state?since=N` (the next news: a Batch, or 204 after HOLD_S) and `POST /_atoll/state/change`
    (a Proposal; answered with a Reply).

    It reads the state file on a connection of its own. Whoever asks must be vouched for as a node.
    """

    def __init__(self, state: State, path: Path) -> None:
        self._state = state
        self._file = Follower(path)
        self._held: set[asyncio.Timeout] = set()
        self._taken: OrderedDict[str, None] = OrderedDict()
        self._leaving = False

    @staticmethod
    def is_for(request: Request) -> bool:
        """Is this a node's question about the state? Nothing that a client sends is."""
        onward = request.onward
        return onward is not None and onward.caller == NODE and request.path in (STATE_PATH, CHANGE_PATH)

    async def __call__(self, request: Request) -> Response:
        if not self.is_for(request):
            return _said(403, "The state is for the nodes of this world.")
        try:
            if request.method == "POST" and request.path == CHANGE_PATH:
                return await self._take(await request.body.read_small(PROPOSAL_MAX_BYTES))
            return await self._tell(request.query)
        except ApiError as error:
            return _said(error.status, error.message)
        except sqlite3.Error as error:
            return _said(503, f"The state file cannot be read: {error}")

    def leave(self) -> None:
        """Answer everyone who waits, now: this place is about to stop."""
        self._leaving = True
        for hold in self._held:
            hold.reschedule(0.0)

    def close(self) -> None:
        self._file.close()

    async def _tell(self, query: str) -> Response:
        name, _, text = query.partition("=")
        if name != "since" or not (text.isascii() and text.isdigit() and len(text) <= 18):
            return _said(400, "since=N is missing")
        since = int(text)
        if since > self._state.version:
            return _said(409, f"the copy has version {since}, the state is older: {self._state.version}")
        if not await self._newer(since):
            return Response(204)
        return _packed(self._file.read(since))

    async def _newer(self, since: int) -> bool:
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

    async def _take(self, document: bytes) -> Response:
        try:
            proposal = _proposal(document)
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            return _said(400, f"not a proposal: {error}")
        taken = proposal.id in self._taken or await self._made(proposal)
        return _packed(Reply(taken, self._file.read(proposal.seen)))

    async def _made(self, proposal: Proposal) -> bool:
        try:
            await self._state.change(lambda change: perform(proposal, change))
        except Conflict:
            return proposal.id in self._taken  # its twin, sent again over another connection, was first
        self._taken[proposal.id] = None
        if len(self._taken) > TAKEN_KEPT:
            self._taken.popitem(last=False)
        return True


def _packed(answer: object) -> Response:
    return Response(200, {"content-type": "application/msgpack"}, Body.of(_pack(answer)))


def _said(status: int, text: str) -> Response:
    return Response(status, {"content-type": "text/plain"}, Body.of(f"{text}\n".encode()))
