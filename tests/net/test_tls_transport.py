import asyncio
import hashlib
import socket
import ssl
import subprocess
from contextlib import asynccontextmanager

import pytest

from atoll.domain.errors import Upstream
from atoll.domain.http_message import Body, Request, Response
from atoll.net import certificates, tcp_sockets, tls_transport
from atoll.net.http1_pool import Pool
from atoll.net.http1_server import Http1Server
from atoll.net.tls_transport import dial_tls, over_tls, tls_or_plain
from net.servers import PATIENCE_S, Dial, Wire, echo, serving, wire_to

NOW = 1_800_000_000.0
TWO_MB = bytes(range(250)) * 8000


@pytest.fixture(scope="module")
def ca(tmp_path_factory):
    return certificates.create_ca(tmp_path_factory.mktemp("ca"), name="test", now=real_now())


def real_now():
    import time

    return time.time()


def trusting(ca):
    return certificates.client_context(ca)


@asynccontextmanager
async def serving_tls(ca, handler):
    leaf_certificates = certificates.LeafCertificates(ca, real_now)
    context = certificates.server_context(leaf_certificates, now=real_now())
    async with Http1Server(handler, clock=Dial()) as server:
        sock = tcp_sockets.bound("127.0.0.1")
        await server.listen([sock], lambda plain: over_tls(plain, context))
        yield tcp_sockets.port_of(sock), leaf_certificates


def test_sni_chooses_the_leaf_and_the_request_is_secure(run, ca):
    async def main():
        async def handler(request):
            return Response(200, {"x-secure": str(request.secure)})

        async with serving_tls(ca, handler) as (port, leaf_certificates):
            name = "bucket.s3.us-east-1.amazonaws.com"
            dial = dial_tls(tcp_sockets.dial("127.0.0.1", port), trusting(ca), name)
            async with Pool(dial, name, clock=Dial()) as pool:
                assert (await pool(Request("GET", "/", {}))).headers["x-secure"] == "True"
            assert len(leaf_certificates) == 1

    run(main())


def test_who_calls_an_address_is_shown_the_local_leaf(run, ca):
    async def main():
        async with serving_tls(ca, echo) as (port, _):
            async with Pool(dial_tls(tcp_sockets.dial("127.0.0.1", port), trusting(ca), "127.0.0.1"), "127.0.0.1", clock=Dial()) as pool:
                assert (await pool(Request("GET", "/", {}))).status == 200

    run(main())


def test_a_server_of_another_authority_is_refused(run, ca, tmp_path):
    other = certificates.create_ca(tmp_path, name="other", now=real_now())

    async def main():
        async with serving_tls(other, echo) as (port, _):
            async with Pool(dial_tls(tcp_sockets.dial("127.0.0.1", port), trusting(ca), "localhost"), "x", clock=Dial()) as pool:
                with pytest.raises(Upstream, match="TLS"):
                    await pool(Request("GET", "/", {}))

    run(main())


def test_two_megabytes_twelve_times_reach_a_slow_reader_whole(run, ca):
    """uvloop's own TLS loses the tail: 78 of 80 came short."""

    async def main():
        async def much():
            yield TWO_MB[:1_500_000]
            yield TWO_MB[1_500_000:]

        async def handler(request):
            return Response(200, {"Connection": "close"}, Body(much(), len(TWO_MB)))

        async with serving_tls(ca, handler) as (port, _):
            async with Pool(dial_tls(tcp_sockets.dial("127.0.0.1", port), trusting(ca), "localhost"), "x", clock=Dial()) as pool:
                for _ in range(12):
                    response = await pool(Request("GET", "/", {"host": "x"}))
                    digest = hashlib.sha256()
                    async for piece in response.body:
                        digest.update(piece)
                        await asyncio.sleep(0)
                    assert digest.digest() == hashlib.sha256(TWO_MB).digest()

    run(main())


def test_two_megabytes_twelve_times_from_a_sender_that_closes_at_once(run, ca):
    seen = []

    async def main():
        done = asyncio.Event()

        async def handler(request):
            digest = hashlib.sha256()
            async for piece in request.body:
                digest.update(piece)
                await asyncio.sleep(0)
            seen.append(digest.hexdigest())
            if len(seen) == 12:
                done.set()
            return Response(200)

        async with serving_tls(ca, handler) as (port, _):
            for _ in range(12):
                await asyncio.get_running_loop().run_in_executor(None, send_and_close, ca, port)
            async with asyncio.timeout(PATIENCE_S):
                await done.wait()

    run(main())
    assert seen == [hashlib.sha256(TWO_MB).hexdigest()] * 12


def send_and_close(ca, port):
    with socket.create_connection(("127.0.0.1", port)) as raw, trusting(ca).wrap_socket(raw, server_hostname="localhost") as sock:
        sock.sendall(b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % len(TWO_MB) + TWO_MB)
        raw_end(sock)


def raw_end(sock):
    """Shut the write side only, then wait until the server is through: a full close with unread bytes would be a reset."""
    sock.shutdown(socket.SHUT_WR)
    sock.settimeout(PATIENCE_S)
    while True:
        try:
            if not sock.recv(65536):
                return
        except OSError:
            return


def test_a_connect_tunnel_is_ended_in_place(run, ca):
    leaf_certificates = certificates.LeafCertificates(ca, real_now)

    async def main():
        inner = Http1Server(echo, clock=Dial())

        async def connect(tunnel):
            tunnel.accept()
            tunnel.take(over_tls(lambda: inner.protocol(secure=True, peer=tunnel.peer), leaf_certificates.context_for(tunnel.host))())

        async with inner, serving(echo, connect=connect) as (_, port), wire_to(port) as wire:
            wire.send(b"CONNECT m.accesspoint.s3-global.amazonaws.com:443 HTTP/1.1\r\nHost: m\r\n\r\n")
            assert (await wire.head())[0] == 200
            await wire.writer.start_tls(trusting(ca), server_hostname="m.accesspoint.s3-global.amazonaws.com")
            inside = Wire(wire.reader, wire.writer)
            for _ in range(2):
                inside.send(b"PUT /inside HTTP/1.1\r\nHost: m\r\nContent-Length: 3\r\n\r\nabc")
                status, headers, body = await inside.response()
                assert (status, headers["x-target"], body) == (200, "/inside", b"abc")

    run(main())


@pytest.mark.parametrize("known", [True, False])
def test_nodes_take_only_callers_whom_the_authority_vouches_for(run, ca, known):
    identity = certificates.node_certificate(ca, "node-a", now=real_now())
    server_side = certificates.node_server_context(ca, certificates.node_certificate(ca, "node-b", now=real_now()))
    client_side = certificates.node_client_context(ca, identity) if known else trusting(ca)

    async def main():
        async with Http1Server(echo, clock=Dial()) as server:
            sock = tcp_sockets.bound("127.0.0.1")
            await server.listen([sock], lambda plain: over_tls(plain, server_side))
            async with Pool(dial_tls(tcp_sockets.dial("127.0.0.1", tcp_sockets.port_of(sock)), client_side, "node-b"), "b", clock=Dial()) as pool:
                assert await outcome(pool) == ("answered" if known else "refused")

    run(main())


async def outcome(pool):
    try:
        await pool(Request("GET", "/", {}))
    except Upstream:
        return "refused"
    return "answered"


def test_contexts_speak_two_versions_and_give_no_tickets():
    context = certificates.bare_server_context()
    assert context.num_tickets == 0
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2


@pytest.mark.parametrize("flag", ["-tls1_2", "-tls1_3"])
def test_openssl_finds_the_chain_in_order(ca, flag):
    async def main():
        async with serving_tls(ca, echo) as (port, _):
            command = ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-servername", "a.s3.amazonaws.com", flag]
            command += ["-CAfile", str(ca.path), "-x509_strict", "-verify_return_error", "-verify_hostname", "a.s3.amazonaws.com"]
            command += ["-alpn", "h2,http/1.1"]
            process = await asyncio.create_subprocess_exec(
                *command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
            return (await process.communicate())[0].decode()

    text = asyncio.run(main())
    assert "Verify return code: 0 (ok)" in text
    assert "ALPN protocol: http/1.1" in text


@asynccontextmanager
async def serving_either(ca):
    """A listener on which the first byte decides, as behind a CONNECT."""

    async def handler(request):
        return Response(200, {"x-secure": str(request.secure)})

    context = certificates.server_context(certificates.LeafCertificates(ca, real_now), now=real_now())
    async with Http1Server(handler, clock=Dial()) as server:
        either = tls_or_plain(over_tls(lambda: server.protocol(secure=True), context), server.protocol)
        listener = await asyncio.get_running_loop().create_server(either, "127.0.0.1", 0)
        yield listener.sockets[0].getsockname()[1]
        listener.close()


def test_the_first_byte_tells_tls_from_plain_http(run, ca):
    async def main():
        name = "bucket.s3.us-east-1.amazonaws.com"
        async with serving_either(ca) as port:
            plain = tcp_sockets.dial("127.0.0.1", port)
            for dial, secure in ((plain, "False"), (dial_tls(plain, trusting(ca), name), "True")):
                async with Pool(dial, name, clock=Dial()) as pool:
                    assert (await pool(Request("GET", "/", {}))).headers["x-secure"] == secure

    run(main())


def test_who_says_nothing_at_all_is_let_go(run, ca, monkeypatch):
    monkeypatch.setattr(tls_transport, "HANDSHAKE_S", 0.05)

    async def main():
        async with serving_either(ca) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            async with asyncio.timeout(PATIENCE_S):
                assert await reader.read() == b""
            writer.close()

    run(main())
