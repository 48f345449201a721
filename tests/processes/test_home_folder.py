import stat

import pytest

from atoll.processes.home_folder import SOCKET_PATH_MAX, Home, write_whole


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_what_is_given_wins_over_the_environment_and_that_over_the_default(tmp_path):
    assert Home.at({"ATOLL_HOME": "/somewhere"}, str(tmp_path)).root == tmp_path
    assert str(Home.at({"ATOLL_HOME": "/somewhere"}).root) == "/somewhere"
    assert Home.at({}).root.name == ".atoll"


def test_a_relative_home_does_not_move_when_the_process_does(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Home.at({}, "here").root == tmp_path / "here"


def test_nobody_else_may_look_into_a_home(tmp_path):
    home = Home(tmp_path / "w").make().make()
    assert {mode(folder) for folder in (home.root, home.logs, home.stores, home.aws)} == {0o700}


def test_what_runs_can_be_read_back(tmp_path):
    home = Home(tmp_path)
    assert home.read_run() is None
    home.write_run({"places": [{"name": "london"}]})
    assert home.read_run() == {"places": [{"name": "london"}]}
    assert mode(home.run) == 0o600


def test_half_a_file_is_as_none(tmp_path):
    home = Home(tmp_path)
    home.run.write_text('{"places": [')
    assert home.read_run() is None


def test_a_small_file_is_replaced_whole_and_leaves_nothing_beside_it(tmp_path):
    target = tmp_path / "f"
    write_whole(target, b"old")
    write_whole(target, b"new", 0o640)
    assert (target.read_bytes(), [path.name for path in tmp_path.iterdir()]) == (b"new", ["f"])


def test_the_control_socket_of_a_deep_home_has_a_name_that_fits(tmp_path):
    assert Home(tmp_path).socket == str(tmp_path / "control.sock") or len(str(tmp_path)) > SOCKET_PATH_MAX - 13
    deep = Home(tmp_path / ("d" * 120))
    assert deep.socket.startswith("\0atoll-")
    assert len(deep.socket) < SOCKET_PATH_MAX
    assert deep.socket == Home(tmp_path / ("d" * 120)).socket
    assert deep.socket != Home(tmp_path / ("e" * 120)).socket


@pytest.mark.parametrize(("name", "where"), [("state", "state.db"), ("node_key", "node.key"), ("ca", "ca.pem"), ("world", "world.toml"), ("lock", "lock")])
def test_everything_lies_in_the_home(tmp_path, name, where):
    assert getattr(Home(tmp_path), name) == tmp_path / where


def test_each_process_has_its_log_and_each_region_its_store(tmp_path):
    home = Home(tmp_path)
    assert home.log("entry") == tmp_path / "logs" / "entry.jsonl"
    assert home.store("us-east-1") == tmp_path / "stores" / "us-east-1"
