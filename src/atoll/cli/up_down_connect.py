"""`atoll up`, `down`, `connect`: a world on this machine."""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from atoll.cli.exits import FAILED, OK, UNAVAILABLE, USAGE, print_error
from atoll.cli.typer_style import examples
from atoll.domain.os_error_messages import in_words
from atoll.processes import world_config
from atoll.processes.client_environment import NoSuchPlace, place_of
from atoll.processes.home_folder import Home, write_whole
from atoll.processes.supervisor import NotRunning, ask

READY_TIMEOUT_S = 30.0

HomeOption = Annotated[str | None, typer.Option("--home", metavar="FOLDER", help="The world's folder (default: $ATOLL_HOME, else ~/.atoll).")]
PlaceOption = Annotated[str | None, typer.Option("--place", metavar="PLACE", help="Only this place's process.")]


def register(app: typer.Typer) -> None:
    app.command(
        short_help="Start a world, or one place of it.",
        epilog=examples("atoll up --detach --profile aws", "atoll up --detach --place eu-central-1"),
    )(up)
    app.command(epilog=examples("atoll down", "atoll down --place eu-central-1"))(down)
    app.command(
        short_help="Tunnel standard input and output over a link.",
        epilog=examples("ssh -o ProxyCommand='atoll connect --from london %h %p' host"),
    )(connect)


def up(
    detach: Annotated[bool, typer.Option("--detach", "-d", help="Return when every listener answers.")] = False,
    place: PlaceOption = None,
    world: Annotated[Path | None, typer.Option("--world", help="A world file (default: the built-in world).")] = None,
    data: Annotated[Path | None, typer.Option("--data", metavar="FOLDER", help="Keep objects here instead of in the world's folder.")] = None,
    port: Annotated[int | None, typer.Option("--port", metavar="PORT", min=1, max=65535, help="Insist on this first port (default: 4566 or a free block).")] = None,
    profile: Annotated[str | None, typer.Option(metavar="native|aws", help="As fast as we are, or as slow as AWS was measured.")] = None,
    compat: Annotated[str | None, typer.Option(metavar="lenient|strict", help="Take what AWS's clients can do without, or refuse it as AWS does.")] = None,
    workers: Annotated[int | None, typer.Option("--workers", min=1, max=world_config.WORKERS_MAX, metavar="N", help="Processes of each region: one writes, all read (default: 1).")] = None,
    home: HomeOption = None,
) -> None:
    """Start a world: the processes of each region and the entry, each place with its own port."""
    where = Home.at(os.environ, home)
    if place is not None:
        raise typer.Exit(_send_command(where, {"do": "start", "place": place}, f"{place} answers"))
    try:
        chosen = _world(where, world, profile, compat, workers)
    except world_config.WorldError as error:
        print_error(str(error))
        raise typer.Exit(USAGE) from error
    where.make()
    if data is not None:
        _link_stores(where, data)
    raise typer.Exit(_up_detached(where, chosen, port) if detach else _up_in_foreground(where, chosen, port))


def _world(home: Home, given: Path | None, profile: str | None, compat: str | None, workers: int | None) -> world_config.World:
    """The file that was given, else the one this home was started with, else the built-in world."""
    source = given or home.world
    text = world_config.read(source) if given or home.world.exists() else None
    world = world_config.parse(text, str(source)) if text is not None else world_config.load(None)
    complaints = []
    if profile not in (None, "native", "aws"):
        complaints.append(f"--profile {profile}: expected native or aws")
    if compat not in (None, "lenient", "strict"):
        complaints.append(f"--compat {compat}: expected lenient or strict")
    if complaints:
        raise world_config.WorldError("", complaints)
    if given is not None and text is not None:
        home.make()
        write_whole(home.world, text.encode())
    return world.with_settings(profile, compat, workers)  # type: ignore[arg-type]


def _link_stores(home: Home, data: Path) -> None:
    data = data.expanduser().absolute()
    data.mkdir(parents=True, exist_ok=True)
    if home.stores.is_symlink():
        home.stores.unlink()
    elif any(home.stores.iterdir()):
        print_error(f"{home.stores} already holds objects; move them to {data} first, or start without --data")
        raise typer.Exit(USAGE)
    else:
        home.stores.rmdir()
    home.stores.symlink_to(data)


def _up_in_foreground(home: Home, world: world_config.World, port: int | None) -> int:
    """In the foreground: until Ctrl-C or SIGTERM."""
    return _supervise(home, world, port, lambda known: _print_places(known, sys.stdout))


def _up_detached(home: Home, world: world_config.World, port: int | None) -> int:
    """The supervisor becomes a daemon; this process waits for its word."""
    readable, writable = os.pipe()
    if os.fork() == 0:
        os.close(readable)
        os.setsid()
        os._exit(_daemon(home, world, port, writable))
    os.close(writable)
    reply = _read_report(readable)
    status, _, text = reply.partition("\n")
    if status == "ready":
        _print_places(home.read_run() or {}, sys.stdout)
        return OK
    if status == "already":
        return _report_running(home)
    print_error(text or f"the world did not come up; see {home.logs}")
    return FAILED


def _read_report(readable: int) -> str:
    """What the daemon says, or "" when it says nothing in time."""
    with open(readable, "rb", buffering=0) as pipe:
        ready, _, _ = select.select([pipe], [], [], READY_TIMEOUT_S)
        return pipe.read(65536).decode() if ready else ""


def _daemon(home: Home, world: world_config.World, port: int | None, writable: int) -> int:
    log = os.open(home.logs / "supervisor.err", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (log, 1), (log, 2)):
        os.dup2(source, target)

    def tell(word: str) -> None:
        os.write(writable, word.encode())
        os.close(writable)

    return _supervise(home, world, port, lambda _known: tell("ready\n"), tell)


def _supervise(home: Home, world: world_config.World, port: int | None, on_ready: Any, tell: Any = None) -> int:
    from atoll.processes import port_allocation
    from atoll.processes import start_world as node_world

    try:
        held = node_world.lock(home)
    except node_world.AlreadyUp:
        if tell is None:
            return _report_running(home)
        tell("already\n")
        return OK
    try:
        node_world.preload_models()
        root = node_world.prepare(home)
        with ExitStack() as port_lock:
            port_lock.enter_context(port_allocation.port_lock())
            plan = node_world.plan(home, world, root, port=port)

            def ready() -> None:
                port_lock.close()
                on_ready(node_world.run_info(plan, root))

            node_world.supervise(plan, root, ready)
    except (port_allocation.PortTaken, RuntimeError, OSError) as error:
        if tell is None:
            print_error(_as_text(error))
        else:
            tell(f"failed\n{_as_text(error)}")
        return FAILED
    finally:
        os.close(held)
    return OK


def _as_text(error: Exception) -> str:
    return in_words(error) if isinstance(error, OSError) else str(error)


def _report_running(home: Home) -> int:
    typer.echo(f"The world in {home.root} is up already; `atoll status` says more.")
    return OK


def _print_places(known: dict[str, Any], stream: Any) -> None:
    console = Console(file=stream)
    table = Table(title=f"world in {known['home']}", title_justify="left", box=None, pad_edge=False)
    for column in ("place", "kind", "endpoint and proxy"):
        table.add_column(column)
    for row in known["places"]:
        table.add_row(row["name"], row["kind"], f"http://127.0.0.1:{row['port']}")
    console.print(table)
    console.print(f"account {known['account']}, profile {known['profile']}, compat {known['compat']}")
    console.print("next:  atoll exec --from ap-northeast-1 -- aws s3 ls", markup=False, highlight=False)


def down(place: PlaceOption = None, home: HomeOption = None) -> None:
    """Stop the world, or one place of it. Nothing that was answered is lost."""
    where = Home.at(os.environ, home)
    if place is not None:
        raise typer.Exit(_send_command(where, {"do": "stop", "place": place}, f"{place} is stopped"))
    try:
        ask(where.socket, {"do": "shutdown"})
    except NotRunning:
        typer.echo(f"No world is up in {where.root}.")
        raise typer.Exit(OK) from None
    _wait_unlocked(where)
    typer.echo("The world is down.")


def _wait_unlocked(home: Home) -> None:
    """The supervisor answers just before it leaves; its lock is gone when it has left."""
    from atoll.processes import start_world as node_world

    end = time.monotonic() + READY_TIMEOUT_S
    while time.monotonic() < end:
        try:
            os.close(node_world.lock(home))
        except node_world.AlreadyUp:
            time.sleep(0.01)
        else:
            return


def _send_command(home: Home, request: dict[str, str], done: str) -> int:
    try:
        reply = ask(home.socket, request)
    except NotRunning as error:
        print_error(f"no world is up in {home.root} ({error}); start it with `atoll up --detach`")
        return UNAVAILABLE
    if "error" in reply:
        print_error(reply["error"])
        return USAGE
    typer.echo(f"{done}.")
    return OK


def connect(
    host: Annotated[str, typer.Argument(metavar="HOST", help="Where to.")],
    port: Annotated[int, typer.Argument(metavar="PORT", min=1, max=65535, help="Which port there.")],
    place: Annotated[str | None, typer.Option("--from", metavar="PLACE", help="The place to stand in.")] = None,
    home: HomeOption = None,
) -> None:
    """Join standard input and output to a connection over the emulated link, as ssh's ProxyCommand wants it."""
    run = Home.at(os.environ, home).read_run()
    try:
        if run is None:
            raise NotRunning("no world was ever started here; start one with `atoll up --detach`")
        row = place_of(run, place) if place else run["places"][0]
        with socket.create_connection(("127.0.0.1", row["port"]), timeout=10) as connection:
            raise typer.Exit(_relay(connection, host, port))
    except NoSuchPlace as error:
        print_error(str(error))
        raise typer.Exit(USAGE) from error
    except OSError as error:
        print_error(f"the entry of the world in {run['home'] if run else ''} does not answer: {in_words(error)}; start it with `atoll up`")
        raise typer.Exit(UNAVAILABLE) from error
    except NotRunning as error:
        print_error(str(error))
        raise typer.Exit(UNAVAILABLE) from error


def _relay(connection: socket.socket, host: str, port: int) -> int:
    connection.settimeout(None)
    connection.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    head = b""
    while b"\r\n\r\n" not in head:
        piece = connection.recv(1)
        if not piece:
            break
        head += piece
    status = head.split(b"\r\n", 1)[0].decode("latin-1")
    if " 200 " not in f"{status} ":
        print_error(f"{host}:{port}: {status or 'the entry closed the connection'}")
        return FAILED
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    threading.Thread(target=_relay_stdin, args=(connection,), daemon=True).start()
    while piece := connection.recv(65536):
        os.write(1, piece)
    return OK


def _relay_stdin(connection: socket.socket) -> None:
    with suppress(OSError):  # the other side may close first
        while piece := os.read(0, 65536):
            connection.sendall(piece)
        connection.shutdown(socket.SHUT_WR)
