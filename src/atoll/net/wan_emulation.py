"""Emulates distance on a stream between two processes of one machine.

May be used to claim latency, round trips, set-up cost, propagation and failover; never throughput, and nothing under loss
(wan.md 1). Each direction is a lane: a queue of chunks with the moment at which each is released.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import cast

from atoll.domain.errors import Upstream
from atoll.domain.quotas import MiB
from atoll.net.connect_request import Tunnel, deliver
from atoll.net.http1_serializer import TransportWriter
from atoll.net.precise_timers import Timers
from atoll.net.tcp_sockets import Dial

QUEUE_SLACK_BYTES = 1 * MiB  # beyond rate × RTT, what a lane holds before it stops reading
UNLIMITED_RATE_BYTES_PER_S = 125_000_000  # the rate by which a lane without a cap is bounded: 1 Gbit/s
MEDIAN = 0.7438  # half the median of the sum of two draws from the upper half of a normal distribution, in standard deviations
_END = b""  # FIN is a chunk like any other


@dataclass(frozen=True, slots=True)
class Link:
    """A path: round-trip time, jitter, rate cap or None, and the start of its randomness.

    `rtt_ms` is what pings find, the median round trip. `jitter_ms` is the standard deviation of a normal distribution of which
    the upper half delays a chunk, one way; the shortest trip is so much shorter that half of all round trips are below `rtt_ms`.
    """

    rtt_ms: float
    jitter_ms: float = 0.0
    rate_bytes_per_s: float | None = None
    seed: int = 0

    @property
    def one_way_s(self) -> float:
        return self.rtt_ms / 2000

    @property
    def shortest_s(self) -> float:
        """One way, without any jitter."""
        return max(0.0, self.one_way_s - MEDIAN * self.jitter_ms / 1000)

    @property
    def rtt_s(self) -> float:
        return self.rtt_ms / 1000

    @property
    def queue_max_bytes(self) -> int:
        rate = UNLIMITED_RATE_BYTES_PER_S if self.rate_bytes_per_s is None else self.rate_bytes_per_s
        return int(rate * self.rtt_s) + QUEUE_SLACK_BYTES


class Schedule:
    """When does what arrives now come out at the other end? Pure: the time is an argument."""

    def __init__(self, link: Link, rng: random.Random) -> None:
        self._link = link
        self._rng = rng
        self._free_at = 0.0
        self._last = 0.0

    def release(self, arrived: float, size_bytes: int) -> float:
        """Never before an earlier chunk: jitter must not reorder a stream."""
        link = self._link
        sent = arrived
        if link.rate_bytes_per_s is not None:
            self._free_at = sent = max(arrived, self._free_at) + size_bytes / link.rate_bytes_per_s
        jitter = abs(self._rng.gauss(0.0, link.jitter_ms / 1000)) if link.jitter_ms else 0.0
        self._last = max(self._last, sent + link.shortest_s + jitter)
        return self._last


class DelayLine:
    """One direction. `put` bytes, `end` or `cut`; they come out later through `out`, while the far side takes them."""

    def __init__(self, link: Link, timers: Timers, rng: random.Random, source: Callable[[bool], None]) -> None:
        self._schedule = Schedule(link, rng)
        self._timers = timers
        self._limit = link.queue_max_bytes
        self._source = source
        self._queue: deque[tuple[float, bytes]] = deque()
        self.size = 0  # bytes under way
        self._reading_paused = False
        self._ringing = False
        self._held = True
        self._out: Callable[[bytes], None] | None = None
        self._cut: Callable[[], None] | None = None
        self._one_way_s = link.one_way_s

    def connect_to(self, out: Callable[[bytes], None], cut: Callable[[], None]) -> None:
        """From now on: `out` takes chunks (empty: the end), `cut` an abort."""
        self._out, self._cut = out, cut
        self.go()

    def put(self, chunk: bytes) -> None:
        self._queue.append((self._schedule.release(time.monotonic(), len(chunk)), chunk))
        self.size += len(chunk)
        if self.size > self._limit and not self._reading_paused:
            self._reading_paused = True
            self._source(False)
        self._arm()

    def end(self) -> None:
        self.put(_END)

    def cut(self) -> None:
        """An abort overtakes nothing that left before it, and arrives one delay later."""
        self._timers.at(time.monotonic() + self._one_way_s, self._cut_now)

    def hold(self) -> None:
        """The far side takes no more for now."""
        self._held = True

    def go(self) -> None:
        self._held = False
        self._arm()

    def _arm(self) -> None:
        if self._queue and not self._ringing and not self._held:
            self._ringing = True
            self._timers.at(self._queue[0][0], self._release, exact=True)

    def _release(self) -> None:
        self._ringing = False
        now, queue = time.monotonic(), self._queue
        while queue and queue[0][0] <= now and not self._held and self._out is not None:
            chunk = queue.popleft()[1]
            self.size -= len(chunk)
            self._out(chunk)
        if self._reading_paused and self.size <= self._limit // 2:
            self._reading_paused = False
            self._source(True)
        self._arm()

    def _cut_now(self) -> None:
        self._queue.clear()
        if self._cut is not None:
            self._cut()


class DelayedEnd(asyncio.Protocol):
    """A real socket at one end of the path: what it hears goes `away`, what comes `back` it says."""

    def __init__(self) -> None:
        self._writer: TransportWriter | None = None
        self._end_received = self._end_sent = False
        self.closes = False  # the end of what comes back is the end of all: nobody listens any more
        self.gone = asyncio.Event()

    def join(self, *, away: DelayLine, back: DelayLine) -> None:
        self._away, self._back = away, back

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._writer = TransportWriter(self._transport)

    def data_received(self, data: bytes) -> None:
        self._away.put(data)

    def eof_received(self) -> bool:
        self._end_received = True
        self._away.end()
        self._close_if_done()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        if self._writer is not None:
            self._writer.lose()
        if not self._end_received or exc is not None:
            self._away.cut()
        self.gone.set()

    def pause_writing(self) -> None:
        self._back.hold()

    def resume_writing(self) -> None:
        self._back.go()

    def reading(self, go: bool) -> None:
        if self._alive:
            (self._transport.resume_reading if go else self._transport.pause_reading)()

    def say(self, chunk: bytes) -> None:
        if not self._alive:
            return
        if chunk:
            self._transport.write(chunk)
            return
        self._end_sent = True
        if self.closes:
            self._transport.close()
        elif self._writer is not None:
            self._writer.end()
        self._close_if_done()

    def cut(self) -> None:
        if self._writer is not None:
            self._writer.break_off()

    def info(self, name: str, default: object) -> object:
        return default if self._writer is None else self._transport.get_extra_info(name, default)

    @property
    def _alive(self) -> bool:
        return self._writer is not None and not self._writer.lost and not self._transport.is_closing()

    def _close_if_done(self) -> None:
        if self._end_received and self._end_sent:
            self._transport.close()


class Delayed(asyncio.Transport):
    """A transport whose both directions are delayed: what a caller holds when the origin is far away."""

    def __init__(self, protocol: asyncio.BaseProtocol, link: Link, timers: Timers) -> None:
        super().__init__()
        self._protocol = protocol
        self.far = DelayedEnd()
        rng = random.Random(link.seed)
        self._up = DelayLine(link, timers, rng, self._may_write)
        self._down = DelayLine(link, timers, rng, self.far.reading)
        self.far.join(away=self._down, back=self._up)
        self._closing = self._lost = False
        self._reading = True

    def connected(self) -> None:
        self._up.connect_to(self.far.say, self.far.cut)
        self._protocol.connection_made(self)
        self._down.connect_to(self._deliver, lambda: self._on_lost(ConnectionResetError("The far side broke the connection.")))

    def _deliver(self, chunk: bytes) -> None:
        if self._closing:
            return
        if chunk:
            deliver(self._protocol, chunk)
        elif not cast("asyncio.Protocol", self._protocol).eof_received():
            self.close()

    def _on_lost(self, error: Exception | None) -> None:
        if not self._lost:
            self._lost = self._closing = True
            asyncio.get_running_loop().call_soon(self._protocol.connection_lost, error)

    def _may_write(self, go: bool) -> None:
        if not self._lost:
            (self._protocol.resume_writing if go else self._protocol.pause_writing)()

    # ---- what a protocol may ask of its transport

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self._closing and data:
            self._up.put(bytes(data))

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        self.write(b"".join(list_of_data))

    def write_eof(self) -> None:
        self._up.end()

    def can_write_eof(self) -> bool:
        return True

    def close(self) -> None:
        if not self._closing:
            self._closing = self.far.closes = True
            self._up.end()
            self._on_lost(None)

    def abort(self) -> None:
        if not self._lost:
            self._closing = True
            self._up.cut()
            self._on_lost(None)

    def _force_close(self, error: Exception | None) -> None:
        """What asyncio's SSLProtocol calls when TLS fails."""
        self.abort()

    def is_closing(self) -> bool:
        return self._closing

    def pause_reading(self) -> None:
        self._reading = False
        self._down.hold()

    def resume_reading(self) -> None:
        self._reading = True
        self._down.go()

    def is_reading(self) -> bool:
        return self._reading and not self._closing

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self._protocol

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """The lane's own bound rules: rate × RTT and a little."""

    def get_write_buffer_size(self) -> int:
        return self._up.size

    def get_extra_info(self, name: str, default: object = None) -> object:
        return self.far.info(name, default)


def dial_over(dial: Dial, link: Link, timers: Timers) -> Dial:
    """A call across the link: usable one round trip after it was begun, and both directions delayed from there on."""

    async def call(protocol: asyncio.BaseProtocol) -> None:
        begun = time.monotonic()
        await timers.sleep_until(begun + link.one_way_s, exact=True)
        way = Delayed(protocol, link, timers)
        await dial(way.far)
        await timers.sleep_until(begun + link.rtt_s, exact=True)
        way.connected()

    return call


async def pipe(tunnel: Tunnel, dial: Dial, link: Link, timers: Timers) -> bool:
    """Lead a client's CONNECT across the link: 200 one round trip after it was read, the onward socket opened then.

    Nothing else is held: TLS 1.3 and a request are then three round trips (wan.md 2). Returns when both ends are gone; False
    when the far side could not be reached, which the client was told.
    """
    await timers.sleep_until(time.monotonic() + link.rtt_s, exact=True)
    near, far, rng = DelayedEnd(), DelayedEnd(), random.Random(link.seed)
    up = DelayLine(link, timers, rng, near.reading)
    down = DelayLine(link, timers, rng, far.reading)
    near.join(away=up, back=down)
    far.join(away=down, back=up)
    try:
        await dial(far)
    except Upstream as error:
        tunnel.refuse(502, str(error))
        return False
    try:
        tunnel.accept()
        tunnel.take(near)
        up.connect_to(far.say, far.cut)
        down.connect_to(near.say, near.cut)
        await near.gone.wait()
        await far.gone.wait()
    finally:
        near.cut()
        far.cut()
    return True
