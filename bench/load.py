"""How fast does a server answer requests that were made beforehand? A client that replays bytes and looks at every status."""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
import time
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

WARM_CONNECTIONS = 8
BODY_CHECK_EVERY = 16  # of the answers with a body, one in so many is compared byte for byte
GRACE_S = 10.0  # for answers that are still on their way when the time is over


@dataclass(frozen=True)
class Prepared:
    """A request as bytes, and the body that its answer must have (None: any)."""

    wire: bytes
    body: bytes | None = None


@dataclass
class Counts:
    """What one run saw. `failed` counts answers that were no 2xx, `wrong` bodies that differed."""

    latencies: array[float] = field(default_factory=lambda: array("d"))
    failed: int = 0
    wrong: int = 0
    compared: int = 0
    seconds: float = 0.0
    first_failure: str = ""

    @property
    def answered(self) -> int:
        return len(self.latencies)

    def ms(self, percentile: float) -> float:
        """Linear rank, in milliseconds."""
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(len(ordered) * percentile / 100))] * 1000


@dataclass(frozen=True)
class Signer:
    """Signs for one server, as the AWS SDK for Python does it over plain http: a literal SHA-256 of every body."""

    port: int
    access_key: str
    secret: str
    region: str

    def request(self, method: str, path: str, body: bytes = b"", response: bytes | None = None) -> Prepared:
        host = f"127.0.0.1:{self.port}"
        asked = AWSRequest(method, f"http://{host}{path}", headers={"User-Agent": "atoll-bench", "Accept-Encoding": "identity"}, data=body)
        S3SigV4Auth(Credentials(self.access_key, self.secret), "s3", self.region).add_auth(asked)
        lines = [f"{method} {path} HTTP/1.1", f"Host: {host}", *(f"{name}: {value}" for name, value in asked.headers.items())]
        if body or method == "PUT":
            lines.append(f"Content-Length: {len(body)}")
        return Prepared(("\r\n".join(lines) + "\r\n\r\n").encode() + body, response)


def bodies(number: int, size: int) -> list[bytes]:
    """Bytes that no server can compress or recognise, the same in every run."""
    rng = random.Random(size)
    return [rng.randbytes(size) for _ in range(number)]


class _Run:
    """What the connections of one run share."""

    def __init__(self, requests: Sequence[Prepared], seconds: float, connections: int) -> None:
        self.requests = requests
        order = random.sample(range(len(requests)), len(requests))
        self.next: Iterator[int] = (order[turn % len(order)] for turn in count())
        self.counts = Counts()
        self.begin = time.perf_counter()
        self.deadline = self.begin + seconds
        self.open = connections
        self.at_end = asyncio.Event()

    def left(self) -> None:
        self.open -= 1
        self.counts.seconds = time.perf_counter() - self.begin
        if not self.open:
            self.at_end.set()


class _Client(asyncio.Protocol):
    """One keep-alive connection: one request at a time, the next as soon as the answer is whole."""

    def __init__(self, run: _Run) -> None:
        self._run = run
        self._received = b""
        self._expected = -1  # bytes of the whole answer, once its head is here
        self._begun = 0.0
        self._asked: Prepared | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport) or hasattr(transport, "write")
        self._transport = transport
        self._send()

    def _send(self) -> None:
        self._asked = self._run.requests[next(self._run.next)]
        self._begun = time.perf_counter()
        self._transport.write(self._asked.wire)  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        received = self._received = self._received + data if self._received else data
        if self._expected < 0:
            end = received.find(b"\r\n\r\n")
            if end < 0:
                return
            self._expected = end + 4 + _length(received[:end])
        if len(received) >= self._expected:
            self._answered(received)

    def _answered(self, received: bytes) -> None:
        now = time.perf_counter()
        counts = self._run.counts
        counts.latencies.append(now - self._begun)
        if received[9:10] != b"2":
            counts.failed += 1
            counts.first_failure = counts.first_failure or received[:400].decode("latin-1")
        elif self._asked is not None and self._asked.body is not None and counts.answered % BODY_CHECK_EVERY == 0:
            counts.compared += 1
            counts.wrong += not received.endswith(b"\r\n\r\n" + self._asked.body)
        self._received, self._expected, self._asked = b"", -1, None
        if now < self._run.deadline:
            self._send()
        else:
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._asked is not None:
            self._run.counts.failed += 1
            self._run.counts.first_failure = self._run.counts.first_failure or f"the connection broke: {exc}"
        self._run.left()


def _length(head: bytes) -> int:
    lowered = head.lower()
    at = lowered.find(b"\r\ncontent-length:")
    if at < 0:
        raise ValueError(f"an answer without Content-Length: {head!r}")
    return int(lowered[at + 17 :].split(b"\r\n", 1)[0])


async def replay(port: int, requests: Sequence[Prepared], *, connections: int, seconds: float) -> Counts:
    """Keep `connections` busy with these requests, each connection in its own order of arrival, for `seconds`."""
    run = _Run(requests, seconds, connections)
    loop = asyncio.get_running_loop()
    for _ in range(connections):
        await loop.create_connection(lambda: _Client(run), "127.0.0.1", port)
    async with asyncio.timeout(seconds + GRACE_S):
        await run.at_end.wait()
    return run.counts


async def once(port: int, requests: Sequence[Prepared]) -> Counts:
    """Each request exactly once, one after the other on one connection; every body is compared."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    counts = Counts()
    begin = time.perf_counter()
    for request in requests:
        sent = time.perf_counter()
        writer.write(request.wire)
        head = await reader.readuntil(b"\r\n\r\n")
        body = await reader.readexactly(_length(head[:-4]))
        counts.latencies.append(time.perf_counter() - sent)
        if head[9:10] != b"2":
            counts.failed += 1
            counts.first_failure = counts.first_failure or (head + body[:400]).decode("latin-1")
        elif request.body is not None:
            counts.compared += 1
            counts.wrong += body != request.body
    counts.seconds = time.perf_counter() - begin
    writer.close()
    await writer.wait_closed()
    return counts


def pin(core: int) -> None:
    """This process on one core, when there is such a core."""
    if core in os.sched_getaffinity(0) or core < (os.cpu_count() or 1):
        os.sched_setaffinity(0, {core})


def fingerprint(content: Sequence[bytes]) -> str:
    return hashlib.sha256(b"".join(content)).hexdigest()[:16]
