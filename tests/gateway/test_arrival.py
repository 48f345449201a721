"""A request is what its sender said, however its bytes happen to arrive: in every split, at an entry and at a region."""

import asyncio
import hashlib
import json
import random
from base64 import b64encode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arrival import ALIAS, BUCKET, apart, bytewise, ends, run_together
from atoll.domain.http_message import Request
from atoll.domain.objects import Key
from atoll.rules import aws_chunked, sigv4
from atoll.rules.aws_chunked import MODES
from atoll.rules.signature_verification import parse_signature
from gateway.pipeline_setup import PLAIN, REGION, between, statement

UNSIGNED, UNSIGNED_TRAILER, SIGNED, SIGNED_TRAILER = (
    "UNSIGNED-PAYLOAD", "STREAMING-UNSIGNED-PAYLOAD-TRAILER", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER",
)  # fmt: skip
DATA = (b"hel", b"lo")
WHOLE = b"".join(DATA)
CRC32 = {"x-amz-checksum-crc32": "NhCmhg=="}
ETAG = hashlib.md5(WHOLE).hexdigest()
WAYS = ("region", "entry", "point")


class Upload:
    """One signed upload as bytes. `how` is the payload mode, or "hash"; `trailer` sends a checksum behind the body."""

    def __init__(self, ends, way, how, *, http_chunks, trailer=False, extra=None, secret=None, decoded=True, spoil=False, length=True, key="k"):  # noqa: PLR0913
        self.framed = how in MODES
        payload = hashlib.sha256(WHOLE).hexdigest() if how == "hash" else how
        headers = {"host": PLAIN, **(extra or {})}
        if self.framed and decoded:
            headers["x-amz-decoded-content-length"] = str(len(WHOLE))
        if trailer:
            headers["x-amz-trailer"] = "x-amz-checksum-crc32"
        credentials = ends.gate.root if secret is None else sigv4.Credentials(ends.gate.root.access_key, secret)
        request = Request("PUT", f"/{ALIAS if way == 'point' else BUCKET}/{key}", headers)
        added = sigv4.sign(request, credentials, region=REGION, now=ends.gate.clock.now(), payload=payload)
        request = Request("PUT", request.target, {**headers, **added})
        pieces = self._framed(request, how, credentials, CRC32 if trailer else {}) if self.framed else list(DATA)
        if spoil:
            pieces[0] = pieces[0].replace(b"hel", b"heL")
        self.body = b"".join([b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces]) + b"0\r\n\r\n" if http_chunks else b"".join(pieces)
        framing = {"transfer-encoding": "chunked"} if http_chunks else {"content-length": str(len(self.body))} if length else {}
        lines = "".join(f"{name}: {value}\r\n" for name, value in {**request.headers, **framing}.items())
        self.head = f"PUT {request.target} HTTP/1.1\r\n{lines}\r\n".encode()

    @staticmethod
    def _framed(request, how, credentials, trailers):
        request_signature = parse_signature(request)
        key = sigv4.signing_key(credentials.secret, request_signature.day, request_signature.region, request_signature.service)
        where, previous, pieces = (request_signature.algorithm, request_signature.amz_date, request_signature.scope), request_signature.signature, []
        for data in (*DATA, b""):
            line = f"{len(data):x}"
            if MODES[how].algorithm:
                previous = sigv4.signature(key, aws_chunked.chunk_string(*where, previous, hashlib.sha256(data).hexdigest()))
                line += f";chunk-signature={previous}"
            pieces.append(line.encode() + b"\r\n" + data + (b"\r\n" if data else b""))
        end = "".join(f"{name}:{value}\r\n" for name, value in trailers.items())
        if trailers and MODES[how].algorithm:
            end += f"x-amz-trailer-signature:{sigv4.signature(key, aws_chunked.trailer_string(*where, previous, trailers))}\r\n"
        return [*pieces, f"{end}\r\n".encode()]

    @property
    def bytes(self):
        return self.head + self.body

    def cuts(self):
        """Every place in the body and around the head's end; a head is complete or not, so some places in it are enough."""
        start = len(self.head)
        return [*range(1, start - 4, 97), *range(start - 4, len(self.bytes))]


# name -> payload mode, HTTP chunks, trailer
FORMS = {
    "plain": (UNSIGNED, True, False),
    "hashed": ("hash", True, False),
    "plain, with length": (UNSIGNED, False, False),
    "unsigned trailer": (UNSIGNED_TRAILER, True, True),
    "unsigned, no trailer": (UNSIGNED_TRAILER, True, False),
    "unsigned trailer, with length": (UNSIGNED_TRAILER, False, True),
    "signed chunks": (SIGNED, True, False),
    "signed chunks, with length": (SIGNED, False, False),
    "signed trailer": (SIGNED_TRAILER, True, True),
    "signed trailer, with length": (SIGNED_TRAILER, False, True),
}


def pieces_of(data, cuts):
    places = [0, *sorted(set(cuts)), len(data)]
    return [data[a:b] for a, b in zip(places, places[1:], strict=False) if a < b]


async def outcome(ends, server, pieces, turns=2):
    """What one upload came to: status, code, ETag answered, and what is stored. Nothing is stored before."""
    client = ends.client(server)
    await client.say(*pieces, turns=turns)
    status, head, body = await client.response()
    stored = await ends.gate.world.store.delete(Key(BUCKET, "k"), "null")
    client.transport.close()
    etag = head.lower().partition('etag: "')[2].partition('"')[0]
    return status, between(body, "Code"), etag, stored.etag if stored else None


def server_of(ends, way):
    return ends.region if way == "region" else ends.entry


GOOD = (200, "", ETAG, ETAG)


def result(tmp_path, scenario):
    async def whole():
        async with ends(tmp_path) as made:
            await scenario(made)

    asyncio.run(whole())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("form", FORMS)
def test_an_upload_is_stored_in_every_split(tmp_path, form, way):
    how, http_chunks, trailer = FORMS[form]

    async def scenario(ends):
        upload = Upload(ends, way, how, http_chunks=http_chunks, trailer=trailer)
        for cut in (None, *upload.cuts()):
            found = await outcome(ends, server_of(ends, way), pieces_of(upload.bytes, [cut] if cut else []))
            assert found == GOOD, (cut, found, ends.refused)
        assert ends.refused == []

    result(tmp_path, scenario)


@pytest.mark.parametrize("link", [apart, run_together, bytewise])
@pytest.mark.parametrize("form", FORMS)
def test_an_upload_is_stored_however_it_travels_from_the_entry_to_the_region(tmp_path, form, link):
    how, http_chunks, trailer = FORMS[form]

    async def scenario(ends):
        for patience in (1, 4, 40):
            ends.link = (link, patience)
            for way in ("entry", "point"):
                upload = Upload(ends, way, how, http_chunks=http_chunks, trailer=trailer)
                for cut in ([], [len(upload.head)], [len(upload.head) + 2], range(len(upload.head), len(upload.bytes))):
                    found = await outcome(ends, ends.entry, pieces_of(upload.bytes, cut))
                    assert found == GOOD, (patience, way, cut, found, ends.refused)
            await ends.pool.close()
            ends.pool._closed = False
        assert ends.refused == []

    result(tmp_path, scenario)


# a request with one fault, or two -> what is answered; `spoil` alters the body, `secret` is another one
FAULTS = {
    "wrong secret": ({"how": UNSIGNED, "secret": "other"}, (403, "SignatureDoesNotMatch")),
    "wrong hash": ({"how": "hash", "spoil": True}, (400, "XAmzContentSHA256Mismatch")),
    "wrong chunk": ({"how": SIGNED, "spoil": True}, (403, "SignatureDoesNotMatch")),
    "wrong trailer": ({"how": UNSIGNED_TRAILER, "trailer": True, "spoil": True}, (400, "BadDigest")),
    "wrong digest": ({"how": UNSIGNED, "spoil": True, "extra": {"content-md5": "XUFAKrxLKna5cZ2REBfFkg=="}}, (400, "BadDigest")),
    "bad storage class": ({"how": UNSIGNED, "extra": {"x-amz-storage-class": "BEST"}}, (400, "InvalidStorageClass")),
    "no decoded length": ({"how": UNSIGNED_TRAILER, "trailer": True, "decoded": False}, (411, "MissingContentLength")),
    "no decoded length, signed": ({"how": SIGNED, "decoded": False}, (411, "MissingContentLength")),
    "a list of readers": ({"how": UNSIGNED, "extra": {"x-amz-acl": "public-read"}}, (400, "AccessControlListNotSupported")),
}
TWO_FAULTS = {  # what can be refused before the body is, in every arrival; at a region, where nothing races
    "storage class and digest": ({"how": "hash", "spoil": True, "extra": {"x-amz-storage-class": "BEST"}}, (400, "InvalidStorageClass")),
    "acl and chunk": ({"how": SIGNED, "spoil": True, "extra": {"x-amz-acl": "public-read"}}, (400, "AccessControlListNotSupported")),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("http_chunks", [True, False])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_upload_gets_one_answer_in_every_split(tmp_path, fault, http_chunks, way):
    more, (status, code) = FAULTS[fault]

    async def scenario(ends):
        upload = Upload(ends, way, http_chunks=http_chunks, **more)
        for cut in (None, *range(len(upload.head) - 4, len(upload.bytes), 1 if len(upload.body) < 100 else 7)):
            found = await outcome(ends, server_of(ends, way), pieces_of(upload.bytes, [cut] if cut else []))
            assert found == (status, code, "", None), (cut, found)
        assert ends.refused == []

    result(tmp_path, scenario)


@pytest.mark.parametrize("fault", TWO_FAULTS)
def test_of_two_faults_the_same_one_is_told_in_every_split(tmp_path, fault):
    more, (status, code) = TWO_FAULTS[fault]

    async def scenario(ends):
        for way in ("region", "entry"):
            upload = Upload(ends, way, http_chunks=True, **more)
            for cut in (None, *range(len(upload.head) - 4, len(upload.bytes), 5)):
                found = await outcome(ends, server_of(ends, way), pieces_of(upload.bytes, [cut] if cut else []))
                assert found == (status, code, "", None), (way, cut, found)

    result(tmp_path, scenario)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(sorted(FORMS)), st.sampled_from(WAYS), st.integers(0, 2**32), st.integers(0, 6), st.sampled_from([apart, run_together, bytewise]))
def test_an_upload_is_stored_in_any_number_of_pieces(tmp_path_factory, form, way, seed, turns, link):
    how, http_chunks, trailer = FORMS[form]
    rng = random.Random(seed)

    async def scenario(ends):
        ends.link = (link, rng.choice((1, 3, 30)))
        upload = Upload(ends, way, how, http_chunks=http_chunks, trailer=trailer)
        for _ in range(8):
            cuts = rng.sample(range(1, len(upload.bytes)), rng.randint(1, 30))
            assert await outcome(ends, server_of(ends, way), pieces_of(upload.bytes, cuts), turns) == GOOD, cuts
        assert ends.refused == []

    result(tmp_path_factory.mktemp("ends"), scenario)


@pytest.mark.parametrize("way", WAYS)
def test_a_body_whose_chunks_are_broken_gets_one_answer_in_every_split(tmp_path, way):
    async def scenario(ends):
        upload = Upload(ends, way, UNSIGNED, http_chunks=True)
        broken = upload.head + b"3\r\nhel\r\nxyz\r\n"
        for cut in (None, *range(len(upload.head) - 4, len(broken) - 4)):
            found = await outcome(ends, server_of(ends, way), pieces_of(broken, [cut] if cut else []))
            assert found == (400, "IncompleteBody", "", None), (cut, found)

    result(tmp_path, scenario)


@pytest.mark.parametrize("way", ["region", "entry"])
def test_a_document_is_read_and_judged_alike_in_every_split(tmp_path, way):
    policy = json.dumps(statement("Deny", "s3:GetObject", f"arn:aws:s3:::{BUCKET}/*")).encode()

    digest = b64encode(hashlib.md5(policy).digest()).decode()

    async def scenario(ends):
        added = sigv4.sign(
            Request("PUT", f"/{BUCKET}?policy", {"host": PLAIN}), ends.gate.root, region=REGION, now=ends.gate.clock.now(),
            payload=hashlib.sha256(policy).hexdigest(),
        )  # fmt: skip
        head = f"PUT /{BUCKET}?policy HTTP/1.1\r\nhost: {PLAIN}\r\ntransfer-encoding: chunked\r\ncontent-md5: {digest}\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in added.items()) + "\r\n"
        for body, expected in ((policy, (204, "")), (policy[:-1] + b" ", (400, "XAmzContentSHA256Mismatch"))):
            sent = head.encode() + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
            for cut in (None, *range(len(head) - 2, len(sent), 9)):
                found = await outcome(ends, server_of(ends, way), pieces_of(sent, [cut] if cut else []))
                assert found[:2] == expected, (cut, found)

    result(tmp_path, scenario)


@pytest.mark.parametrize("way", WAYS)
def test_an_upload_that_says_neither_length_nor_chunks_is_411(tmp_path, way):
    async def scenario(ends):
        for how in (UNSIGNED, "hash"):
            upload = Upload(ends, way, how, http_chunks=False, length=False)
            found = await outcome(ends, server_of(ends, way), [upload.head])
            assert found == (411, "MissingContentLength", "", None)

    result(tmp_path, scenario)


@pytest.mark.parametrize("way", WAYS)
def test_what_needs_no_body_needs_no_length(tmp_path, way):
    """S3 asks for a length where an object's bytes are expected: not of CreateBucket, whose document may be left out."""

    async def scenario(ends):
        added = sigv4.sign(Request("PUT", "/other-bucket", {"host": PLAIN}), ends.gate.root, region=REGION, now=ends.gate.clock.now(), payload=UNSIGNED)
        lines = "".join(f"{name}: {value}\r\n" for name, value in {"host": PLAIN, **added}.items())
        found = await outcome(ends, server_of(ends, way), [f"PUT /other-bucket HTTP/1.1\r\n{lines}\r\n".encode()])
        assert found[0] == 200

    result(tmp_path, scenario)


# -- Expect: 100-continue (RFC 9110 section 10.1.1)

EXPECT = b"expect: 100-continue\r\n\r\n"


def expecting(upload):
    return upload.head[:-2] + EXPECT


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("http_chunks", [True, False])
@pytest.mark.parametrize("fault", ["wrong secret", "bad storage class", "no decoded length", "a list of readers"])
def test_a_refused_upload_is_not_asked_for_and_its_connection_is_used_again(tmp_path, fault, http_chunks, way):
    more, (status, code) = FAULTS[fault]

    async def scenario(ends):
        refused = Upload(ends, way, http_chunks=http_chunks, **more)
        good = Upload(ends, way, UNSIGNED, http_chunks=http_chunks)
        client = ends.client(server_of(ends, way))
        for _ in range(3):
            await client.say(expecting(refused))
            found = await client.response()
            assert (found[0], between(found[2], "Code")) == (status, code)
            await client.settle()
            assert client.received == b""  # nothing behind it, and nothing was before it
        assert ends.pool.open <= 1  # the way to the region is kept too
        await client.say(expecting(good))
        assert (await client.response())[0] == 100
        await client.say(good.body)
        assert (await client.response())[0] == 200
        assert (await ends.gate.world.store.head(Key(BUCKET, "k"))).etag == ETAG

    result(tmp_path, scenario)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("form", FORMS)
def test_a_client_that_waits_is_asked_once_and_one_that_does_not_is_served(tmp_path, form, way):
    how, http_chunks, trailer = FORMS[form]

    async def scenario(ends):
        upload = Upload(ends, way, how, http_chunks=http_chunks, trailer=trailer)
        client = ends.client(server_of(ends, way))
        await client.say(expecting(upload))
        assert (await client.response())[0] == 100
        await client.say(*pieces_of(upload.body, range(0, len(upload.body), 11)))
        assert (await client.response())[0] == 200
        await client.say(expecting(upload) + upload.body)
        answers = [await client.response()]
        if answers[0][0] == 100:
            answers.append(await client.response())
        assert answers[-1][0] == 200
        assert ends.refused == []

    result(tmp_path, scenario)


def test_what_says_how_the_body_comes_may_be_signed_and_reaches_the_region_as_it_was_said(tmp_path, monkeypatch):
    monkeypatch.setattr(sigv4, "UNSIGNED", frozenset(("authorization",)))

    async def scenario(ends):
        for way in ("region", "entry"):
            upload = Upload(ends, way, UNSIGNED, http_chunks=True, extra={"transfer-encoding": "chunked", "expect": "100-continue"})
            assert b"SignedHeaders=expect;host;transfer-encoding;" in upload.head
            for cut in (None, len(upload.head), len(upload.head) + 3):
                client = ends.client(server_of(ends, way))
                await client.say(*pieces_of(upload.bytes, [cut] if cut else []))
                found = await client.response()
                assert (found if found[0] != 100 else await client.response())[0] == 200, cut
            upload = Upload(ends, way, UNSIGNED, http_chunks=False, extra={"content-length": "5"})
            assert await outcome(ends, server_of(ends, way), [upload.bytes]) == GOOD
            request = Request("DELETE", f"/{BUCKET}/k", {"host": PLAIN, "content-length": "0"})
            added = sigv4.sign(request, ends.gate.root, region=REGION, now=ends.gate.clock.now(), payload=UNSIGNED)
            lines = "".join(f"{name}: {value}\r\n" for name, value in {**request.headers, **added}.items())
            assert (await outcome(ends, server_of(ends, way), [f"DELETE {request.target} HTTP/1.1\r\n{lines}\r\n".encode()]))[0] == 204

    result(tmp_path, scenario)


HOP_BY_HOP = (
    "trailer: x-amz-checksum-crc32", "te: trailers", "keep-alive: timeout=5", "upgrade: h2c", "proxy-connection: keep-alive",
    "date: Mon, 30 Nov 2026 16:58:26 GMT",
)  # fmt: skip


@pytest.mark.parametrize("line", HOP_BY_HOP)
def test_what_one_connection_says_to_the_next_hop_is_not_vouched_for(tmp_path, line):
    async def scenario(ends):
        upload = Upload(ends, "entry", UNSIGNED, http_chunks=False)
        if line.startswith("upgrade"):
            upload.head, upload.body = upload.head.replace(b"content-length: 5", b"content-length: 0"), b""
        sent = upload.head[:-2] + line.encode() + b"\r\n\r\n" + upload.body
        assert (await outcome(ends, ends.entry, [sent]))[0] == 200
        assert ends.refused == []

    result(tmp_path, scenario)
