import os
import pty
import select
import signal
import time

import pytest

from atoll.lab.progress import Progress
from atoll.lab.stage_estimates import Stage


def all_of(descriptor):
    """What was written so far."""
    pieces = b""
    while select.select([descriptor], [], [], 0.05)[0]:
        pieces += os.read(descriptor, 65536)
    return pieces.decode()


STAGES = [Stage("one", "reading", 20.0), Stage("two", "writing", 30.0)]


@pytest.fixture
def piped():
    readable, writable = os.pipe()
    yield Progress(STAGES, fd=writable), lambda: all_of(readable)
    os.close(readable)
    os.close(writable)


@pytest.fixture
def terminal():
    controller, terminal = pty.openpty()
    yield Progress(STAGES, fd=terminal), lambda: all_of(controller)
    os.close(controller)
    os.close(terminal)


def test_without_a_terminal_a_plain_line_comes_now_and_then(piped):
    progress, written = piped
    progress.begin("one")
    began = progress._began
    assert written() == "[1/2] reading: about 20 s; the whole run about 50 s\n"
    progress.share(0.5)
    for seconds in range(1, 20):
        progress.tick(began + seconds)
    assert written() == "[1/2] reading 50%; about 40 s left\n"


def test_on_a_terminal_one_line_is_written_again_and_again(terminal):
    progress, written = terminal
    progress.begin("one")
    began = progress._began
    written()
    progress.tick(began + 1)
    progress.tick(began + 2)
    assert written() == "\r\x1b[K[1/2] reading; about 49 s left\r\x1b[K[1/2] reading; about 48 s left"


def test_what_stays_stands_on_a_line_of_its_own(terminal):
    progress, written = terminal
    progress.begin("one")
    progress.tick(progress._began)
    written()
    progress.say("overwritten")
    assert written() == "\r\x1b[Koverwritten\r\n"


def test_a_line_never_wraps(terminal, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    progress, written = terminal
    progress.begin("one")
    written()
    progress.tick(progress._began)
    assert written().removeprefix("\r\x1b[K") == "[1/2] reading; abou"


def test_the_line_moves_whatever_the_run_waits_for(terminal):
    progress, written = terminal
    before = signal.getsignal(signal.SIGALRM)
    with progress.shown():
        progress.begin("one")
        written()
        time.sleep(0.7)
        assert "[1/2] reading; about" in written()
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_reader_that_has_left_stops_nothing():
    readable, writable = os.pipe()
    os.close(readable)
    try:
        Progress(STAGES, fd=writable).begin("one")
    finally:
        os.close(writable)


def test_a_stage_out_of_order_is_a_fault_of_ours(piped):
    with pytest.raises(AssertionError, match="two is not stage 1"):
        piped[0].begin("two")
