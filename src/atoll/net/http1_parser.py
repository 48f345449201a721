"""Parses HTTP/1.1 requests, and refuses those whose framing is in doubt.

Two parsers that disagree about where a request ends are a security hole (RFC 9112 §11.2). llhttp, in strict mode, refuses
folded lines, bare CR or LF, NUL, doubled or malformed lengths, and a length beside Transfer-Encoding; this module adds what
it leaves open. Whatever is refused ends the connection: nobody can tell where the next request would begin.
"""

from __future__ import annotations

from collections.abc import Callable

import httptools
import msgspec

from atoll.domain.http_message import EMPTY, Body, Request
from atoll.domain.quotas import KiB
from atoll.net.body_stream import FlowControl, IncomingBody

HEAD_MAX_BYTES = 64 * KiB  # request line and header section; ours (S3 allows 8 KiB of headers, proxies add theirs)
HEADERS_MAX = 200  # fields in one header section, and in one trailer section
SMALL_BODY_BYTES = 64 * KiB  # bodies up to here are handed over whole
QUIET_MAX_BYTES = HEAD_MAX_BYTES + 256 * KiB  # bytes that bring neither a header section to its end nor a body forward

# Decoding and lowering a name costs 0.15 µs, looking it up 0.04; the spellings that SDKs use.
_SPELLINGS = (
    "Host Content-Length Content-Type Content-MD5 Content-Encoding User-Agent Accept Accept-Encoding Connection Expect Date Range "
    "Authorization X-Amz-Date X-Amz-Content-SHA256 x-amz-content-sha256 X-Amz-Security-Token X-Amz-Decoded-Content-Length "
    "Transfer-Encoding If-Match If-None-Match amz-sdk-invocation-id amz-sdk-request X-Amz-Region-Set x-amz-checksum-mode "
    "x-amz-sdk-checksum-algorithm x-amz-checksum-crc32 x-amz-checksum-crc64nvme X-Amz-Trailer x-amz-trailer x-amz-date"
)
_NAMES = {each.encode(): each.lower() for each in f"{_SPELLINGS} {_SPELLINGS.lower()}".split()}


class Refusal(Exception):
    """These bytes are no request that we take: answer `status`, close."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.status = status
        self.code = code
        self.message = message


def _bad_request(message: str) -> Refusal:
    return Refusal(400, "BadRequest", message)


class Exchange(msgspec.Struct):
    """One request on its connection.

    `incoming_body` is None when the body came whole. `keep`: the client wants another one. `old`: it speaks HTTP/1.0, which knows no
    chunks.
    """

    request: Request
    incoming_body: IncomingBody | None = None
    keep: bool = True
    expect: bool = False
    old: bool = False


class ConnectRequest(msgspec.Struct):
    """A CONNECT: from here on the connection speaks something else. `rest` are the first bytes of that."""

    host: str
    port: int
    headers: dict[str, str] = {}
    rest: bytes = b""


class RequestReader:
    """Bytes in (`feed`), exchanges out (through `take`, in order of arrival). Raises Refusal."""

    def __init__(self, flow_control: FlowControl, take: Callable[[Exchange | ConnectRequest], None], *, peer: str, secure: bool) -> None:
        self._flow_control = flow_control
        self._take = take
        self._peer = peer
        self._secure = secure
        self._now = 0.0
        self.in_head = False
        self.incoming_body: IncomingBody | None = None
        self.ended = False
        self.reset()

    def reset(self) -> None:
        """Expect a new request line, whatever was announced before (after an early answer to Expect: 100-continue)."""
        self._parser = httptools.HttpRequestParser(self)
        self._begin()

    def _begin(self) -> None:
        self._url = b""
        self._headers: dict[str, str] = {}
        self._fields: list[tuple[bytes, bytes]] = []
        self._quiet_bytes = 0
        self._ready: Exchange | None = None
        self._pieces: list[bytes] = []
        self._waiting_for_small = False
        self._connect = False
        self.in_head = False
        self.incoming_body = None

    @property
    def in_small_body(self) -> bool:
        """Is a body being gathered that will be handed over whole?"""
        return self._ready is not None and self.incoming_body is None

    @property
    def in_body(self) -> bool:
        return self.incoming_body is not None or self._ready is not None

    def close(self) -> None:
        """Break the cycle between parser and callbacks, so that no collection is needed."""
        del self._parser
        self.ended = True

    def feed(self, chunk: bytes, now: float) -> None:
        self._now = now
        self._quiet_bytes += len(chunk)
        try:
            self._parser.feed_data(chunk)
        except httptools.HttpParserUpgrade as upgrade:
            self._upgraded(chunk, int(upgrade.args[0]))
        except httptools.HttpParserError as error:
            if not self.ended or self.in_body:  # bytes after `Connection: close` mean nothing
                self._hand_over_begun()  # who sends a broken body hears the same, whether it came with its head or after it
                raise self._refusal(error) from error
        self._hand_over_begun()
        if self._quiet_bytes > QUIET_MAX_BYTES:
            raise _too_large()

    def _refusal(self, error: httptools.HttpParserError) -> Refusal:
        ours = error.__context__
        return ours if isinstance(ours, Refusal) else _bad_request(f"This is not HTTP/1.1: {error}.")

    def _upgraded(self, chunk: bytes, end: int) -> None:
        if self._connect:
            self.ended = True
            host, port = _authority(self._url)
            self._take(ConnectRequest(host, port, self._headers, chunk[end:]))
        elif rest := chunk[end:]:  # RFC 9110 §7.8: an Upgrade may be ignored; ours always are
            self._parser = httptools.HttpRequestParser(self)
            self.feed(rest, self._now)
        else:
            self._parser = httptools.HttpRequestParser(self)

    # ---- callbacks of the parser, in the order in which they come

    def on_message_begin(self) -> None:
        self.in_head = True

    def on_url(self, url: bytes) -> None:
        self._url += url
        if len(self._url) > HEAD_MAX_BYTES:
            raise _too_large()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.in_head:  # trailers are not kept: signed ones travel inside aws-chunked, never here
            self._fields.append((name, value))

    def on_headers_complete(self) -> None:
        method = self._parser.get_method().decode("latin-1")
        headers = self._headers = _joined(self._fields, HEAD_MAX_BYTES - len(self._url))
        old = self._is_http10(headers)
        keep = not old and ("connection" not in headers or "close" not in headers["connection"].lower())
        if not old and "host" not in headers:
            raise _bad_request("The Host header is missing.")  # RFC 9112 §3.2
        self._fields = []
        self._quiet_bytes = 0
        self.in_head = False
        if method == "CONNECT":
            self._connect = True
            return
        target = _origin_form(method, self._url.decode("latin-1"), headers)
        request = Request(method, target, headers, EMPTY, self._peer, self._secure, self._now)
        self._frame(headers)
        self._ready = Exchange(request, None, keep, _expects(headers), old)
        self.ended = not keep

    def _is_http10(self, headers: dict[str, str]) -> bool:
        if "connection" not in headers and "proxy-connection" not in headers and self._parser.should_keep_alive():
            return False  # nobody said so, then it is 1.1: asking for the version makes llhttp's binding format a text
        version = self._parser.get_http_version()
        if version == "1.1":
            return False
        if version != "1.0":
            raise Refusal(505, "HTTPVersionNotSupported", "This server speaks HTTP/1.1.")
        if "transfer-encoding" in headers:
            raise _bad_request("HTTP/1.0 has no Transfer-Encoding.")  # RFC 9112 §6.1
        return True

    def _frame(self, headers: dict[str, str]) -> None:
        coding = headers.get("transfer-encoding")
        if coding is None and "content-length" not in headers:
            self._waiting_for_small = True
            return
        length = int(headers.get("content-length", "0"))
        if coding is not None:
            if coding.lower() != "chunked":
                raise Refusal(501, "NotImplemented", "Transfer-Encoding other than chunked is not implemented.")
            self.incoming_body = IncomingBody(self._flow_control, None)
        elif length > SMALL_BODY_BYTES or (length and "expect" in headers):
            self.incoming_body = IncomingBody(self._flow_control, length)
        else:
            self._waiting_for_small = True
        if "upgrade" in headers and (coding or length) and self._parser.should_upgrade():
            raise Refusal(501, "NotImplemented", "A body beside Upgrade is not implemented.")  # llhttp would skip it

    def on_chunk_header(self) -> None:
        self._quiet_bytes = 0

    def on_body(self, piece: bytes) -> None:
        self._quiet_bytes = 0
        if self.incoming_body is None:
            self._pieces.append(piece)
        else:
            self.incoming_body.push(piece)

    def on_message_complete(self) -> None:
        if self._connect:
            return
        if self._ready is not None:
            self._hand_over_whole(self._ready)
        elif self.incoming_body is not None:
            self.incoming_body.finish()
        self._begin()

    # ---- and out

    def _hand_over_whole(self, exchange: Exchange) -> None:
        if self.incoming_body is None:
            if self._pieces:
                exchange.request.body = Body.of(b"".join(self._pieces))
        else:
            self.incoming_body.finish()
            whole = self.incoming_body.small(SMALL_BODY_BYTES)
            if whole is None:
                exchange.request.body = Body(self.incoming_body, self.incoming_body.length)
                exchange.incoming_body = self.incoming_body
            else:
                exchange.request.body = Body(None, self.incoming_body.length, whole)
        self._take(exchange)

    def _hand_over_begun(self) -> None:
        """A request whose body will go on arriving."""
        exchange, incoming_body = self._ready, self.incoming_body
        if exchange is not None and incoming_body is not None:
            exchange.incoming_body = incoming_body
            exchange.request.body = Body(incoming_body, incoming_body.length)
            self._ready = None
            self._take(exchange)


def _joined(fields: list[tuple[bytes, bytes]], max_bytes: int) -> dict[str, str]:
    """Names in lower case, values trimmed, repeated fields joined in order of arrival (RFC 9110 §5.3)."""
    if len(fields) > HEADERS_MAX:
        raise _too_large()
    headers: dict[str, str] = {}
    size = 0
    for name, value in fields:
        size += len(name) + len(value) + 4
        key = _NAMES.get(name) or name.decode("latin-1").lower()
        text = value.decode("latin-1").rstrip(" \t")
        if key not in headers:
            headers[key] = text
        elif key == "host":
            raise _bad_request("There is more than one Host header.")  # RFC 9112 §3.2
        else:
            headers[key] += "," + text
    if size > max_bytes:
        raise _too_large()
    return headers


def _too_large() -> Refusal:
    message = f"The header section is larger than {HEAD_MAX_BYTES} bytes or has more than {HEADERS_MAX} fields."
    return Refusal(400, "RequestHeaderSectionTooLarge", message)


def _expects(headers: dict[str, str]) -> bool:
    expectation = headers.get("expect")
    if expectation is None:
        return False
    if expectation.lower() != "100-continue":
        raise Refusal(417, "ExpectationFailed", "The only expectation is 100-continue.")  # RFC 9110 §10.1.1
    return True


def _origin_form(method: str, target: str, headers: dict[str, str]) -> str:
    """The path?query of any request target. Of the absolute form (RFC 9112 §3.2.2) the URI's authority becomes the host."""
    if target.startswith("/") or (target == "*" and method == "OPTIONS"):
        return target
    scheme, separator, rest = target.partition("://")
    if not separator or scheme.lower() not in ("http", "https"):
        raise _bad_request("The request target is neither a path nor an http URI.")
    end = min((at for at in (rest.find("/"), rest.find("?")) if at >= 0), default=len(rest))
    authority, path = rest[:end], rest[end:]
    if not authority or "@" in authority:
        raise _bad_request("The request target has no usable host.")
    headers["host"] = authority
    return path if path.startswith("/") else "/" + path


def _authority(url: bytes) -> tuple[str, int]:
    host, separator, port = url.decode("latin-1").rpartition(":")
    if not separator or not host or not port.isascii() or not port.isdecimal() or len(port) > 5 or not 0 < int(port) < 65536:
        raise _bad_request("CONNECT wants host:port.")
    return host.removeprefix("[").removesuffix("]"), int(port)
