"""The one style of every typer command: the form of help and of errors, exit codes, names for values.

`App` instead of typer.Typer, and `examples(...)` as the epilog of each command, is all that a new command needs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from atoll.cli.exits import FAILED, OK, SYNTAX, print_error
from atoll.domain.os_error_messages import in_words

Function = TypeVar("Function", bound=Callable[..., Any])
HELP = {"help_option_names": ["-h", "--help"]}
VALUES = {int: "N", float: "X", Path: "FILE"}  # where no metavar says more; a text needs one that says what is meant


def examples(*lines: str) -> str:
    """An epilog that keeps its lines."""
    return "\b\n" + "\n".join(("Examples:" if len(lines) > 1 else "Example:", *(f"  {line}" for line in lines)))


class Command(TyperCommand):
    """A command whose help names values by what they are."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        for option in self.params:
            if isinstance(option, TyperOption) and option.metavar is None and not option.is_flag:
                option.metavar = VALUES.get(option.type_descriptor.annotation)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        arguments = [one for one in self.get_params(ctx) if isinstance(one, TyperArgument)]
        return ["[OPTIONS]", *(one.display_name_raw if one.required else f"[{one.display_name_raw}]" for one in arguments)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        for kind, title in (("argument", "Arguments"), ("option", "Options")):
            found = [one.get_help_record(ctx) for one in self.get_params(ctx) if one.param_type_name == kind]
            rows = [(row[0].partition(" ")[0] if kind == "argument" else row[0], row[1]) for row in found if row is not None]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


class Group(TyperGroup):
    """A group that words whatever goes wrong below it: `atoll: ...`, once, without a traceback for what a person can mend.

    typer itself sees to Ctrl-C (130) and to a reader that has left.
    """

    def main(self, *given: Any, standalone_mode: bool = True, **named: Any) -> Any:
        if not standalone_mode:
            return super().main(*given, **named | {"standalone_mode": False})
        sys.exit(self._as_text(*given, **named))

    def _as_text(self, *given: Any, **named: Any) -> int:
        try:
            code = super().main(*given, **named | {"standalone_mode": False})
        except typer.TyperException as error:
            return _refused(error)
        except OSError as error:
            print_error(in_words(error))
            return FAILED
        return code if isinstance(code, int) else OK


def _refused(error: typer.TyperException) -> int:
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(error.format_message())
        return SYNTAX
    text = error.format_message().rstrip(".")
    known = getattr(context and context.command, "commands", None)
    if text.startswith("No such command") and known:
        text = f"{text}; there are: {', '.join(known)}"
    text = text.replace("Input should be ", "expected ").partition(", unable to parse")[0]  # how pydantic says it
    hint = f"; see `{context.command_path} -h`" if context is not None else ""
    print_error(f"{text[:1].lower()}{text[1:]}{hint}")
    return int(error.exit_code)


class App(typer.Typer):
    """A typer.Typer in this style, for the whole or for a group."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(
            cls=Group, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False, context_settings=HELP, **settings
        )

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Function], Function]:
        return super().command(name, **{"cls": Command} | settings)
