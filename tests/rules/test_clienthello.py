"""Which name a TLS client asks for: real hellos of OpenSSL, in every split."""

import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.rules.clienthello import HELLO_MAX_BYTES, NotTls, server_name


def hello(name="mabc.mrap.accesspoint.s3-global.amazonaws.com", version=None, alpn=()):
    context = ssl.create_default_context()
    context.check_hostname = name is not None
    if version:
        context.maximum_version = version
    if alpn:
        context.set_alpn_protocols(alpn)
    sent = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return sent.read()


def in_records(message, size):
    """The same handshake message in records of at most `size` bytes."""
    body = message[5:]
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(message[:3] + len(piece).to_bytes(2, "big") + piece for piece in pieces)


@pytest.mark.parametrize("version", [None, ssl.TLSVersion.TLSv1_2])
def test_the_name_is_found(version):
    assert server_name(hello(version=version, alpn=["h2", "http/1.1"])) == "mabc.mrap.accesspoint.s3-global.amazonaws.com"
    assert server_name(hello("S3.us-east-1.amazonaws.com", version)) == "s3.us-east-1.amazonaws.com"


def test_a_client_that_names_nobody():
    assert server_name(hello(None)) == ""
    assert server_name(hello("127.0.0.1")) == ""


def test_it_waits_for_the_last_byte_however_they_arrive():
    whole = hello()
    assert all(server_name(whole[:count]) is None for count in range(len(whole)))
    assert server_name(whole + b"early data") is not None


@pytest.mark.parametrize("size", [1, 3, 100])
def test_a_hello_in_several_records(size):
    pieces = in_records(hello(), size)
    assert server_name(pieces) == "mabc.mrap.accesspoint.s3-global.amazonaws.com"
    assert server_name(pieces[:-1]) is None


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\n\r\n", b"\x15\x03\x01\0\2\2\x28", b"\x16\x03\x01\0\4\2\0\0\0", b"\x16\x03\x01\0\4\1\0\0\0", b"SSH-2.0-"])
def test_what_is_no_hello_is_said_to_be_none(data):
    with pytest.raises(NotTls):
        server_name(data)


def test_a_hello_that_never_ends_is_given_up():
    endless = b"\x16\x03\x01\x40\x00\x01\xff\xff\xff" + b"\0" * (HELLO_MAX_BYTES + 1)
    with pytest.raises(NotTls):
        server_name(endless)


def test_a_name_that_could_end_the_line_of_a_connect_is_refused():
    with pytest.raises(NotTls):
        server_name(hello("abcdef.test").replace(b"abcdef.test", b"ab\r\ndef.test"[:11]))


@given(st.binary(max_size=300))
def test_no_bytes_break_it(data):
    for given_bytes in (data, b"\x16\x03\x01" + len(data).to_bytes(2, "big") + data, b"\x16\x03\x01" + (len(data) + 4).to_bytes(2, "big") + b"\1" + len(data).to_bytes(3, "big") + data):
        try:
            found = server_name(given_bytes)
        except NotTls:
            continue
        assert found is None or isinstance(found, str)
