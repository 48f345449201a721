"""How does Atoll compare with other S3 servers, in one run, at equal promises? Signed GET and durable PUT of 4 KiB.

    .venv/bin/python bench/peers.py [--json FILE] [--rounds 3] [--seconds 4]

Order A B B A in each round, A drawn anew; before every timed part a second of warm-up. README.md says what the columns mean.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import uvloop
from load import WARM_CONNECTIONS, Prepared, bodies, once, pin, replay
from servers import CONTESTANTS, LOAD_CORE, Server

KEYS, SIZE, CONNECTIONS = 500, 4096, 32
WARM_S = 1.0
SYNC_PUTS = 100  # counted under strace
BUCKET = "/bench"
HERE = Path(__file__).parent
TABLES = {"GET": "get_4k", "PUT": "put_4k"}


@dataclass(frozen=True)
class Sample:
    """One timed block."""

    server: str
    method: str
    per_s: float
    us_cpu: float
    p50_ms: float
    p99_ms: float
    n: int
    failed: int
    wrong: int
    note: str = ""


def requests(server: Server, method: str, content: Sequence[bytes]) -> list[Prepared]:
    """Signed now: they hold for 15 minutes."""
    paths = [f"{BUCKET}/object/{number:05}" for number in range(len(content))]
    if method == "PUT":
        return [server.signer.request("PUT", path, body) for path, body in zip(paths, content, strict=True)]
    return [server.signer.request("GET", path, response=body) for path, body in zip(paths, content, strict=True)]


async def fill(server: Server, content: Sequence[bytes]) -> None:
    """The bucket and its objects; each is read back and compared."""
    made = await once(server.signer.port, [server.signer.request("PUT", BUCKET)])
    written = await once(server.signer.port, requests(server, "PUT", content))
    read = await once(server.signer.port, requests(server, "GET", content))
    for counts in (made, written, read):
        if counts.failed or counts.wrong:
            raise RuntimeError(f"{server.name}: {counts.failed} failed, {counts.wrong} wrong: {counts.first_failure}")


async def sample(server: Server, method: str, content: Sequence[bytes], seconds: float) -> Sample:
    prepared, port = requests(server, method, content), server.signer.port
    await replay(port, prepared, connections=WARM_CONNECTIONS, seconds=WARM_S)
    before = server.cpu_s()
    counts = await replay(port, prepared, connections=CONNECTIONS, seconds=seconds)
    spent = server.cpu_s() - before
    if not counts.answered:
        raise RuntimeError(f"{server.name} answered nothing")
    return Sample(
        server.name, method, counts.answered / counts.seconds, spent / counts.answered * 1e6, counts.ms(50), counts.ms(99),
        counts.answered, counts.failed, counts.wrong, counts.first_failure,
    )  # fmt: skip


def order(names: Sequence[str], rounds: int) -> list[str]:
    """A B B A per round (A B C C B A with three), shuffled anew each round."""
    blocks: list[str] = []
    for _ in range(rounds):
        drawn = random.sample(list(names), len(names))
        blocks += [*drawn, *reversed(drawn)]
    return blocks


async def measure(servers: Mapping[str, Server], rounds: int, seconds: float) -> list[Sample]:
    content = bodies(KEYS, SIZE)
    for server in servers.values():
        await fill(server, content)
    samples = []
    for name in order(list(servers), rounds):
        for method in random.sample(list(TABLES), len(TABLES)):
            taken = await sample(servers[name], method, content, seconds)
            samples.append(taken)
            print(_line(taken), file=sys.stderr, flush=True)
    return samples


def count_syncs(server: Server) -> float | None:
    """fsync and fdatasync calls per PUT of one client, as strace counts them; None without strace."""
    if not shutil.which("strace"):
        return None
    prepared = requests(server, "PUT", bodies(SYNC_PUTS, SIZE))
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "calls")
        attached = [word for pid in server.pids() for word in ("-p", str(pid))]
        command = ["strace", "-f", "-q", "-e", "trace=fsync,fdatasync", "-o", str(report), *attached]
        tracer = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(1.0)
            if tracer.poll() is not None:
                return None
            counts = uvloop.run(once(server.signer.port, prepared))
        finally:
            tracer.terminate()
            tracer.wait()
        if counts.failed:
            raise RuntimeError(f"{server.name}: {counts.first_failure}")
        return len(re.findall(r"(?:fsync|fdatasync)\(", report.read_text())) / SYNC_PUTS


def _line(taken: Sample) -> str:
    return (
        f"{taken.server:10} {taken.method} {taken.per_s:8.0f} req/s {taken.us_cpu:8.1f} us CPU "
        f"p50 {taken.p50_ms:7.2f} ms  p99 {taken.p99_ms:7.2f} ms  failed {taken.failed} wrong {taken.wrong} {taken.note[:300]}"
    )


COLUMNS = (("req/s", "per_s", max), ("us_cpu", "us_cpu", min), ("ms", "p50_ms", min), ("ms", "p99_ms", min))


def cells(samples: Sequence[Sample], servers: Mapping[str, Server]) -> list[dict[str, object]]:
    """One figure each: medians of the blocks, and the best block of req/s and us_cpu."""
    made: list[dict[str, object]] = []
    for method, table in TABLES.items():
        for name, server in servers.items():
            mine = [taken for taken in samples if (taken.server, taken.method) == (name, method)]
            common = {"table": table, "place": "local", "path": name, "n": sum(taken.n for taken in mine), "published": None}
            for unit, attribute, best in COLUMNS:
                values = [getattr(taken, attribute) for taken in mine]
                stat = attribute.removesuffix("_ms") if unit == "ms" else "median"
                made.append({**common, "stat": stat, "value": round(statistics.median(values), 3), "unit": unit})
                if unit != "ms":
                    made.append({**common, "stat": "best", "value": round(best(values), 3), "unit": unit})
            made.append({**common, "stat": "failed", "value": sum(taken.failed + taken.wrong for taken in mine), "unit": "answers"})
            made.append({**common, "stat": "rss", "value": round(server.rss_mib(), 1), "unit": "MiB"})
    return made


def figure(made: Sequence[Mapping[str, object]], table: str, path: str, stat: str, unit: str) -> float:
    return next(
        float(str(cell["value"])) for cell in made if (cell["table"], cell["path"], cell["stat"], cell["unit"]) == (table, path, stat, unit)
    )


def ratios(made: Sequence[Mapping[str, object]], others: Sequence[str]) -> dict[str, float]:
    """How many times better Atoll is: CPU per request and requests per second."""
    found = {}
    for table in TABLES.values():
        for other in others:
            cpu = [figure(made, table, name, "median", "us_cpu") for name in (other, "atoll")]
            speed = [figure(made, table, name, "median", "req/s") for name in ("atoll", other)]
            found[f"{table} cpu {other}"] = round(cpu[0] / cpu[1], 2)
            found[f"{table} req/s {other}"] = round(speed[0] / speed[1], 2)
    return found


def machine() -> dict[str, object]:
    found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return {
        "cpu": found.group(1) if found else platform.machine(), "cores": os.cpu_count(), "kernel": platform.release(),
        "python": platform.python_version(), "load": [round(value, 2) for value in os.getloadavg()],
    }  # fmt: skip


def commit() -> str:
    """The revision that ran, with "+" when files were changed since."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=HERE, capture_output=True, text=True, check=False).stdout.strip()

    return git("rev-parse", "--short", "HEAD") + ("+" if git("status", "--porcelain", "--", "../src") else "")


def table_text(made: Sequence[Mapping[str, object]], servers: Mapping[str, Server], syncs: Mapping[str, float | None]) -> str:
    rows = [f"{'table':8} {'server':12} {'req/s':>8} {'us_cpu':>8} {'p50 ms':>8} {'p99 ms':>8} {'failed':>7}  syncs per PUT at one client"]
    for table in TABLES.values():
        for name in servers:
            numbers = [
                figure(made, table, name, stat, unit)
                for stat, unit in (("median", "req/s"), ("median", "us_cpu"), ("p50", "ms"), ("p99", "ms"), ("failed", "answers"))
            ]
            synced = syncs.get(name) if table == TABLES["PUT"] else ""
            rows.append("{:8} {:12} {:8.0f} {:8.1f} {:8.2f} {:8.2f} {:7.0f}  {}".format(table, name, *numbers, synced))
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", type=Path, help="write the cells here")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4.0, help="of each timed block")
    parser.add_argument("--only", choices=sorted(CONTESTANTS), action="append", help="leave the others out")
    parser.add_argument("--no-history", action="store_true", help="add no line to history.jsonl")
    given = parser.parse_args()
    names = given.only or list(CONTESTANTS)
    pin(LOAD_CORE)
    machine_info = machine()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="atoll-bench-")))
        servers = {name: stack.enter_context(CONTESTANTS[name](folder)) for name in names}
        samples = uvloop.run(measure(servers, given.rounds, given.seconds))
        syncs = {name: count_syncs(server) for name, server in servers.items()}
        made = cells(samples, servers)
    found = ratios(made, [name for name in names if name != "atoll"]) if "atoll" in names else {}
    print(table_text(made, servers, syncs))
    for name, value in found.items():
        print(f"{name:24} {value:6.2f} x")
    _write(given, machine_info, servers, made, {"ratios": found, "syncs_per_put": syncs})


def _write(
    given: argparse.Namespace, machine_info: Mapping[str, object], servers: Mapping[str, Server], made: Sequence[Mapping[str, object]],
    results: Mapping[str, object],
) -> None:  # fmt: skip
    settings = {
        "connections": CONNECTIONS, "keys": KEYS, "bytes": SIZE, "rounds": given.rounds, "seconds": given.seconds,
        "versions": {name: server.version for name, server in servers.items()},
        "durability": {name: server.sync for name, server in servers.items()},
    }  # fmt: skip
    common = {"experiment": "peers", "profile": "native", "machine": machine_info, "commit": commit()}
    if given.json:
        given.json.write_text(json.dumps({**common, "settings": settings, "cells": made, **results}, indent=1) + "\n")
    if not given.no_history:
        stats = {("median", "req/s"): "req/s", ("median", "us_cpu"): "us_cpu", ("p50", "ms"): "p50_ms", ("p99", "ms"): "p99_ms"}
        figures: dict[str, object] = {}
        for cell in made:
            name = stats.get((str(cell["stat"]), str(cell["unit"])))
            if name:
                figures[f"{cell['path']} {cell['table']} {name}"] = cell["value"]
        line = {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), **common, "figures": figures, **results}
        with (HERE / "history.jsonl").open("a") as file:
            file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # whoever ends us ends the servers too
    main()
