"""`atoll check`, `explain` and `config`."""

from __future__ import annotations

import json
import os
import time
import tomllib
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from atoll.cli.exits import FAILED, NOT_FOUND, OK, USAGE, print_error
from atoll.cli.typer_style import App, examples
from atoll.cli.up_down_connect import HomeOption
from atoll.processes import world_config
from atoll.processes.account_reader import accounts
from atoll.processes.home_folder import Home

UPSTREAM_WAIT_S = 2.0  # for the line of the region behind a request that an entry has logged

config_app = App(help="The world file.", epilog=examples("atoll config show > mine.toml", "atoll up --world mine.toml"))
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def register(app: typer.Typer) -> None:
    app.command(epilog=examples("atoll check", "atoll check --json"))(check)
    app.command(
        short_help="Say who answered a request, and why.",
        epilog=examples("atoll explain 5F0A33C200000017", "atoll explain --last"),
    )(explain)
    config_app.command("show", epilog=examples("atoll config show > mine.toml"))(show)
    app.add_typer(config_app, name="config")


def check(
    data: Annotated[Path | None, typer.Option("--data", metavar="FOLDER", help="One store's folder (default: every store of the world).")] = None,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Walk every store and name each broken invariant. A running world may be checked."""
    from atoll.object_store.disk.integrity_check import check as walk

    if data is not None and not data.is_dir():
        print_error(f"there is no store in {data}")
        raise typer.Exit(NOT_FOUND)
    where = Home.at(os.environ, home)
    folders = [data] if data is not None else sorted(path for path in where.stores.glob("*") if path.is_dir())
    if not folders:
        print_error(f"there are no stores in {where.stores}")
        raise typer.Exit(NOT_FOUND)
    broken = 0
    for folder in folders:
        for fault in walk(folder):
            broken += 1
            row = {"store": folder.name, "kind": fault.kind, "key": str(fault.key), "detail": fault.detail}
            typer.echo(json.dumps(row) if as_json else "  ".join(row.values()))
    if not as_json:
        typer.echo(f"{len(folders)} stores, {broken} broken invariants")
    raise typer.Exit(FAILED if broken else OK)


def explain(
    request_id: Annotated[str | None, typer.Argument(metavar="REQUEST_ID", help="x-amz-request-id of an answer.")] = None,
    last: Annotated[bool, typer.Option("--last", help="The newest request that a client made.")] = False,
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Say what happened to a request: who asked, which region answered and why, and which policy statement decided."""
    if last == (request_id is not None):
        raise typer.BadParameter("name one request, or say --last", param_hint="REQUEST_ID")
    where = Home.at(os.environ, home)
    events = _last(where) if request_id is None else _events(where, request_id)
    if not events:
        what = f"no log line mentions {request_id}; is it a request of this world" if request_id else "no client has asked for anything yet"
        print_error(f"{what} ({where.root})")
        raise typer.Exit(NOT_FOUND)
    if as_json:
        typer.echo(json.dumps(events, indent=1))
        return
    names = {one.id: one.name for one in accounts(Home.at(os.environ, home).state)}
    for event in events:
        typer.echo(_as_text(_with_names(event, names)))


def _with_names(event: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Accounts as the command line names them, beside their ids."""
    named = {field: f"{event[field]} ({names[event[field]]})" for field in ("account", "owner") if event.get(field) in names}
    return event | named


def _events(home: Home, request_id: str) -> list[dict[str, Any]]:
    """What was logged of a request, as it went: the entry that took it first, although it ended last."""
    from atoll.gateway.request_log import find

    return sorted(find(home.logs, request_id), key=lambda event: event.get("event") != "entry")


def _last(home: Home) -> list[dict[str, Any]]:
    """The newest request, once every process has written what it knows of it."""
    from atoll.gateway.request_log import FLUSH_S, last

    time.sleep(2 * FLUSH_S)
    _have_entry_flush(home)
    event = last(home.logs)
    if event is None:
        return []
    end = time.monotonic() + UPSTREAM_WAIT_S
    while (upstream := event.get("upstream_request_id")) and not _events(home, upstream) and time.monotonic() < end:
        time.sleep(FLUSH_S)
    return _events(home, event["request_id"])


def _have_entry_flush(home: Home) -> None:
    """The entry writes its log before it answers for its health. A world that is down has written everything."""
    from http.client import HTTPConnection, HTTPException

    from atoll.gateway.internal_endpoints import HEALTH

    for place in (home.read_run() or {}).get("places", [])[:1]:
        with closing(HTTPConnection("127.0.0.1", place["port"], timeout=UPSTREAM_WAIT_S)) as connection, suppress(OSError, HTTPException):
            connection.request("GET", HEALTH)
            connection.getresponse().read()


def _as_text(event: dict[str, Any]) -> str:
    lines = [f"{event['process']}: {_head(event)}"]
    lines += [
        f"  {name}: {event[name]}"
        for name in ("caller", "account", "owner", "bucket", "key", "access_point", "candidates", "error", "message")
        if event.get(name)
    ]
    lines += [
        f"  {one['action']} on {one['resource']}: {one['outcome']} ({one['statement'] or one['reason']})"
        for one in event.get("decided", ())
    ]
    return "\n".join(lines)


def _head(event: dict[str, Any]) -> str:
    if event["event"] != "entry":
        came = f", entered at {event['place']}" if event.get("place") else ""
        return f"{event.get('operation') or event['event']} -> {event.get('status', '')} in {event.get('ms', 0)} ms{came}"
    answered = f"answered by {event['region']}" if event.get("upstream_request_id") else "answered here"
    why = f" ({event['reason']})" if event.get("reason") else ""
    return f"{event['method']} from {event['place']} -> {event['status']} in {event.get('ms', 0)} ms, {answered}{why}"


def show(as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Print the world file in force, or the built-in one to start from."""
    where = Home.at(os.environ, home)
    try:
        text = world_config.read(where.world) if where.world.exists() else world_config.builtin_text()
    except world_config.WorldError as error:
        print_error(str(error))
        raise typer.Exit(USAGE) from error
    typer.echo(json.dumps(tomllib.loads(text), indent=1) + "\n" if as_json else text, nl=False)
