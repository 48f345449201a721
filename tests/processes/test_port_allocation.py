import os
import socket
import threading
from pathlib import Path

import pytest

from atoll.processes import port_allocation
from atoll.processes.port_allocation import PortTaken, block, free, holder, is_free, port_lock


@pytest.fixture
def taken():
    """A port where somebody listens, its neighbours free: below the range from which the kernel gives ports to callers."""
    quiet = next(port for port in range(31000 + os.getpid() % 500, 32700) if all(map(is_free, range(port - 4, port + 5))))
    with socket.create_server(("127.0.0.1", quiet)):
        yield quiet


def test_a_port_where_somebody_listens_is_not_free(taken):
    assert not is_free(taken)


def test_a_block_that_is_insisted_on_and_taken_names_who_has_it(taken):
    with pytest.raises(PortTaken) as caught:
        block(3, insist_on=taken)
    command = Path("/proc/self/comm").read_text().strip()
    assert f"port {taken} is held by {command} (pid {os.getpid()})" in str(caught.value)


def test_any_port_of_the_block_counts(taken):
    with pytest.raises(PortTaken, match=f"port {taken} "):
        block(2, insist_on=taken - 1)


def test_a_free_port_is_held_by_nobody_we_can_name():
    (port,) = free(1)
    assert holder(port) == "another process"


def test_a_block_is_a_row_of_free_ports():
    found = block(5)
    assert found == list(range(found[0], found[0] + 5))
    assert all(map(is_free, found))


def test_a_world_comes_back_to_where_it_was():
    was = block(3)
    assert block(3, before=was) == was
    assert free(3, before=was) == was


def test_it_moves_when_somebody_sits_there_now(taken):
    assert taken not in block(1, before=[taken])
    assert taken not in free(1, before=[taken])


def test_another_number_of_places_starts_anew():
    assert len(block(2, before=[50000, 50001, 50002])) == 2
    assert len(free(2, before=[50000])) == 2


def test_when_the_usual_block_is_taken_a_later_one_is_found(taken, monkeypatch):
    monkeypatch.setattr(port_allocation, "FIRST_PORT", taken)
    assert block(2)[0] >= port_allocation.SEARCH_FROM


def test_free_ports_differ():
    assert len(set(free(20))) == 20


def test_worlds_choose_their_ports_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.setattr(port_allocation.tempfile, "gettempdir", lambda: str(tmp_path))
    order = []

    def other():
        with port_lock():
            order.append("other")

    with port_lock():
        thread = threading.Thread(target=other)
        thread.start()
        assert not thread.join(0.05)
        order.append("first")
    thread.join(10)
    assert order == ["first", "other"]


def test_a_world_whose_choice_failed_lets_the_next_one_choose(tmp_path, monkeypatch):
    monkeypatch.setattr(port_allocation.tempfile, "gettempdir", lambda: str(tmp_path))
    with pytest.raises(PortTaken), port_lock():
        raise PortTaken
    with port_lock():
        pass
