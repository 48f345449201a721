"""`atoll check`, `explain`, `config`: is everything whole, and why was that refused?"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from atoll.cli.light import FAILED, NOT_FOUND, OK, say
from atoll.cli.world import HomeOption
from atoll.node.accounts import accounts
from atoll.node.config import builtin_text
from atoll.node.home import Home

config_app = typer.Typer(no_args_is_help=True, help="The world file.")


def register(app: typer.Typer) -> None:
    app.command(epilog="Example:  atoll check --json")(check)
    app.command(epilog="Example:  atoll explain 5F0A33C200000017")(explain)
    config_app.command("show", epilog="Example:  atoll config show > mine.toml")(show)
    app.add_typer(config_app, name="config")


def check(
    data: Annotated[Path | None, typer.Option("--data", help="One store's folder (default: every store of the world).")] = None,
    as_json: Annotated[bool, typer.Option("--json")] = False,
    home: HomeOption = None,
) -> None:
    """Walk every store and name each broken invariant. A running world may be checked."""
    from atoll.store.disk.check import check as walk

    where = Home.at(os.environ, home)
    folders = [data] if data is not None else sorted(path for path in where.stores.glob("*") if path.is_dir())
    if not folders:
        say(f"there are no stores in {where.stores}")
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
    request_id: Annotated[str, typer.Argument(help="x-amz-request-id of an answer.")],
    as_json: Annotated[bool, typer.Option("--json")] = False,
    home: HomeOption = None,
) -> None:
    """Say what happened to a request: who asked, which region answered, and which policy statement decided."""
    from atoll.gateway.record import find

    events = list(find(Home.at(os.environ, home).logs, request_id))
    if not events:
        say(f"no log line mentions {request_id}; is it a request of this world ({Home.at(os.environ, home).root})?")
        raise typer.Exit(NOT_FOUND)
    if as_json:
        typer.echo(json.dumps(events, indent=1))
        return
    names = {one.id: one.name for one in accounts(Home.at(os.environ, home).state)}
    for event in events:
        typer.echo(_worded(_with_names(event, names)))


def _with_names(event: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Accounts as the command line names them, beside their ids."""
    named = {field: f"{event[field]} ({names[event[field]]})" for field in ("account", "owner") if event.get(field) in names}
    return event | named


def _worded(event: dict[str, Any]) -> str:
    where = event.get("place") or event.get("region", "")
    head = f"{event['process']}: {event['event']} {event.get('operation', event.get('method', ''))} -> {event.get('status', '')}"
    lines = [f"{head} in {event.get('ms', 0)} ms ({where})"]
    lines += [
        f"  {name}: {event[name]}"
        for name in ("caller", "account", "owner", "bucket", "key", "access_point", "region", "reason", "candidates", "error", "message")
        if event.get(name)
    ]
    lines += [
        f"  {one['action']} on {one['resource']}: {one['outcome']} ({one['statement'] or one['reason']})"
        for one in event.get("decided", ())
    ]
    return "\n".join(lines)


def show() -> None:
    """Print the world file in force, or the built-in one to start from."""
    home = Home.at(os.environ)
    typer.echo(home.world.read_text(encoding="utf-8") if home.world.exists() else builtin_text(), nl=False)
