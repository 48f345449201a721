"""Exit codes of the command line, what each means, and the one way in which a message is printed. sysexits.h where it has one."""

from __future__ import annotations

import sys
from collections.abc import Mapping

OK, FAILED, SYNTAX, USAGE, UNAVAILABLE, CONFIG, NOT_FOUND, INTERRUPTED = 0, 1, 2, 64, 69, 78, 127, 130

MEANING: Mapping[int, str] = {
    OK: "It is done.",
    FAILED: "It was tried and failed; of `check`: something is broken; of `status`: a place does not answer.",
    SYNTAX: "The command line cannot be read: an unknown command or option, one that is missing, a value of the wrong form.",
    USAGE: "It can be read, but names something that there is not, or a file that cannot be used: a place, a price, a profile.",
    UNAVAILABLE: "The world is not up.",
    CONFIG: "What the operator must provide for a node is missing or wrong: its keys and certificates.",
    NOT_FOUND: "What was asked for is not there: a program for `exec`, a request for `explain`, a store for `check`.",
    INTERRUPTED: "Interrupted by Ctrl-C.",
}


def print_error(text: str) -> None:
    """A message for a person: to standard error, prefixed once."""
    sys.stderr.write(f"atoll: {text}\n")
