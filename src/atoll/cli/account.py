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

from atoll.cli.exits import UNAVAILABLE, USAGE, print_error
from atoll.cli.typer_style import App, examples
from atoll.cli.up_down_connect import HomeOption
from atoll.processes.account_reader import Account, accounts
from atoll.processes.home_folder import Home

if TYPE_CHECKING:
    from atoll.services.iam.records import RootRecord

account_app = App(help="The accounts of a world.", epilog=examples("atoll account create second", "atoll account list"))
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def register(app: typer.Typer) -> None:
    account_app.command("create", epilog=examples("atoll account create second"))(create)
    account_app.command("list", epilog=examples("atoll account list --json"))(show)
    app.add_typer(account_app, name="account")


def create(
    name: Annotated[str, typer.Argument(help="What it is called in this world: what `--account` takes.")],
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
        print_error(f"the control state of this world is in {holder}: create accounts there")
        raise typer.Exit(UNAVAILABLE)


def _created(home: Home, name: str) -> RootRecord:
    from atoll.control_store import ControlStore
    from atoll.domain.errors import ApiError
    from atoll.services.iam.accounts import AccountRefused, create_account
    from atoll.services.iam.id_generation import create_root_account

    async def change() -> RootRecord:
        state = ControlStore.open(home.state)
        try:
            await create_root_account(state, random_bytes=secrets.token_bytes, now=time.time())
            return await create_account(state, name, random_bytes=secrets.token_bytes, now=time.time())
        finally:
            state.close()

    try:
        return asyncio.run(change())
    except AccountRefused as error:
        print_error(str(error))
        raise typer.Exit(USAGE) from error
    except ApiError as error:
        print_error(f"the control state cannot be changed: {error.message}")
        raise typer.Exit(UNAVAILABLE) from error


def show(as_json: JsonOption = False, home: HomeOption = None) -> None:
    """Name every account of the world, with its id. Keys are for `atoll env --account NAME`."""
    where = Home.at(os.environ, home)
    rows = [_row(one) for one in accounts(where.state)]
    if not rows:
        print_error(f"there is no world in {where.root}; start one with `atoll up`")
        raise typer.Exit(UNAVAILABLE)
    if as_json:
        typer.echo(json.dumps(rows, indent=1))
        return
    width = max(len(row["name"]) for row in rows)
    for row in rows:
        typer.echo(f"{row['name'].ljust(width)}  {row['id']}")


def _row(one: Account) -> dict[str, Any]:
    """What is no secret."""
    from atoll.rules.access_control_lists import canonical_id

    created = datetime.fromtimestamp(one.created_ms / 1000, UTC).isoformat(timespec="seconds")
    return {"name": one.name, "id": one.id, "canonical_id": canonical_id(one.id), "created": created}
