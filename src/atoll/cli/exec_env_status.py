"""`atoll exec`, `env`, `status`: the verbs that are typed most, without botocore, rich or an event loop."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import Any

from atoll.cli.arguments import Parser
from atoll.cli.exits import FAILED, INTERRUPTED, NOT_FOUND, OK, UNAVAILABLE, USAGE, print_error
from atoll.domain.os_error_messages import in_words
from atoll.processes.account_reader import NoSuchAccount, account
from atoll.processes.client_environment import MODES, NoSuchPlace, Setting, place_of, setting
from atoll.processes.home_folder import Home
from atoll.processes.supervisor import NotRunning, ask


class CannotSeal(Exception):
    """A command cannot run sealed here. The text says why and what helps."""


def _read_run(home: Home) -> dict[str, Any]:
    run = home.read_run()
    if run is None:
        raise NotRunning(f"there is no world in {home.root}; start one with `atoll up`")
    return run


def _place(home: Home, place: str | None) -> Mapping[str, Any]:
    run = _read_run(home)
    return place_of(run, place) if place else run["places"][0]


def _environment_of(home: Home, given: Namespace) -> Setting:
    whose = account(home.state, given.account) if given.account else None
    return setting(_read_run(home), home.root, _place(home, given.place), mode=given.mode, node=given.node, account=whose)


def _add_account(parser: Parser) -> None:
    parser.add_argument("--account", metavar="NAME", help="Whose root key pair it signs with (default: the world's first account).")


def _seal(home: Home, place: str | None) -> None:
    """Give this process a network in which there is the place and nothing else. Raises CannotSeal."""
    from atoll.net.namespaces import NoNamespaces
    from atoll.processes import sealed_exec

    try:
        sealed_exec.enter(home, _place(home, place))
    except (NoNamespaces, sealed_exec.EntryAway) as error:
        raise CannotSeal(str(error)) from error


def run_in_place(arguments: Sequence[str]) -> int:
    """`atoll exec`: becomes the command, so that streams and exit status are its own."""
    parser = Parser(
        "exec",
        "Run a command as if it stood in a place: its AWS calls enter the world there. The exit code is the command's.",
        (
            "atoll exec --from ap-northeast-1 -- aws s3 ls",
            "atoll exec --from london --node -- node app.mjs",
            "atoll exec --from ap-northeast-1 --mode sealed -- python job.py",
            "atoll exec --account second -- aws s3 ls",
        ),
        rest="-- COMMAND ...",
    )
    parser.add_argument("--from", dest="place", metavar="PLACE", help="Where the command stands (default: the world's first place).")
    parser.add_argument(
        "--mode",
        choices=MODES,
        default="proxy",
        help="How it gets in (default: proxy); sealed: in a network of its own where AWS's names lead to the place and nothing else is reachable.",
    )
    parser.add_argument("--node", action="store_true", help="Also set NODE_OPTIONS for the AWS SDK for JavaScript.")
    _add_account(parser)
    given, command = parser.read_with_command(arguments)
    home = Home.at(os.environ, given.home)
    environment = _environment_of(home, given).applied_to(os.environ)
    environment["ATOLL_PLACE"] = given.place or ""
    program = shutil.which(command[0], path=environment.get("PATH"))
    if program is None:
        print_error(f"{command[0]} is not on the PATH")
        return NOT_FOUND
    if given.mode == "sealed":
        _seal(home, given.place)
    sys.stdout.flush()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and the command would inherit that
    return os.execve(program, command, environment)  # noqa: S606 - becoming the command is the point


def env(arguments: Sequence[str]) -> int:
    """`atoll env`: the same settings, printed."""
    parser = Parser(
        "env",
        "Print the variables that let clients in this shell enter the world at a place, its key pair among them.",
        ('eval "$(atoll env --from eu-central-1)"', "atoll env --mode endpoint --json"),
    )
    parser.add_argument("--from", dest="place", metavar="PLACE", help="Where the shell stands (default: the world's first place).")
    parser.add_argument("--mode", choices=("proxy", "endpoint"), default="proxy", help="How clients get in (default: proxy).")
    parser.add_argument("--node", action="store_true", help="Also set NODE_OPTIONS for the AWS SDK for JavaScript.")
    _add_account(parser)
    parser.add_argument("--json", action="store_true", help="Print JSON.")
    given = parser.read(arguments)
    found = _environment_of(Home.at(os.environ, given.home), given)
    text = json.dumps(dict(found.values), indent=1) if given.json else found.as_shell()
    sys.stdout.write(text + "\n")
    return OK


def status(arguments: Sequence[str]) -> int:
    """`atoll status`: what runs."""
    parser = Parser("status", "Say which places of the world answer, and through which process.", ("atoll status", "atoll status --json"))
    parser.add_argument("--json", action="store_true", help="Print JSON.")
    given = parser.read(arguments)
    home = Home.at(os.environ, given.home)
    _read_run(home)
    try:
        reply = ask(home.socket, {"do": "status"})
    except NotRunning as error:
        raise NotRunning(f"the world in {home.root} is not up ({error}); start it with `atoll up`") from error
    sys.stdout.write((json.dumps(reply, indent=1) if given.json else _table(reply)) + "\n")
    return OK if all(place["state"] == "ready" for place in reply["places"]) else FAILED


def _table(reply: dict[str, Any]) -> str:
    rows = [("place", "kind", "state", "port", "pid", "restarts")]
    rows += [
        (place["name"], place["kind"], place["state"], str(place["port"]), str(place["pid"] or "-"), str(place["restarts"]))
        for place in reply["places"]
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([*lines, f"home {reply['home']}, profile {reply['profile']}, compat {reply['compat']}"])


VERBS = {"exec": run_in_place, "env": env, "status": status}


def main(verb: str, arguments: Sequence[str]) -> int:
    try:
        return VERBS[verb](arguments)
    except (NotRunning, NoSuchPlace, NoSuchAccount, CannotSeal) as error:
        print_error(str(error))
        return USAGE if isinstance(error, (NoSuchPlace, NoSuchAccount)) else UNAVAILABLE
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return OK
    except OSError as error:
        print_error(in_words(error))
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED


