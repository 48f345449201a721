"""The verbs that are not typed every minute: typer and rich, one module per verb group."""

from __future__ import annotations

from typing import Annotated

import typer

from atoll import __version__
from atoll.cli import account, check_explain_config, exec_env_status, lab, serve, up_down_connect
from atoll.cli.exits import OK
from atoll.cli.typer_style import App, examples

app = App(
    help="S3 regions, replication and one global endpoint on your own machines; an unmodified AWS SDK or CLI is the client.",
    epilog=examples("atoll up --detach", "atoll exec --from ap-northeast-1 -- aws s3 ls", "atoll explain --last"),
)

PASS_THROUGH = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"atoll {__version__}")
        raise typer.Exit(OK)


@app.callback()
def _root(
    version: Annotated[bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version and exit.")] = False,
) -> None:
    """Options before the verb."""


def _light(verb: str, what: str) -> None:
    """List a light verb in --help; cli.main answers it before typer is imported."""

    @app.command(verb, help=what, context_settings=PASS_THROUGH)
    def run(context: typer.Context) -> None:
        raise typer.Exit(exec_env_status.main(verb, context.args))


_light("exec", "Run a command as if it stood in a place.")
_light("env", "Print the variables that let a shell stand in a place.")
_light("status", "Say which places answer.")
up_down_connect.register(app)
serve.register(app)
account.register(app)
check_explain_config.register(app)
app.add_typer(lab.app, name="lab")


@app.command(epilog=examples("atoll version"))
def version() -> None:
    """Print the version alone."""
    typer.echo(__version__)
