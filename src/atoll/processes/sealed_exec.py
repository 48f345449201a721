"""Runs a command so that it reaches the world and nothing else (`atoll exec --mode sealed`, decision 14).

The command gets a network of its own in which only the loopback interface is up. There, AWS's names have one address, on whose
ports 443 and 80 a relay leads into the place; other names do not exist and other addresses are unreachable. The relay is a
process outside; the command itself is this process, so that its streams, signals, terminal and exit status are its own.
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from atoll.net.namespaces import inhabited, lay_over, leave, network_of
from atoll.processes.client_environment import SEALED_BUNDLE
from atoll.processes.home_folder import Home, write_whole

ADDRESS = "127.0.0.1"  # of every name of AWS, inside
HTTPS, HTTP, DNS = 443, 80, 53
BACKLOG = 1024
ENTRY_ANSWERS_S = 5.0
STILL_THERE_S = 0.5  # how often a relay looks for processes that outlive the command
SENT = b"sockets"
READABLE_BY_ALL = 0o644

# Where systems keep the certificates that they trust, in one file each: Debian, Red Hat, SUSE, Alpine and Arch.
SYSTEM_CA_FILES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
    "/etc/ca-certificates/extracted/tls-ca-bundle.pem",
)
RESOLV_CONF = f"nameserver {ADDRESS}\noptions timeout:2 attempts:1\n"
NSSWITCH_CONF = Path("/etc/nsswitch.conf")
NAMES_BY = "hosts: files dns\n"  # and by nothing that answers through a socket of the machine, such as systemd-resolved
HOSTS = "127.0.0.1 localhost\n::1 localhost\n"
# Name services of the machine that are reached by a path and not through the network: they would answer for the outside.
NAME_SERVICE_SOCKETS = ("/run/nscd/socket", "/var/run/nscd/socket", "/run/systemd/resolve/io.systemd.Resolve")


class EntryAway(Exception):
    """The place's entry does not answer. The text says where it was looked for."""


def enter(home: Home, place: Mapping[str, Any]) -> None:
    """Seal the calling process. Raises EntryAway, NoNamespaces; then the process may have changed and must end."""
    entry = (str(place.get("host", "127.0.0.1")), int(place["port"]))
    _check_entry(place["name"], entry)
    files = _files(home)
    with _relay(entry, home) as relay:
        leave()
        lay_over(files)
        with _sockets() as made:
            socket.send_fds(relay, [SENT], [sock.fileno() for sock in made])
            if relay.recv(1) != b"1":
                raise EntryAway(f"the relay into {place['name']} did not start; see {_log(home)}")


def _check_entry(name: str, entry: tuple[str, int]) -> None:
    try:
        socket.create_connection(entry, timeout=ENTRY_ANSWERS_S).close()
    except OSError as error:
        raise EntryAway(f"the entry of {name} does not answer at {entry[0]}:{entry[1]}; start the world with `atoll up`") from error


def _log(home: Home) -> Path:
    return home.logs / "sealed.err"


# -- what the command sees


def _files(home: Home) -> dict[Path, Path]:
    """Files of the system, and what is shown in their place."""
    folder = (home.root / SEALED_BUNDLE).parent
    folder.mkdir(mode=0o755, exist_ok=True)
    texts = {"resolv.conf": RESOLV_CONF, "nsswitch.conf": _nsswitch(), "hosts": HOSTS + f"127.0.1.1 {socket.gethostname()}\n"}
    for name, text in texts.items():
        _keep(folder / name, text.encode())
    bundle = home.root / SEALED_BUNDLE
    _keep(bundle, _system_roots() + home.ca.read_bytes())
    shown = {Path("/etc", name): folder / name for name in texts}
    shown |= {Path(name): Path(os.devnull) for name in NAME_SERVICE_SOCKETS}
    return shown | dict.fromkeys({Path(name).resolve() for name in SYSTEM_CA_FILES}, bundle)


def _nsswitch() -> str:
    """As it is, but for where the names of hosts come from."""
    text = NSSWITCH_CONF.read_text(encoding="utf-8") if NSSWITCH_CONF.is_file() else ""
    return "".join(line for line in text.splitlines(keepends=True) if not line.lstrip().startswith("hosts:")) + NAMES_BY


def _system_roots() -> bytes:
    found = next((Path(name) for name in SYSTEM_CA_FILES if Path(name).is_file()), None)
    return found.read_bytes().rstrip(b"\n") + b"\n" if found else b""


def _keep(path: Path, content: bytes) -> None:
    """Written anew only when it differs: another sealed command may just be looking at it."""
    if not path.exists() or path.read_bytes() != content:
        write_whole(path, content, READABLE_BY_ALL)


@contextmanager
def _sockets() -> Iterator[tuple[socket.socket, ...]]:
    made = (_listening(HTTPS), _listening(HTTP), socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    try:
        made[2].bind((ADDRESS, DNS))
        yield made
    finally:
        for sock in made:
            sock.close()


def _listening(port: int) -> socket.socket:
    return socket.create_server((ADDRESS, port), backlog=BACKLOG)


# -- the relay


@contextmanager
def _relay(entry: tuple[str, int], home: Home) -> Iterator[socket.socket]:
    """A process that waits for sockets to serve. It is nobody's child here: the command must not find one that it never began."""
    here, there = socket.socketpair()
    command = os.getpid()
    first = os.fork()
    if first == 0:
        os.setsid()
        if os.fork() == 0:
            _run(there, command, entry, _log(home))
        os._exit(0)
    there.close()
    os.waitpid(first, 0)
    try:
        yield here
    finally:
        here.close()


def _run(control: socket.socket, command: int, entry: tuple[str, int], log: Path) -> None:
    """The body of the relay's process: it never returns."""
    try:
        command_fd = os.pidfd_open(command)
        _alone(control, command_fd, log)
        import asyncio

        asyncio.run(_serve(control, command_fd, command, entry))
    except BaseException:  # noqa: BLE001 - nothing may come back from here: above is the command's stack
        import traceback

        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _alone(control: socket.socket, command: int, log: Path) -> None:
    """Keep nothing open that was the command's: who waits for the end of its output must not wait for the relay."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(0, 1)
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), 2)
    kept = sorted((control.fileno(), command))
    for low, high in zip((2, *kept), (*kept, os.sysconf("SC_OPEN_MAX")), strict=True):
        os.closerange(low + 1, high)
    os.chdir("/")


async def _serve(control: socket.socket, command_fd: int, command: int, entry: tuple[str, int]) -> None:
    import asyncio

    from atoll.net.sealed_relay import Inside, Relay

    said, descriptors, _, _ = socket.recv_fds(control, len(SENT), 3)
    if said != SENT:
        return  # the command could not be sealed; it has said why
    network = network_of(Path("/proc", str(command)))
    inside = Inside(*(socket.socket(fileno=number) for number in descriptors))
    gone = asyncio.Event()
    asyncio.get_running_loop().add_reader(command_fd, gone.set)

    async def ended() -> None:
        control.sendall(b"1")
        control.close()
        await gone.wait()
        asyncio.get_running_loop().remove_reader(command_fd)
        while network is not None and inhabited(network):  # noqa: ASYNC110 - the kernel tells nobody when a network empties
            await asyncio.sleep(STILL_THERE_S)

    await Relay(inside, *entry).serve(ended)
