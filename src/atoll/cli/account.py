"""`atoll account create`, `atoll account list`: more than one account in a world, whether it runs or not."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from atoll.cli.exits import UNAVAILABLE, USAGE, say
from atoll.cli.style import App, examples
from atoll.cli.world import HomeOption
from atoll.node.accounts import Account, accounts
from atoll.node.home import Home

if TYPE_CHECKING:
    from atoll.services.iam.records import RootRecord

account_app = App(help="The accounts of a world.", epilog=examples("atoll account create second", "atoll account list"))
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def register(app: typer.Typer) -> None:
    account_app.command("create", epilog=examples("atoll account create second"))(create)
    account_app.command("list", epilog=examples("atoll account list --json"))(show)
    app.add_typer(account_app, name="account")


def create(
    name: Annotated[str, typer.Argument(help="What it is called in this world: `atoll exec --account NAME`.")],
    as_json: JsonOption = False,
    home: HomeOption = None,
) -> None:
    """Make an account with an id, a canonical user id and a root key pair of its own. A running world knows it at once."""
    where = Home.at(os.environ, home)
    _refuse_copies(where)
    made = _created(where.make(), name)
    row = _row(Account(made.name, made.account, made.access_key, made.secret, made.created_ms))
    if as_json:
        typer.echo(json.dumps(row, indent=1))
        return
    typer.echo(f"account {made.name} has the id {made.account}")
    typer.echo(f"next:  atoll exec --account {made.name} -- aws sts get-caller-identity")


def _refuse_copies(home: Home) -> None:
    """A place whose control state is a copy of another's changes nothing in its own file."""
    holder = (home.read_run() or {}).get("state", "")
    if holder:
        say(f"the control state of this world is in {holder}: create accounts there")
        raise typer.Exit(UNAVAILABLE)


def _created(home: Home, name: str) -> RootRecord:
    from atoll.domain.errors import ApiError
    from atoll.services.iam.accounts import AccountRefused, create_account
    from atoll.services.iam.making import create_world
    from atoll.state import State

    async def change() -> RootRecord:
        state = State.open(home.state)
        try:
            await create_world(state, dice=secrets.token_bytes, now=time.time())
            return await create_account(state, name, dice=secrets.token_bytes, now=time.time())
        finally:
            state.close()

    try:
        return asyncio.run(change())
    except AccountRefused as error:
        say(str(error))
        raise typer.Exit(USAGE) from error
    except ApiError as error:
        say(f"the control state cannot be changed: {error.message}")
        raise typer.Exit(UNAVAILABLE) from error


def show(as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Name every account of the world, with its id. Keys are for `atoll env --account NAME`."""
    where = Home.at(os.environ, home)
    rows = [_row(one) for one in accounts(where.state)]
    if not rows:
        say(f"there is no world in {where.root}; start one with `atoll up`")
        raise typer.Exit(UNAVAILABLE)
    if as_json:
        typer.echo(json.dumps(rows, indent=1))
        return
    width = max(len(row["name"]) for row in rows)
    for row in rows:
        typer.echo(f"{row['name'].ljust(width)}  {row['id']}")


def _row(one: Account) -> dict[str, Any]:
    """What is no secret."""
    from atoll.rules.owners import canonical_id

    created = datetime.fromtimestamp(one.created_ms / 1000, UTC).isoformat(timespec="seconds")
    return {"name": one.name, "id": one.id, "canonical_id": canonical_id(one.id), "created": created}
