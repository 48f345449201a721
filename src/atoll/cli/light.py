"""`atoll exec`, `env`, `status`: the verbs that are typed most, without botocore, rich or an event loop."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from collections.abc import Sequence
from typing import Any

from atoll.node.accounts import NoSuchAccount, account
from atoll.node.environment import Mode, NoSuchPlace, Setting, place_of, setting
from atoll.node.home import Home
from atoll.node.supervisor import NotRunning, ask

# Exit codes (sysexits.h where it has one)
OK, FAILED, USAGE, NOT_FOUND, UNAVAILABLE = 0, 1, 64, 127, 69


def say(text: str) -> None:
    sys.stderr.write(f"atoll: {text}\n")


def _parser(verb: str, what: str, examples: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"atoll {verb}", description=what, epilog=f"examples:\n{examples}", formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--home", help="the world's folder (default: $ATOLL_HOME, else ~/.atoll)")
    return parser


def _run_of(home: Home) -> dict[str, Any]:
    run = home.read_run()
    if run is None:
        raise NotRunning(f"there is no world in {home.root}; start one with `atoll up`")
    return run


def _setting(home: Home, given: argparse.Namespace) -> Setting:
    run = _run_of(home)
    row = place_of(run, given.place) if given.place else run["places"][0]
    whose = account(home.state, given.account) if given.account else None
    mode: Mode = "endpoint" if given.mode == "endpoint" else "proxy"
    return setting(run, home.root, row, mode=mode, node=given.node, account=whose)


def _add_account(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--account", metavar="NAME", help="whose root key pair it signs with (default: the world's first account)")


def run_in_place(arguments: Sequence[str]) -> int:
    """`atoll exec`: becomes the command, so that streams and exit status are its own."""
    parser = _parser(
        "exec",
        "Run a command as if it stood in a place: its AWS calls enter the world there.",
        "  atoll exec --from ap-northeast-1 -- aws s3 ls\n  atoll exec --from london --node -- node app.mjs\n  atoll exec --account second -- aws s3 ls",
    )
    parser.add_argument("--from", dest="place", metavar="PLACE", help="where the command stands (default: the world's first place)")
    parser.add_argument("--mode", choices=("proxy", "endpoint"), default="proxy", help="how it gets in (default: proxy)")
    parser.add_argument("--node", action="store_true", help="also set NODE_OPTIONS for the AWS SDK for JavaScript")
    _add_account(parser)
    parser.add_argument("command", nargs=argparse.REMAINDER, help="-- COMMAND ...")
    given = parser.parse_args(arguments)
    command = given.command[1:] if given.command[:1] == ["--"] else given.command
    if not command:
        parser.error("a command is missing: atoll exec --from PLACE -- COMMAND ...")
    environment = _setting(Home.at(os.environ, given.home), given).onto(os.environ)
    environment["ATOLL_PLACE"] = given.place or ""
    program = shutil.which(command[0], path=environment.get("PATH"))
    if program is None:
        say(f"{command[0]} is not on the PATH")
        return NOT_FOUND
    sys.stdout.flush()
    return os.execve(program, command, environment)  # noqa: S606 - becoming the command is the point


def env(arguments: Sequence[str]) -> int:
    """`atoll env`: the same settings, printed."""
    parser = _parser(
        "env",
        "Print the variables that let clients in this shell enter the world at a place, its key pair among them.",
        '  eval "$(atoll env --from eu-central-1)"\n  atoll env --mode endpoint --json',
    )
    parser.add_argument("--from", dest="place", metavar="PLACE")
    parser.add_argument("--mode", choices=("proxy", "endpoint"), default="proxy")
    parser.add_argument("--node", action="store_true", help="also set NODE_OPTIONS for the AWS SDK for JavaScript")
    _add_account(parser)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    found = _setting(Home.at(os.environ, given.home), given)
    text = json.dumps(dict(found.values), indent=1) if given.json else found.as_shell()
    sys.stdout.write(text + "\n")
    return OK


def status(arguments: Sequence[str]) -> int:
    """`atoll status`: what runs."""
    parser = _parser(
        "status", "Say which places of the world answer, and through which process.", "  atoll status\n  atoll status --json"
    )
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    home = Home.at(os.environ, given.home)
    _run_of(home)
    try:
        told = ask(home.socket, {"do": "status"})
    except NotRunning as error:
        raise NotRunning(f"the world in {home.root} is not up ({error}); start it with `atoll up`") from error
    sys.stdout.write((json.dumps(told, indent=1) if given.json else _table(told)) + "\n")
    return OK if all(place["state"] == "ready" for place in told["places"]) else FAILED


def _table(told: dict[str, Any]) -> str:
    rows = [("place", "kind", "state", "port", "pid", "restarts")]
    rows += [
        (place["name"], place["kind"], place["state"], str(place["port"]), str(place["pid"] or "-"), str(place["restarts"]))
        for place in told["places"]
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([*lines, f"home {told['home']}, profile {told['profile']}, compat {told['compat']}"])


VERBS = {"exec": run_in_place, "env": env, "status": status}


def main(verb: str, arguments: Sequence[str]) -> int:
    try:
        return VERBS[verb](arguments)
    except (NotRunning, NoSuchPlace, NoSuchAccount) as error:
        say(str(error))
        return UNAVAILABLE if isinstance(error, NotRunning) else USAGE
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return OK


