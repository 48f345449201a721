"""docs/CLI.md: every command's help and every exit code, written from the commands themselves."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from typing import Any

import typer.main

from atoll.cli.exits import MEANING
from atoll.cli.typer_app import app

HEAD = """# The command line

Written by `make reference` from the commands themselves; a test holds it to them.

- `-h` and `--help` after any command, also after `atoll lab` and its like, show its options and examples. `atoll --version`
  says which Atoll it is.
- Output goes to standard output, messages for people to standard error, each beginning with `atoll: `.
- Where output is data, `--json` prints it for programs. Colour is used on a terminal only, and not at all with `NO_COLOR`.
- Unknown options, places, prices and keys of files are refused by name, with those that there are.
- `--home FOLDER`, else the variable `ATOLL_HOME`, else `~/.atoll`, says which world is meant.

## Exit codes

| code | meaning |
|---|---|
"""


def document() -> str:
    """The whole of docs/CLI.md."""
    os.environ["COLUMNS"] = "80"  # the same text whoever writes it
    codes = "".join(f"| {code} | {words} |\n" for code, words in MEANING.items())
    note = "\n`exec` ends with the code of the command that it ran.\n\n## Commands\n"
    return HEAD + codes + note + "".join(f"\n### {path}\n\n```\n{help_of(path)}```\n" for path in paths(typer.main.get_command(app), "atoll"))


def paths(command: Any, path: str) -> Iterator[str]:
    """`atoll`, `atoll up`, ..., `atoll lab cost`."""
    yield path
    for name, inner in getattr(command, "commands", {}).items():
        yield from paths(inner, f"{path} {name}")


def help_of(path: str) -> str:
    shown = io.StringIO()
    with redirect_stdout(shown), suppress(SystemExit):
        app([*path.split()[1:], "-h"], prog_name="atoll")
    return "\n".join(line.rstrip() for line in shown.getvalue().splitlines()) + "\n"
