"""`atoll node-key`, `serve`: a place on a machine of its own, with real distances to the others."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from atoll.cli.exits import CONFIG, FAILED, OK, USAGE, print_error
from atoll.cli.typer_style import examples
from atoll.cli.up_down_connect import HomeOption
from atoll.domain.os_error_messages import in_words
from atoll.processes import world_config
from atoll.processes.home_folder import Home

WorldOption = Annotated[Path | None, typer.Option("--world", help="The world file (default: the one in the folder).")]


def register(app: typer.Typer) -> None:
    app.command(
        "node-key",
        short_help="Make the keys with which a machine may join.",
        epilog=examples("atoll node-key eu-central-1 --world world.toml --home /srv/atoll"),
    )(node_key)
    app.command(
        short_help="Run one place of a world that spans machines.",
        epilog=examples("atoll serve --place eu-central-1 --world world.toml --data /srv/atoll"),
    )(serve)


def node_key(
    place: Annotated[str, typer.Argument(metavar="PLACE", help="The place that the bundle is for.")],
    world: WorldOption = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="FOLDER", help="The bundle's folder (default: nodes/PLACE in the world's).")] = None,
    home: HomeOption = None,
) -> None:
    """Make the bundle of keys and certificates with which a place may join. Run it where the world's CA is, then copy the
    folder to that machine as DATA/node. Whoever has it can act for every caller of the world."""
    from atoll.processes import node_credentials

    where = Home.at(os.environ, home)
    try:
        chosen = _world(where, world)
        if place not in chosen.by_name:
            raise world_config.WorldError("", [f"{place} is no place of this world; there are: {', '.join(chosen.by_name)}"])
        made = node_credentials.make(where, chosen, place, out)
    except world_config.WorldError as error:
        print_error(str(error))
        raise typer.Exit(USAGE) from error
    except (node_credentials.BundleError, RuntimeError) as error:
        print_error(str(error))
        raise typer.Exit(CONFIG) from error
    typer.echo(str(made))


def serve(
    place: Annotated[str, typer.Option("--place", metavar="PLACE", help="Which place of the world this machine is.")],
    data: Annotated[Path, typer.Option("--data", metavar="FOLDER", help="Where this place keeps its objects, its copy of the state, and its logs.")],
    world: WorldOption = None,
    bundle_folder: Annotated[
        Path | None, typer.Option("--bundle", metavar="FOLDER", help="What node-key made for this place (default: DATA/node, DATA/nodes/PLACE).")
    ] = None,
    bind: Annotated[
        str | None, typer.Option("--bind", metavar="ADDRESS", help="Listen on this address, e.g. 0.0.0.0 (default: what the world file says).")
    ] = None,
) -> None:
    """Run one place of a world that spans machines, region and entry in one process, until SIGTERM."""
    from atoll.processes import node_credentials
    from atoll.processes import serve_place as production

    home = Home(data.expanduser().absolute())
    try:
        plan = production.plan(home, _world(home, world), place, folder=bundle_folder, bind=bind)
    except world_config.WorldError as error:
        print_error(str(error))
        raise typer.Exit(USAGE) from error
    except node_credentials.BundleError as error:
        print_error(str(error))
        raise typer.Exit(CONFIG) from error
    try:
        production.run_place(plan, typer.echo)
    except (production.CannotStart, OSError) as error:
        print_error(in_words(error) if isinstance(error, OSError) else str(error))
        raise typer.Exit(FAILED) from error
    raise typer.Exit(OK)


def _world(home: Home, given: Path | None) -> world_config.World:
    """The file that was given, else the one that lies in the folder. A built-in world has no addresses to serve at."""
    path = given or home.world
    if not path.exists():
        raise world_config.WorldError(str(path), ["there is no such file; name the world file with --world FILE"])
    return world_config.load(path)
