"""An entry and a region in one process, joined by memory: every byte arrives exactly when and how a test says."""

import asyncio
from collections import deque
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from atoll.aws_protocols.codec import codec
from atoll.gateway.authenticate import Authenticate
from atoll.gateway.entry_router import EntryRouter
from atoll.gateway.metrics import Metrics
from atoll.gateway.peer_requests import EnvelopeVerifier, Peer
from atoll.gateway.request_log import RequestIds, RequestLog
from atoll.net import tcp_sockets
from atoll.net.http1_pool import Pool
from atoll.net.http1_server import Http1Server
from atoll.rules.region_selection import Candidate, RegionSelector
from atoll.rules.signature_verification import KeyCache
from gateway.pipeline_setup import PLAIN, REGION, protection
from gateway.pipeline_setup import region as running_region
from s3world import ACCOUNT

ALIAS = "mabc.mrap"
POINT_ARN = f"arn:aws:s3::{ACCOUNT}:accesspoint/{ALIAS}"
BUCKET = "bkt"
TURNS_MAX = 2000  # of the loop; an answer that has not come by then does not come
KEY = b"k" * 32


def apart(writes):
    """Each write arrives by itself."""
    return list(writes)


def run_together(writes):
    """All that was written meanwhile arrives in one read."""
    return [b"".join(writes)]


def bytewise(writes):
    return [bytes((byte,)) for byte in b"".join(writes)]


class Memory(asyncio.Transport):
    """One direction of a connection: what is written is delivered to `far` after `patience` turns of the loop, cut by `cut`."""

    def __init__(self, cut=apart, patience=1):
        super().__init__({"peername": ("192.0.2.9", 4711)})
        self.far, self.received, self.closed = None, [], False
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
        self.received += writes
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
class Mrap:
    alias: str = ALIAS
    account: str = ACCOUNT
    serving: bool = True
    members: dict = field(default_factory=lambda: {REGION: BUCKET})
    traffic_dials: dict = field(default_factory=lambda: {REGION: 100})


class Paths:
    """What a place measured: its one region is well."""

    region_selector = RegionSelector()

    def healthy(self, region):
        return True

    def lost(self, region):
        raise AssertionError("the region answers")

    def candidates(self, point):
        return [Candidate(REGION, BUCKET, active=True, healthy=True, rtt_ms=1.0)]

    def choose(self, alias, candidates):
        return self.region_selector.choose(alias, candidates)


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
        envelope_verifier = EnvelopeVerifier(given.gateway, key=KEY, clock=clock, refused=self.refused.append)
        self.region = Http1Server(envelope_verifier, clock=clock, on_bug=self._bug)
        self.pool = Pool(self._dial, "region", clock=clock)
        self.entry = Http1Server(self._entry_router(Peer(self.pool, key=KEY, clock=clock)), clock=clock, on_bug=self._bug)

    def _bug(self, request, bug):
        self.bugs.append(bug)

    async def _dial(self, protocol):
        if self.over_sockets is not None:
            await self.over_sockets(protocol)
        else:
            joined(protocol, self.region.protocol(), *self.link)

    async def listen(self):
        """Real sockets instead of memory; the entry's port."""
        doors = [tcp_sockets.bound("127.0.0.1"), tcp_sockets.bound("127.0.0.1")]
        for server, door in zip((self.region, self.entry), doors, strict=True):
            await server.listen([door])
        region, entry = map(tcp_sockets.port_of, doors)
        self.over_sockets = tcp_sockets.dial("127.0.0.1", region)
        return entry

    def _entry_router(self, peer):
        return EntryRouter(
            place="tokyo", nearest=(REGION,), home=REGION, peers={REGION: peer}, mraps={ALIAS: Mrap()}.get, bucket_region={BUCKET: REGION}.get,
            routing=Paths(), authenticate=Authenticate(self.gate.identities, KeyCache()), codec=codec("s3"), clock=self.gate.clock,
            ids=RequestIds(), request_log=RequestLog(None, "entry"), metrics=Metrics("entry"),
        )  # fmt: skip

    def client(self, server):
        return Client(server)


class Client:
    """A connection of a client: `say` pieces, each in a read of its own; `received` is all that was answered so far."""

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
    def received(self):
        return b"".join(self.transport.received)

    async def response(self):
        """Status and all bytes of the next answer; also a 100. Fails when none comes."""
        for _ in range(TURNS_MAX):
            head, end, rest = self.received.partition(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
            if end and len(rest) >= length:
                self.transport.received = [rest[length:]]
                return int(head[9:12]), head.decode(), rest[:length].decode()
            await asyncio.sleep(0)
        raise AssertionError(f"no answer; heard {self.received!r}")

    async def settle(self, turns=60):
        for _ in range(turns):
            await asyncio.sleep(0)


@asynccontextmanager
async def ends(folder):
    async with running_region(folder) as given:
        given.policies.mraps[POINT_ARN] = protection()
        assert (await given.ask("PUT", f"/{BUCKET}")).status == 200
        made = Ends(given)
        async with made.region, made.entry:
            yield made
            assert made.bugs == []
        await made.pool.close()


__all__ = ["ALIAS", "BUCKET", "PLAIN", "Client", "Ends", "apart", "bytewise", "ends", "run_together"]
