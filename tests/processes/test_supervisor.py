import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from atoll.processes.supervisor import NotRunning, ask

KEPT = Path(__file__).parent / "supervised_children.py"
PATIENCE_S = 20


class Kept:
    """A supervisor in a process of its own."""

    def __init__(self, folder, *children):
        self.folder, self.socket = folder, str(folder / "s.sock")
        self.process = subprocess.Popen([sys.executable, str(KEPT), str(folder), *children], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def ready(self):
        assert self.process.stdout.readline() == "ready\n"
        return self

    def ask(self, **request):
        return ask(self.socket, request)

    def rows(self):
        return {row["name"]: row for row in self.ask(do="status")["places"]}

    def end(self):
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, out, err


@pytest.fixture
def kept(tmp_path):
    begun = []

    def begin(*children):
        begun.append(Kept(tmp_path, *children))
        return begun[-1]

    yield begin
    for one in begun:
        if one.process.poll() is None:
            one.process.terminate()
            one.process.communicate(timeout=PATIENCE_S)


def until(condition):
    end = time.monotonic() + PATIENCE_S
    while not (found := condition()):
        assert time.monotonic() < end, "it never came to be"
        time.sleep(0.01)
    return found


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_it_is_ready_when_all_are_and_says_who_stands_for_what(kept):
    world = kept("a=lasting", "b=lasting").ready()
    result = world.ask(do="status")
    assert result["supervisor"] == world.process.pid
    assert result["home"] == str(world.folder)
    assert [(row["name"], row["state"], row["restarts"], row["process"]) for row in result["places"]] == [("a", "ready", 0, "a"), ("b", "ready", 0, "b")]
    assert len({row["pid"] for row in result["places"]}) == 2


def test_a_process_that_was_killed_is_started_again(kept):
    world = kept("a=lasting", "b=lasting").ready()
    before = world.rows()
    os.kill(before["a"]["pid"], signal.SIGKILL)
    after = until(lambda: (rows := world.rows())["a"]["state"] == "ready" and rows["a"]["pid"] != before["a"]["pid"] and rows)
    assert after["a"]["restarts"] == 1
    assert after["b"]["pid"] == before["b"]["pid"]


def test_a_process_that_falls_often_after_it_was_ready_is_kept_alive(kept):
    world = kept("a=brittle").ready()
    (world.folder / "fall").touch()
    until(lambda: world.rows()["a"]["restarts"] >= 4)
    (world.folder / "fall").unlink()
    until(lambda: world.rows()["a"]["state"] == "ready")
    assert "about to fall" in (world.folder / "a.err").read_text()


def test_a_place_is_stopped_and_started_while_the_others_go_on(kept):
    world = kept("a=lasting", "b=lasting").ready()
    before = world.rows()
    result = world.ask(do="stop", place="a")
    assert [(row["name"], row["state"], row["pid"]) for row in result["places"]] == [("a", "stopped", None), ("b", "ready", before["b"]["pid"])]
    assert not alive(before["a"]["pid"])
    result = world.ask(do="start", place="a")
    assert result["places"][0]["state"] == "ready"
    assert result["places"][0]["pid"] != before["a"]["pid"]


def test_the_processes_of_a_place_stop_and_start_together_and_are_replaced_one_by_one(kept):
    world = kept("a=lasting", "a.1=lasting", "a.2=lasting", "b=lasting").ready()
    before = world.rows()
    assert [row["process"] for row in before["a"]["workers"]] == ["a.1", "a.2"]
    assert "workers" not in before["b"]
    os.kill(before["a"]["workers"][0]["pid"], signal.SIGKILL)
    after = until(lambda: (row := world.rows()["a"])["workers"][0]["state"] == "ready" and row["workers"][0]["restarts"] == 1 and row)
    assert after["pid"] == before["a"]["pid"]
    row = world.ask(do="stop", place="a")["places"][0]
    assert [row["state"], *(one["state"] for one in row["workers"])] == ["stopped"] * 3
    assert world.rows()["b"]["state"] == "ready"
    row = world.ask(do="start", place="a")["places"][0]
    assert [row["state"], *(one["state"] for one in row["workers"])] == ["ready"] * 3
    assert world.ask(do="stop", place="a.1")["error"] == "a.1 is no process of this world; there are: a, b"


def test_stopping_what_is_stopped_and_starting_what_runs_changes_nothing(kept):
    world = kept("a=lasting").ready()
    pid = world.rows()["a"]["pid"]
    assert world.ask(do="start", place="a")["places"][0]["pid"] == pid
    world.ask(do="stop", place="a")
    assert world.ask(do="stop", place="a")["places"][0]["state"] == "stopped"


def test_a_stopped_place_is_not_started_again_by_itself(kept):
    world = kept("a=lasting", "b=lasting").ready()
    world.ask(do="stop", place="a")
    os.kill(world.rows()["b"]["pid"], signal.SIGKILL)
    until(lambda: world.rows()["b"]["restarts"] == 1)
    assert world.rows()["a"]["state"] == "stopped"


def test_a_place_that_there_is_not_is_refused_with_those_that_are(kept):
    world = kept("a=lasting", "b=lasting").ready()
    assert world.ask(do="stop", place="atlantis")["error"] == "atlantis is no process of this world; there are: a, b"
    assert "unknown request" in world.ask(do="dance")["error"]


@pytest.mark.parametrize("line", [b"not json\n", b"{}", b"[1]\n", b"x" * 70_000 + b"\n"])
def test_nonsense_on_the_socket_is_answered_and_harms_nobody(kept, line):
    world = kept("a=lasting").ready()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(world.socket)
        connection.sendall(line)
        connection.shutdown(socket.SHUT_WR)
        assert "error" in json.loads(connection.makefile().readline() or '{"error": "closed"}')
    assert world.rows()["a"]["state"] == "ready"


def test_shutdown_is_answered_when_all_have_ended(kept):
    world = kept("a=lasting", "b=lasting").ready()
    pids = [row["pid"] for row in world.rows().values()]
    result = world.ask(do="shutdown")
    assert {row["state"] for row in result["places"]} == {"stopped"}
    assert not any(map(alive, pids))
    assert world.end()[0] == 0
    assert not Path(world.socket).exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_all_of_them(kept, number):
    world = kept("a=lasting", "b=lasting").ready()
    pids = [row["pid"] for row in world.rows().values()]
    world.process.send_signal(number)
    assert world.end()[0] == 0
    assert not any(map(alive, pids))


def test_who_does_not_listen_is_killed_after_the_grace(kept):
    world = kept("a=stubborn").ready()
    pid = world.rows()["a"]["pid"]
    assert world.ask(do="stop", place="a")["places"][0]["state"] == "stopped"
    assert not alive(pid)


def test_a_process_that_never_starts_fails_the_world_and_says_where_its_words_are(kept):
    world = kept("good=lasting", "bad=stillborn")
    status, out, err = world.end()
    assert (status, out) == (1, "")
    assert err.strip().endswith(f"stillborn: bad does not start; see {world.folder / 'bad.err'}")
    assert "RuntimeError: no such luck" in (world.folder / "bad.err").read_text()


def test_children_end_when_their_supervisor_is_killed(kept):
    world = kept("a=lasting", "b=lasting").ready()
    pids = [row["pid"] for row in world.rows().values()]
    world.process.kill()
    world.process.communicate(timeout=PATIENCE_S)
    until(lambda: not any(map(alive, pids)))


def test_a_shutdown_before_all_are_ready_is_a_shutdown(kept):
    world = kept("a=lasting", "b=slow")
    until(lambda: Path(world.socket).exists() and world.rows()["a"]["state"] == "ready")
    assert world.rows()["b"]["state"] == "starting"
    world.ask(do="shutdown")
    assert world.end()[:2] == (0, "")


def test_a_place_that_is_told_to_start_while_it_stops_comes_back(kept):
    world = kept("a=stubborn").ready()
    pid = world.rows()["a"]["pid"]
    with socket.socket(socket.AF_UNIX) as stopping:
        stopping.connect(world.socket)
        stopping.sendall(b'{"do": "stop", "place": "a"}\n')
        until(lambda: world.rows()["a"]["state"] == "stopping")
        result = world.ask(do="start", place="a")
    assert result["places"][0]["state"] == "ready"
    assert result["places"][0]["pid"] != pid


def test_nobody_answers_where_no_world_is(tmp_path):
    with pytest.raises(NotRunning):
        ask(str(tmp_path / "none.sock"), {"do": "status"})
