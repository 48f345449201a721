"""The server name in a TLS ClientHello, from the first bytes of a connection (RFC 8446 section 4.1.2, RFC 6066 section 3)."""

from __future__ import annotations

RECORD_HEADER_BYTES = 5
HANDSHAKE, CLIENT_HELLO, SERVER_NAME, HOST_NAME = 22, 1, 0, 0
HELLO_MAX_BYTES = 64 * 1024  # of all records of a hello together; real ones have at most a few KiB


class NotTls(ValueError):
    """These bytes are no ClientHello."""


def server_name(data: bytes) -> str | None:
    """The name in a ClientHello, "" if it names none (it was dialled by address); None while more bytes are needed.
    Raises NotTls."""
    message = _message(data)
    if message is None:
        return None
    try:
        return _name_of(message)
    except IndexError:
        raise NotTls("the ClientHello is cut short") from None


def _message(data: bytes) -> bytes | None:
    """The handshake message, put together from its records; None while it is not all there."""
    message, at = b"", 0
    while at + RECORD_HEADER_BYTES <= len(data):
        if data[at] != HANDSHAKE:
            raise NotTls("the first record is no handshake")
        size = int.from_bytes(data[at + 3 : at + 5])
        message += data[at + RECORD_HEADER_BYTES : at + RECORD_HEADER_BYTES + size]
        at += RECORD_HEADER_BYTES + size
        if message[:1] and message[0] != CLIENT_HELLO:
            raise NotTls("the first message is no ClientHello")
        if len(message) >= 4 and len(message) >= 4 + int.from_bytes(message[1:4]):
            return message
    if len(data) > HELLO_MAX_BYTES or (data and data[0] != HANDSHAKE):
        raise NotTls("there is no ClientHello at the beginning")
    return None


def _name_of(message: bytes) -> str:
    at = 4 + 2 + 32  # header, version, random
    at += 1 + message[at]  # session id
    at += 2 + _number(message, at)  # cipher suites
    at += 1 + message[at]  # compression methods
    if at >= len(message):
        return ""  # no extensions
    end = at + 2 + _number(message, at)
    at += 2
    while at + 4 <= end:
        kind, size = _number(message, at), _number(message, at + 2)
        if kind == SERVER_NAME:
            return _host_name(message, at + 4)
        at += 4 + size
    return ""


def _host_name(message: bytes, at: int) -> str:
    """The first entry of a server name list."""
    if message[at + 2] != HOST_NAME:
        return ""
    size = _number(message, at + 3)
    name = message[at + 5 : at + 5 + size].decode("latin-1")
    if not name or not name.isascii() or not all(letter.isalnum() or letter in "-._" for letter in name):
        raise NotTls("the server name is not one")
    return name.lower()


def _number(message: bytes, at: int) -> int:
    return message[at] << 8 | message[at + 1]
