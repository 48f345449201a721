"""The verbs that are not typed every minute: typer and rich, one module per verb group."""

from __future__ import annotations

import typer

from atoll import __version__
from atoll.cli import account, inspect, lab, light, production, world

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_show_locals=False,
    help="S3 regions, replication and one global endpoint on your own machines; an unmodified AWS SDK or CLI is the client.",
    epilog="Begin with:  atoll up --detach   then   atoll exec --from ap-northeast-1 -- aws s3 ls",
)

PASS_THROUGH = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


def _light(verb: str, what: str) -> None:
    """List a light verb in --help; cli.main answers it before typer is imported."""

    @app.command(verb, help=what, context_settings=PASS_THROUGH)
    def run(context: typer.Context) -> None:
        raise typer.Exit(light.main(verb, context.args))


_light("exec", "Run a command as if it stood in a place: [dim]atoll exec --from london -- aws s3 ls[/dim]")
_light("env", 'Print the variables for this shell: [dim]eval "$(atoll env --from eu-central-1)"[/dim]')
_light("status", "Say which places answer: [dim]atoll status --json[/dim]")
world.register(app)
production.register(app)
account.register(app)
inspect.register(app)
app.add_typer(lab.app, name="lab")


@app.command()
def version() -> None:
    """Print the version."""
    typer.echo(__version__)
