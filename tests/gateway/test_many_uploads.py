"""Many clients upload through an entry over real sockets, their bytes arriving as the network pleases: none is refused."""

import asyncio
import random

import pytest
import uvloop

from arrival import ends
from gateway.test_arrival import FORMS, Upload
from net.servers import wire_to

CLIENTS = 16
HESITATIONS_S = (0, 0.0001, 0.0002, 0.0005, 0.002)


async def _one(wire, upload, rng):
    """As a client may write: at once, or with a pause between any two bytes, or several."""
    at = 0
    for cut in sorted(rng.sample(range(len(upload.head) - 2, len(upload.bytes)), rng.choice((0, 1, 1, 2)))):
        wire.send(upload.bytes[at:cut])
        at = cut
        await asyncio.sleep(rng.choice(HESITATIONS_S))
    wire.send(upload.bytes[at:])
    status, _, body = await wire.response()
    return status, body


async def _client(ends, port, number, count, answers):
    rng = random.Random(number)
    uploads = [
        Upload(ends, way, how, http_chunks=http_chunks, trailer=trailer, key=f"{number}-{way}-{name.replace(' ', '')}")
        for name, (how, http_chunks, trailer) in FORMS.items()
        for way in ("entry", "point")
    ]  # fmt: skip
    async with wire_to(port) as wire:
        for _ in range(count):
            answers.append(await _one(wire, rng.choice(uploads), rng))


def none_is_refused(tmp_path, count):
    async def whole():
        answers = []
        async with ends(tmp_path) as made:
            port = await made.listen()
            async with asyncio.TaskGroup() as clients:
                for number in range(CLIENTS):
                    clients.create_task(_client(made, port, number, count // CLIENTS, answers))
            assert made.refused == []
        assert [output for output in answers if output[0] != 200] == []
        assert len(answers) == count // CLIENTS * CLIENTS

    uvloop.run(whole())


def test_of_five_hundred_uploads_through_an_entry_none_is_refused(tmp_path):
    none_is_refused(tmp_path, 512)


@pytest.mark.soak
def test_of_ten_thousand_uploads_through_an_entry_none_is_refused(tmp_path):
    none_is_refused(tmp_path, 10_000)
