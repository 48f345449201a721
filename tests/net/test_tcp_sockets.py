import errno
import socket

import pytest

from atoll.domain.os_error_messages import in_words
from atoll.net.tcp_sockets import bound, port_of


def test_port_zero_takes_a_free_one_and_nagle_is_off():
    with bound("127.0.0.1") as sock:
        assert port_of(sock) > 0
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_taken_port_is_refused_by_number():
    with bound("127.0.0.1") as sock, pytest.raises(OSError, match=f"port {port_of(sock)}") as caught:
        bound("127.0.0.1", port_of(sock))
    assert in_words(caught.value) == f"{caught.value.filename}: in use by another process"
    assert caught.value.errno == errno.EADDRINUSE
