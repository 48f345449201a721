"""`atoll up`, `down`, `connect`."""

import re
import resource
import signal
import socket
import stat
from pathlib import Path

import pytest

from atoll.processes.connection_limit import FILES_WANTED

pytestmark = pytest.mark.xdist_group("cli")


def test_up_says_where_to_enter_and_down_ends_it(shell):
    done = shell.up()
    run = shell("status").stdout
    assert "http://127.0.0.1:" in done.stdout
    assert "london" in run
    assert shell("down").stdout == "The world is down.\n"
    done = shell("status")
    assert (done.returncode, "is not up" in done.stderr, "start it with `atoll up`" in done.stderr) == (69, True, True)


def test_every_process_may_open_as_many_files_as_it_is_allowed(shell):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(1024, soft), hard))
    try:
        shell.up()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    output = [Path(f"/proc/{place['pid']}/limits").read_text() for place in shell.places().values()]
    allowed = FILES_WANTED if hard == resource.RLIM_INFINITY else min(hard, FILES_WANTED)
    assert [int(re.search(r"Max open files\s+(\d+)", text)[1]) for text in output] == [allowed] * len(output)


def test_up_twice_says_so_and_succeeds(shell):
    shell.up()
    pid = shell.places()["us-east-1"]["pid"]
    again = shell("up", "--detach")
    assert (again.returncode, "is up already" in again.stdout) == (0, True)
    in_front = shell("up")
    assert (in_front.returncode, "is up already" in in_front.stdout) == (0, True)
    assert shell.places()["us-east-1"]["pid"] == pid


def test_down_twice_says_so_and_succeeds(shell):
    shell.up()
    assert shell("down").returncode == 0
    again = shell("down")
    assert (again.returncode, again.stdout) == (0, f"No world is up in {shell.home}.\n")


def test_a_port_that_is_taken_names_the_process(shell):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = shell("up", "--detach", "--world", "little.toml", "--port", port)
    assert done.returncode == 1
    assert f"port {port} is held by" in done.stderr
    assert "(pid " in done.stderr
    assert "--port" in done.stderr
    assert shell("status").returncode == 69


@pytest.mark.parametrize("port", [0, 65536, "high"])
def test_a_port_that_there_is_not_is_refused(shell, port):
    done = shell("up", "--detach", "--port", port)
    assert (done.returncode, "invalid value for '--port'" in done.stderr) == (2, True)


def test_keys_that_cannot_be_made_say_why(shell):
    shell.home.mkdir()
    (shell.home / "state.db").write_bytes(b"this is no database" * 100)
    done = shell("up", "--detach", "--world", "little.toml")
    assert done.returncode == 1
    assert done.stderr.startswith("atoll: the world's keys could not be made: ")
    assert "file is not a database" in done.stderr


def test_in_the_foreground_it_ends_with_ctrl_c(shell):
    for number in (signal.SIGINT, signal.SIGTERM):
        running = shell.begin("up", "--world", "little.toml")
        while "next:" not in (line := running.stdout.readline()):
            assert line, running.stderr.read()
        running.send_signal(number)
        running.communicate(timeout=20)
        assert running.returncode == 0
        assert shell("down").stdout.startswith("No world is up")


def test_a_world_file_with_faults_is_refused_with_all_of_them(shell):
    (shell.folder / "bad.toml").write_text('profile = "fast"\n[places.mars]\nkind = "planet"\nat = [0, 0]\n')
    done = shell("up", "--detach", "--world", "bad.toml")
    assert done.returncode == 64
    assert all(word in done.stderr for word in ("'fast'", "'planet'", "at least one place"))


def test_settings_that_there_are_not_are_refused(shell):
    done = shell("up", "--detach", "--profile", "fast", "--compat", "loose")
    assert done.returncode == 64
    assert "--profile fast: expected native or aws" in done.stderr
    assert "--compat loose: expected lenient or strict" in done.stderr


def test_a_world_file_that_there_is_not(shell):
    done = shell("up", "--detach", "--world", "none.toml")
    assert done.returncode == 64
    assert "none.toml" in done.stderr


def test_a_world_comes_back_as_itself(shell):
    shell.up("--compat", "strict")
    account, port = shell("exec", "--", "sh", "-c", "echo $AWS_ACCESS_KEY_ID").stdout, shell.places()["london"]["port"]
    assert "compat strict" in shell("status").stdout
    shell("down")
    assert shell("up", "--detach").returncode == 0
    assert shell("exec", "--", "sh", "-c", "echo $AWS_ACCESS_KEY_ID").stdout == account
    assert list(shell.places()) == ["us-east-1", "london", "entry"]
    assert shell.places()["london"]["port"] == port


def test_objects_can_be_kept_elsewhere(shell):
    shell.up("--data", "elsewhere")
    assert (shell.folder / "elsewhere" / "us-east-1").is_dir()
    assert stat.S_IMODE(shell.home.stat().st_mode) == 0o700


def test_places_that_there_are_not_cannot_be_stopped(shell):
    shell.up()
    done = shell("down", "--place", "atlantis")
    assert (done.returncode, done.stderr) == (64, "atoll: atlantis is no process of this world; there are: us-east-1, entry\n")


def test_a_place_of_no_world_cannot_be_started(shell):
    done = shell("up", "--detach", "--place", "us-east-1")
    assert done.returncode == 69
    assert "start it with `atoll up --detach`" in done.stderr


def test_connect_says_why_it_cannot(shell):
    assert shell("connect", "127.0.0.1", 1).returncode == 69
    shell.up()
    shell("down")
    done = shell("connect", "127.0.0.1", 1, stdin="")
    assert done.returncode == 69
    assert "refused" in done.stderr


def test_connect_joins_the_standard_streams_to_a_tunnel(shell):
    shell.up()
    done = shell("connect", "--from", "london", "127.0.0.1", 443, stdin="this is not TLS\r\n\r\n", timeout=20)
    assert done.returncode in (0, 1)
    assert "Traceback" not in done.stderr
