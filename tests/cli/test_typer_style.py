"""One style of command line, checked on every command that there is."""

import errno
import itertools
import os
import re
import ssl

import pytest
import typer.main
from typer.testing import CliRunner

from atoll.cli import exits
from atoll.cli.typer_app import app
from atoll.cli.typer_style import App
from atoll.domain.os_error_messages import in_words

pytestmark = pytest.mark.xdist_group("cli")
BARE_TYPE = re.compile(r"<(str|int|float|path|file|list\[.*\]|.* range)>|\b(TEXT|INTEGER|FLOAT|PATH)\b")
OPTION = re.compile(r"^  (-\w, )?--[\w-]+.*$", re.MULTILINE)


def tree(command, path=()):
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from tree(inner, (*path, name))


COMMANDS = [path for path, _ in tree(typer.main.get_command(app))]
LEAVES = [path for path, command in tree(typer.main.get_command(app)) if not getattr(command, "commands", {})]


@pytest.fixture
def run(tmp_path):
    return lambda *arguments: CliRunner().invoke(
        app, [str(argument) for argument in arguments], env={"ATOLL_HOME": str(tmp_path / "none"), "COLUMNS": "100"}, prog_name="atoll"
    )


def test_the_walk_finds_the_commands_and_the_groups():
    assert {(), ("up",), ("exec",), ("lab",), ("lab", "cost"), ("config", "show")} <= set(COMMANDS)


@pytest.mark.parametrize(("path", "flag"), list(itertools.product(COMMANDS, ("-h", "--help"))), ids=lambda part: part if isinstance(part, str) else " ".join(part) or "atoll")
def test_every_command_has_the_same_help(run, path, flag):
    done = run(*path, flag)
    assert (done.exit_code, done.stderr) == (0, "")
    usage, shown = done.stdout.splitlines()[0], done.stdout
    assert usage.startswith(f"Usage: {' '.join(('atoll', *path))} [OPTIONS]")
    assert "-h, --help" in shown
    assert "Show this message and exit." in shown
    example = re.search(r"^  Examples?:\n((?:    .*\n?)+)$", shown, re.MULTILINE)
    assert example, "the help ends with examples"
    assert " ".join(("atoll", *path)) in example[1]
    assert not BARE_TYPE.search(shown), "a metavar says what is meant"
    assert not re.search(r"[╭│╰\x1b]", shown)


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_option_says_what_it_does(run, path):
    lines = run(*path, "-h").stdout.partition("\nOptions:\n")[2].splitlines()
    rows = [(line, following) for line, following in itertools.pairwise([*lines, ""]) if OPTION.match(line)]
    assert [line for line, following in rows if not re.search(r"\S  +\S", line) and not following.startswith("      ")] == []


def errors_of(done):
    lines = done.stderr.splitlines()
    assert lines, "an error says something"
    assert lines[0].startswith("atoll: ")
    assert done.stderr.count("atoll: ") == 1
    assert not re.search(r"Errno|Error:|Traceback|error: ", done.stderr)
    return done.stderr


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_an_option_that_there_is_not_is_refused_with_the_way_to_the_help(run, path):
    done = run(*path, "--zzz")
    assert done.exit_code == exits.SYNTAX
    assert f"--zzz; see `{' '.join(('atoll', *path))} -h`" in errors_of(done)


@pytest.mark.parametrize("path", [path for path in COMMANDS if path not in LEAVES], ids=" ".join)
def test_a_command_that_there_is_not_is_answered_with_those_that_are(run, path):
    done = run(*path, "fly")
    assert done.exit_code == exits.SYNTAX
    output = errors_of(done)
    assert all(leaf[len(path)] in output for leaf in COMMANDS if leaf[: len(path)] == path and len(leaf) > len(path))


@pytest.mark.parametrize("path", [path for path in LEAVES if path not in {("connect",), ("exec",)}], ids=" ".join)
def test_an_argument_too_many_is_refused(run, path):
    done = run(*path, *(("--place", "london", "--data", "d") if path == ("serve",) else ()), "one", "two", "three")
    assert done.exit_code == exits.SYNTAX
    assert "unexpected" in errors_of(done)


# What the operating system refuses: a file for a folder, a folder for a file, nothing for something.
REFUSED = [
    ("up", "--detach", "--world", "FOLDER"), ("up", "--detach", "--world", "NOTHING"), ("up", "--detach", "--world", "BINARY"),
    ("up", "--detach", "--home", "FILE"), ("up", "--detach", "--home", "FILE/in"), ("up", "--detach", "--data", "FILE"),
    ("down", "--place", "london", "--home", "FILE/in"), ("status", "--home", "FILE"),
    ("env", "--home", "FILE"), ("exec", "--home", "FILE", "--", "true"), ("check", "--data", "NOTHING"), ("check", "--data", "FILE"),
    ("explain", "--last", "--home", "FILE/in"), ("explain", "F00", "--home", "NOTHING"), ("connect", "--home", "FILE", "h", "1"),
    ("config", "show", "--home", "HOME"), ("lab", "cost", "--counters", "NOTHING"), ("lab", "cost", "--counters", "FOLDER"),
    ("lab", "cost", "--counters", "BINARY"), ("node-key", "london", "--home", "FILE"), ("node-key", "london", "--world", "FOLDER"),
    ("serve", "--place", "london", "--data", "FILE"), ("serve", "--place", "london", "--data", "HOME", "--world", "BINARY"),
]  # fmt: skip


@pytest.mark.parametrize("arguments", REFUSED, ids=" ".join)
def test_what_the_system_refuses_is_said_in_words(run, tmp_path, arguments):
    (tmp_path / "FOLDER").mkdir()
    (tmp_path / "HOME" / "world.toml").mkdir(parents=True)
    (tmp_path / "FILE").write_text("{}")
    (tmp_path / "BINARY").write_bytes(b"\xff\xfe\x00")
    named = [str(tmp_path / word) if word.split("/")[0] in {"FOLDER", "HOME", "FILE", "BINARY", "NOTHING"} else word for word in arguments]
    done = run(*named)
    assert done.exit_code in set(exits.MEANING) - {0, exits.INTERRUPTED}
    errors_of(done)


def test_error_numbers_become_words():
    assert in_words(FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), "w.toml")) == "w.toml: there is no such file or folder"
    assert in_words(PermissionError(errno.EACCES, os.strerror(errno.EACCES), "/x")) == "/x: permission denied; change its owner or mode, or name another"
    assert in_words(OSError(errno.ENOTTY, os.strerror(errno.ENOTTY))) == "inappropriate ioctl for device"
    assert in_words(OSError("in words already")) == "in words already"
    assert in_words(OSError("Multiple exceptions: [Errno 111] a, [Errno 101] b")) == "Multiple exceptions: a, b"
    assert in_words(ssl.SSLError(1, "EOF occurred in violation of protocol")) == "eof occurred in violation of protocol"
    assert in_words(TimeoutError()) == "no answer in time"


@pytest.mark.parametrize(("error", "code", "words"), [
    (PermissionError(errno.EACCES, "x", "/root/w"), exits.FAILED, "atoll: /root/w: permission denied; change its owner or mode, or name another\n"),
    (KeyboardInterrupt(), exits.INTERRUPTED, ""),
    (BrokenPipeError(errno.EPIPE, "x"), exits.FAILED, ""),
])  # fmt: skip
def test_whatever_a_command_runs_into_is_worded_by_the_style(error, code, words):
    broken = App(help="For this test.")
    broken.callback()(lambda: None)

    @broken.command()
    def breaks():
        raise error

    done = CliRunner().invoke(broken, ["breaks"], prog_name="atoll")
    assert (done.exit_code, done.stderr) == (code, words)


def test_a_program_error_is_not_hidden_in_words():
    broken = App(help="For this test.")
    broken.callback()(lambda: None)

    @broken.command()
    def breaks():
        raise KeyError("a bug")

    assert isinstance(CliRunner().invoke(broken, ["breaks"]).exception, KeyError)


@pytest.mark.parametrize("flag", [("--version",), ("version",)], ids=" ".join)
def test_the_version_is_said_both_ways(run, flag):
    assert re.fullmatch(r"(atoll )?\d+\.\d+\.\d+\n", run(*flag).stdout)


def test_without_a_terminal_there_is_no_colour(run):
    assert "\x1b" not in run("lab", "cost").stdout


def test_every_code_that_a_command_may_end_with_has_a_meaning():
    codes = {value for name, value in vars(exits).items() if name.isupper() and isinstance(value, int)}
    assert codes == set(exits.MEANING)
