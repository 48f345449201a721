"""The argument parser of the commands that must start fast: help and errors as typer's commands have them, without typer."""

from __future__ import annotations

import argparse
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import NoReturn

from atoll.cli.exits import OK, SYNTAX, USAGE, print_error

WIDTH_MAX, LABEL_MAX = 80, 34  # columns: of the help, and of an option's name before its text moves to the next line


class Parser(argparse.ArgumentParser):
    """`examples` are whole command lines; `rest` names in the usage what follows the options."""

    def __init__(self, verb: str, what: str, examples: Sequence[str], rest: str = "") -> None:
        super().__init__(prog=f"atoll {verb}", description=what, add_help=False, allow_abbrev=False)
        self._examples, self._rest = examples, rest
        self.add_argument("--home", metavar="FOLDER", help="The world's folder (default: $ATOLL_HOME, else ~/.atoll).")
        self.add_argument("-h", "--help", action="store_true", help="Show this message and exit.")

    def format_help(self) -> str:
        title = "Examples:" if len(self._examples) > 1 else "Example:"
        lines = [f"Usage: {self.prog} [OPTIONS] {self._rest}".rstrip(), "", *_wrapped(self.description or "", "  "), "", "Options:"]
        lines += [line for action in sorted(self._actions, key=_is_help) if action.option_strings for line in _row(action)]
        return "\n".join([*lines, "", f"  {title}", *(f"    {one}" for one in self._examples)]) + "\n"

    def read(self, arguments: Sequence[str]) -> argparse.Namespace:
        """What was typed. Ends the process with help, or with what is wrong."""
        given, unknown = self.parse_known_args(arguments)
        if given.help:
            sys.stdout.write(self.format_help())
            raise SystemExit(OK)
        if unknown:
            self.error(f"no such option: {unknown[0]}" if unknown[0].startswith("-") else f"unexpected argument: {unknown[0]}")
        return given

    def read_with_command(self, arguments: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
        """The options, and the command behind `--`; what begins without a hyphen may stand there without it."""
        ours, found, command = self._split(list(arguments))
        given = self.read(ours)
        if not command:
            self.error(f"a command is missing{' after --' if found else ''}: {self.prog} [OPTIONS] -- COMMAND ...")
        return given, command

    def _split(self, arguments: list[str]) -> tuple[list[str], bool, list[str]]:
        takes_value = {name for action in self._actions if action.nargs != 0 for name in action.option_strings}
        index = 0
        while index < len(arguments) and arguments[index].startswith("-") and arguments[index] != "--":
            index += 2 if arguments[index] in takes_value else 1
        found = arguments[index : index + 1] == ["--"]
        return arguments[:index], found, arguments[index + found :]

    def error(self, message: str) -> NoReturn:
        print_error(f"{message}; see `{self.prog} -h`")
        raise SystemExit(SYNTAX)

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            print_error(f"{action.option_strings[0]} {value}: expected {' or '.join(map(str, action.choices))}")
            raise SystemExit(USAGE)


def _is_help(action: argparse.Action) -> bool:
    return action.dest == "help"


def _wrapped(text: str, indent: str) -> list[str]:
    width = min(WIDTH_MAX, shutil.get_terminal_size().columns) - 2
    return textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent)


def _row(action: argparse.Action) -> list[str]:
    value = "" if action.nargs == 0 else f" {action.metavar or '|'.join(map(str, action.choices or ())) or action.dest.upper()}"
    label = f"  {', '.join(action.option_strings)}{value}"
    lines = _wrapped(action.help or "", " " * LABEL_MAX)
    return [label, *lines] if len(label) > LABEL_MAX - 2 or not lines else [label + lines[0][len(label) :], *lines[1:]]
