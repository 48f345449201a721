"""Who competes, how is each started with equal promises, and what does it cost? Everything is stopped by its own pid."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from load import Signer

SERVER_CORE, LOAD_CORE = 0, 1
READY_S = 60.0
WEED_SETTLE_S = 8.0  # peers.md 2.1: volumes grow for so long after the port answers
WEED_FIRST_PORT = 19410
GRPC_OFFSET = 10_000  # weed opens every port a second time, so much higher
REGION = "us-east-1"
BIN = Path(sys.executable).parent

WORLD = f"""
profile = "native"
[places.{REGION}]
kind = "region"
at = [38.9, -77.4]
"""


@dataclass(frozen=True)
class Server:
    """One contestant, answering. `pids` are all its processes, `worker` the one that serves the requests."""

    name: str
    version: str
    signer: Signer
    worker: int
    pids: Callable[[], list[int]]
    sync: str

    def cpu_s(self) -> float:
        """User and system time of all its processes so far."""
        return sum(cpu_s(pid) for pid in self.pids())

    def rss_mib(self) -> float:
        return sum(memory_mib(pid)[0] for pid in self.pids())


def cpu_s(pid: int) -> float:
    """The larger of two counts: ticks include threads that ended, schedstat is exact for those that live."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    exact = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            exact += int((task / "schedstat").read_text().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            continue  # the thread ended meanwhile
    return max(ticks, exact / 1e9)


def memory_mib(pid: int) -> tuple[float, float]:
    """(RSS, PSS): all pages in memory, and those that it shares counted by its share."""
    lines = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:])
    return tuple(int(lines[name].split()[0]) / 1024 for name in ("Rss", "Pss"))  # type: ignore[return-value]


def tree(pid: int) -> list[int]:
    """A process and everything that it started."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(each for child in children for each in tree(int(child)))]


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(0.2)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _clean() -> dict[str, str]:
    """The environment without what would lead a process of ours elsewhere."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "HTTP_", "HTTPS_", "ATOLL_"))}


@contextmanager
def _on_server_core() -> Iterator[None]:
    """What is started inside runs on the server's core: a child inherits where its parent may run."""
    mine = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {SERVER_CORE})
    try:
        yield
    finally:
        os.sched_setaffinity(0, mine)


def _run(*command: str, home: Path | None = None, text: str = "", pinned: bool = True) -> str:
    environment = {**_clean(), **({"ATOLL_HOME": str(home)} if home else {})}
    with _on_server_core() if pinned else nullcontext():
        done = subprocess.run(command, input=text, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stdout}{done.stderr}")
    return done.stdout


@contextmanager
def world(home: Path, text: str | None = WORLD, *, pinned: bool = True) -> Iterator[dict[str, object]]:
    """An Atoll world (None: the built-in one) while the block runs; gives what `atoll status --json` says, and `up_s`, how
    long `atoll up --detach` took."""
    arguments = []
    if text is not None:
        file = home.with_suffix(".toml")
        file.write_text(text)
        arguments = ["--world", str(file)]
    begin = time.perf_counter()
    _run(str(BIN / "atoll"), "up", "--detach", *arguments, home=home, pinned=pinned)
    up_s = time.perf_counter() - begin
    try:
        yield {**json.loads(_run(str(BIN / "atoll"), "status", "--json", home=home)), "up_s": up_s}
    finally:
        _run(str(BIN / "atoll"), "down", home=home)


@contextmanager
def atoll(folder: Path) -> Iterator[Server]:
    """One region, entered at its own port."""
    home = folder / "atoll"
    with world(home) as status:
        known = json.loads((home / "run.json").read_text())
        places = {place["process"]: place["pid"] for place in status["places"]}  # type: ignore[attr-defined]
        pids = [int(str(status["supervisor"])), *places.values()]
        port = known["regions"][REGION]["port"]
        yield Server(
            "atoll",
            _run(str(BIN / "python"), "-c", "from importlib.metadata import version; print(version('atoll'))").strip(),
            Signer(port, known["access_key_id"], known["secret_access_key"], REGION),
            places[REGION],
            lambda: pids,
            "SQLite WAL, synchronous=FULL: one flush per group of commits, index and bytes",
        )
    if answers(port):
        raise RuntimeError(f"port {port} still answers after `atoll down`")


def _weed_ports() -> tuple[int, ...]:
    """Four ports that are free, and free again where weed's gRPC goes."""
    first = WEED_FIRST_PORT
    while not all(is_free(port) and is_free(port + GRPC_OFFSET) for port in range(first, first + 4)):
        first += 10
    return tuple(range(first, first + 4))


@contextmanager
def seaweedfs(folder: Path) -> Iterator[Server]:
    """`weed server` with all its services in one process, and -fsync on every bucket (peers.md 2.1)."""
    weed = str(BIN / "weed") if (BIN / "weed").exists() else shutil.which("weed")
    if not weed:
        raise RuntimeError("weed is missing: make bench-setup")
    home = folder / "weed"
    home.mkdir()
    key, secret = "AKMAIN00000000000001", "secretmain"
    config = home / "s3.json"
    actions = ["Admin", "Read", "ReadAcp", "Write", "WriteAcp", "List", "Tagging"]
    config.write_text(json.dumps({"identities": [{"name": "a", "credentials": [{"accessKey": key, "secretKey": secret}], "actions": actions}]}))
    master, volume, filer, s3 = _weed_ports()
    command = (
        f"{weed} server -dir={home} -ip=127.0.0.1 -ip.bind=127.0.0.1 -master.port={master} -volume.port={volume} -filer -filer.port={filer} "
        f"-s3 -s3.port={s3} -s3.config={config} -master.volumeSizeLimitMB=64 -volume.max=4000 -metricsPort=0 -s3.port.iceberg=0"
    )
    environment = {**_clean(), "TMPDIR": str(home), "GOMAXPROCS": "1"}
    with (home / "log").open("wb") as log, _on_server_core():
        process = subprocess.Popen(command.split(), stdout=log, stderr=log, env=environment, start_new_session=True)
    try:
        _await(process, s3)
        time.sleep(WEED_SETTLE_S)
        shell = [weed, "shell", f"-master=127.0.0.1:{master}", f"-filer=127.0.0.1:{filer}"]
        output = _run(*shell, text="fs.configure -locationPrefix=/buckets/ -fsync -apply\nexit\n")
        if "fsync" not in output:
            raise RuntimeError(f"weed did not take -fsync: {output}")
        version = _run(weed, "version").split()[2]
        yield Server(
            "seaweedfs", version, Signer(s3, key, secret, REGION), process.pid, lambda: tree(process.pid),
            "fs.configure -fsync: one fsync of the volume file per PUT; the filer's own metadata is not flushed",
        )  # fmt: skip
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if any(map(answers, (master, volume, filer, s3))):
        raise RuntimeError("a port of weed still answers after its end")


def _await(process: subprocess.Popen[bytes], port: int) -> None:
    end = time.monotonic() + READY_S
    while not answers(port):
        if process.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"the server did not come up on port {port} (exit status {process.poll()})")
        time.sleep(0.1)


CONTESTANTS = {"atoll": atoll, "seaweedfs": seaweedfs}
