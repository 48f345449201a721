"""Entry point of `atoll`. The verbs that must start fast do so at once; the others bring typer and rich."""

from __future__ import annotations

import sys

LIGHT = ("exec", "env", "status")


def entry() -> None:
    """The console script."""
    arguments = sys.argv[1:]
    if arguments and arguments[0] in LIGHT:
        from atoll.cli import exec_env_status

        sys.exit(exec_env_status.main(arguments[0], arguments[1:]))
    from atoll.cli.typer_app import app

    app(prog_name="atoll")
