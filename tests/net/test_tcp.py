import errno
import socket

import pytest

from atoll.net.tcp import bound, bound_block, free_block, port_of


def test_port_zero_takes_a_free_one_and_nagle_is_off():
    with bound("127.0.0.1") as sock:
        assert port_of(sock) > 0
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_taken_port_is_refused_by_number():
    with bound("127.0.0.1") as sock, pytest.raises(OSError, match=f"port {port_of(sock)}: ") as caught:
        bound_block("127.0.0.1", port_of(sock), 1)
    assert caught.value.errno == errno.EADDRINUSE


def test_a_block_that_is_partly_taken_gives_back_what_it_took():
    with bound("127.0.0.1") as second:
        port = port_of(second)
        with pytest.raises(OSError, match=f"port {port}: "):
            bound_block("127.0.0.1", port - 1, 2)
        bound("127.0.0.1", port - 1).close()


def test_a_free_block_is_found_above_a_taken_port():
    with bound("127.0.0.1") as taken:
        block = free_block("127.0.0.1", port_of(taken), 3)
        ports = [port_of(sock) for sock in block]
        for sock in block:
            sock.close()
    assert ports == list(range(ports[0], ports[0] + 3))
