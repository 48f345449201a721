"""An entry and a region in one process, joined by memory: every byte arrives exactly when and how a test says."""

import asyncio
from collections import deque
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from atoll.gateway.authenticate import Authenticate
from atoll.gateway.front import Front
from atoll.gateway.metrics import Metrics
from atoll.gateway.peer import Believing, Peer
from atoll.gateway.record import Recorder, RequestIds
from atoll.net import tcp
from atoll.net.client import Pool
from atoll.net.http1 import Http1Server
from atoll.rules.routing import Candidate, Chooser
from atoll.rules.signature import KeyCache
from atoll.wire.codec import codec
from gateway.gate import PLAIN, REGION, gate, guard
from s3world import ACCOUNT

ALIAS = "mabc.mrap"
POINT_ARN = f"arn:aws:s3::{ACCOUNT}:accesspoint/{ALIAS}"
BUCKET = "bkt"
TURNS_MAX = 2000  # of the loop; an answer that has not come by then does not come
KEY = b"k" * 32


def apart(writes):
    """Each write arrives by itself."""
    return list(writes)


def together(writes):
    """All that was written meanwhile arrives in one read."""
    return [b"".join(writes)]


def bytewise(writes):
    return [bytes((byte,)) for byte in b"".join(writes)]


class Memory(asyncio.Transport):
    """One direction of a connection: what is written is delivered to `far` after `patience` turns of the loop, cut by `cut`."""

    def __init__(self, cut=apart, patience=1):
        super().__init__({"peername": ("192.0.2.9", 4711)})
        self.far, self.heard, self.closed = None, [], False
        self._cut, self._patience = cut, patience
        self._pending, self._paused, self._reader = deque(), False, None

    # What a protocol asks of its transport

    def write(self, data):
        if not self._pending:
            self._later(self._patience)
        self._pending.append(bytes(data))

    def _later(self, turns):
        asyncio.get_running_loop().call_soon(self._later, turns - 1) if turns else self._deliver()

    def _deliver(self):
        writes, self._pending = list(self._pending), deque()
        self.heard += writes
        for piece in self._cut(writes):
            if self.far is not None:
                self.far.data_received(piece)

    def is_closing(self):
        return self.closed

    def can_write_eof(self):
        return False

    def set_write_buffer_limits(self, high=None, low=None):
        pass

    def pause_reading(self):
        raise AssertionError("these bodies are small")

    def resume_reading(self):
        pass

    def close(self):
        if not self.closed:
            self.closed = True
            asyncio.get_running_loop().call_soon(self._hang_up)

    abort = close

    def _hang_up(self):
        if self._pending:
            self._deliver()
        for side in (self.near, self.far):
            if side is not None:
                side.connection_lost(None)


def joined(near, far, cut, patience):
    """Two protocols with memory between them."""
    there, back = Memory(cut, patience), Memory()
    there.near, there.far, back.near, back.far = near, far, far, near
    near.connection_made(there)
    far.connection_made(back)


@dataclass(frozen=True)
class Point:
    alias: str = ALIAS
    account: str = ACCOUNT
    serving: bool = True
    members: dict = field(default_factory=lambda: {REGION: BUCKET})
    dials: dict = field(default_factory=lambda: {REGION: 100})


class Paths:
    """What a place measured: its one region is well."""

    chooser = Chooser()

    def healthy(self, region):
        return True

    def lost(self, region):
        raise AssertionError("the region answers")

    def candidates(self, point):
        return [Candidate(REGION, BUCKET, active=True, healthy=True, rtt_ms=1.0)]

    def choose(self, alias, candidates):
        return self.chooser.choose(alias, candidates)


class Still:
    """The servers' clock: their patience never ends."""

    def __init__(self, now):
        self.now = self.monotonic = now

    async def sleep(self, seconds):
        await asyncio.get_running_loop().create_future()


class Ends:
    """`entry` and `region` are servers; `link` says how bytes travel between them. `refused` are envelopes that were not taken."""

    def __init__(self, given):
        self.gate, self.refused, self.bugs = given, [], []
        self.link = (apart, 1)
        self.over_sockets = None
        clock = Still(given.clock.now)
        believing = Believing(given.gateway, key=KEY, clock=clock, refused=self.refused.append)
        self.region = Http1Server(believing, clock=clock, on_bug=self._bug)
        self.pool = Pool(self._dial, "region", clock=clock)
        self.entry = Http1Server(self._front(Peer(self.pool, key=KEY, clock=clock)), clock=clock, on_bug=self._bug)

    def _bug(self, request, bug):
        self.bugs.append(bug)

    async def _dial(self, protocol):
        if self.over_sockets is not None:
            await self.over_sockets(protocol)
        else:
            joined(protocol, self.region.protocol(), *self.link)

    async def listen(self):
        """Real sockets instead of memory; the entry's port."""
        doors = [tcp.bound("127.0.0.1"), tcp.bound("127.0.0.1")]
        for server, door in zip((self.region, self.entry), doors, strict=True):
            await server.listen([door])
        region, entry = map(tcp.port_of, doors)
        self.over_sockets = tcp.dial("127.0.0.1", region)
        return entry

    def _front(self, peer):
        return Front(
            place="tokyo", nearest=(REGION,), home=REGION, peers={REGION: peer}, points={ALIAS: Point()}.get, bucket_region={BUCKET: REGION}.get,
            routing=Paths(), authenticate=Authenticate(self.gate.identities, KeyCache()), codec=codec("s3"), clock=self.gate.clock,
            ids=RequestIds(), record=Recorder(None, "entry"), metrics=Metrics("entry"),
        )  # fmt: skip

    def client(self, server):
        return Client(server)


class Client:
    """A connection of a client: `say` pieces, each in a read of its own; `heard` is all that was answered so far."""

    def __init__(self, server):
        self.transport = Memory()
        self.transport.near, self.protocol = server.protocol(), None
        self.protocol = self.transport.near
        self.protocol.connection_made(self.transport)

    async def say(self, *pieces, turns=3):
        for piece in pieces:
            self.protocol.data_received(piece)
            for _ in range(turns):
                await asyncio.sleep(0)

    @property
    def heard(self):
        return b"".join(self.transport.heard)

    async def answer(self):
        """Status and all bytes of the next answer; also a 100. Fails when none comes."""
        for _ in range(TURNS_MAX):
            head, end, rest = self.heard.partition(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
            if end and len(rest) >= length:
                self.transport.heard = [rest[length:]]
                return int(head[9:12]), head.decode(), rest[:length].decode()
            await asyncio.sleep(0)
        raise AssertionError(f"no answer; heard {self.heard!r}")

    async def settle(self, turns=60):
        for _ in range(turns):
            await asyncio.sleep(0)


@asynccontextmanager
async def ends(folder):
    async with gate(folder) as given:
        given.laws.points[POINT_ARN] = guard()
        assert (await given.ask("PUT", f"/{BUCKET}")).status == 200
        made = Ends(given)
        async with made.region, made.entry:
            yield made
            assert made.bugs == []
        await made.pool.close()


__all__ = ["ALIAS", "BUCKET", "PLAIN", "Client", "Ends", "apart", "bytewise", "ends", "together"]
