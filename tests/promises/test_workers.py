"""Several processes answer for one region, and whoever is asked next knows what was answered before."""

import asyncio
import contextlib
import hashlib
import itertools
import json
import math
import os
import random
import re
import time

import pytest

from atoll.domain.caller import Caller, ForwardedContext
from atoll.domain.errors import Upstream
from atoll.domain.http_message import Body, Request
from atoll.net.system_clock import SystemClock
from atoll.net.tcp_sockets import dial
from atoll.processes.home_folder import Home
from atoll.processes.region_client import RegionClient
from models.linearizable import Operation, is_linearizable
from worlds import RunningWorld, running_world

REGION = "us-east-1"
ONE_REGION = """
workers = {workers}
[places.us-east-1]
kind = "region"
at = [38.9, -77.4]
"""
BUCKET = "histories"
CLIENTS, OPERATIONS = 3, 4  # of one history: its own key, twelve operations at most three at a time
AT_ONCE = 8  # histories
BODY_MAX = 64 * 1024


def etag(value):
    return '"' + hashlib.md5(value.encode()).hexdigest() + '"'


class Region:
    """Calls any process of the region, as the account's root, without going through SDK retries that would hide an answer."""

    def __init__(self, world: RunningWorld) -> None:
        home, run = Home(world.home), json.loads((world.home / "run.json").read_text())
        ports = run["regions"][REGION]["workers"]
        self.client = RegionClient(REGION, [dial("127.0.0.1", port) for port in ports], key=home.node_key.read_bytes(), clock=SystemClock(), version=lambda: 0)
        account = run["account"]
        root = Caller("root", account, f"arn:aws:iam::{account}:root", account, access_key=run["access_key_id"])
        self.forwarded = ForwardedContext("127.0.0.1", secure=True, caller=root)

    async def ask(self, rng, method, target, body="", **headers):
        """Status, ETag and body; None when no answer came."""
        sent = {"host": "127.0.0.1", "content-length": str(len(body)), **{name.replace("_", "-"): value for name, value in headers.items()}}
        try:
            answer = await rng.choice(self.client.peers)(Request(method, target, sent, Body.of(body.encode()), forwarded=self.forwarded))
            content = b"" if method == "HEAD" else await answer.body.read_small(BODY_MAX)
        except Upstream:
            return None
        headers = {name.lower(): value for name, value in answer.headers.items()}
        return None if answer.status >= 500 else (answer.status, headers.get("etag", ""), content.decode())


class History:
    """What a few clients did to one key, and what they were told."""

    def __init__(self, region, number, seed):
        self.region, self.key, self.rng = region, f"h{number}", random.Random(f"{seed} {number}")
        self.values = (f"{self.key}-{count}" for count in itertools.count())
        self.last = etag("nothing")
        self.operations = []

    async def run(self):
        async with asyncio.TaskGroup() as group:
            for _ in range(CLIENTS):
                group.create_task(self._client())
        return self.operations

    async def _client(self):
        for _ in range(OPERATIONS):
            await self.rng.choice((self.put, self.put, self.get, self.get, self.head, self.list, self.delete, self.create, self.replace))()

    async def _do(self, name, method, target, understood, body="", **headers):
        began = time.monotonic()
        answer = await self.region.ask(self.rng, method, target, body, **headers)
        ended = time.monotonic()
        steps, changes = understood(answer), method in ("PUT", "DELETE")
        if answer is not None or changes:
            self.operations.append(Operation(began, ended if answer else math.inf, steps, maybe=answer is None, name=f"{name} {answer and answer[:2]}"))

    @property
    def target(self):
        return f"/{BUCKET}/{self.key}"

    async def put(self):
        value = next(self.values)
        await self._do(f"put {value}", "PUT", self.target, lambda answer: (lambda _: (etag(value),),), value)

    async def delete(self):
        await self._do("delete", "DELETE", self.target, lambda answer: (lambda _: (None,),))

    async def create(self):
        value = next(self.values)

        def understood(answer):
            if answer is not None and answer[0] in (409, 412):
                return (lambda state: (state,) if state is not None or answer[0] == 409 else None,)
            return (lambda state: (etag(value),) if state is None else None,)

        await self._do(f"create {value}", "PUT", self.target, understood, value, if_none_match="*")

    async def replace(self):
        value, wanted = next(self.values), self.last

        def understood(answer):
            if answer is not None and answer[0] in (404, 409, 412):
                wrong = {404: lambda state: state is None, 409: lambda _: True, 412: lambda state: state not in (None, wanted)}[answer[0]]
                return (lambda state: (state,) if wrong(state) else None,)
            return (lambda state: (etag(value),) if state == wanted else None,)

        await self._do(f"replace {wanted} {value}", "PUT", self.target, understood, value, if_match=wanted)

    async def get(self):
        def understood(answer):
            found = answer and (etag(answer[2]) if answer[0] == 200 else None)
            assert answer is None or answer[0] == 404 or answer[1] == found, "an ETag and a body of different versions"
            return self._saw(found)

        await self._do("get", "GET", self.target, understood)

    async def head(self):
        await self._do("head", "HEAD", self.target, lambda answer: self._saw(answer[1] if answer and answer[0] == 200 else None))

    async def list(self):
        def understood(answer):
            found = re.search("<ETag>(.*?)</ETag>", answer[2]) if answer else None
            return self._saw(found[1].replace("&quot;", '"') if found else None)

        await self._do("list", "GET", f"/{BUCKET}?list-type=2&prefix={self.key}", understood)

    def _saw(self, found):
        self.last = found or self.last
        return (lambda state: (state,) if state == found else None,)


async def histories(world, count, seed):
    """All of them, AT_ONCE at a time. Returns those that no order explains, and how many operations got an answer."""
    region = Region(world)
    limit = asyncio.Semaphore(AT_ONCE)
    wrong, answered = [], []

    async def one(number):
        async with limit:
            operations = await History(region, number, seed).run()
        answered.append(sum(not operation.maybe for operation in operations))
        if not is_linearizable(operations):
            wrong.append(sorted((operation.began, operation.ended, operation.name) for operation in operations))

    async with asyncio.TaskGroup() as group:
        for number in range(count):
            group.create_task(one(number))
    await region.client.close()
    return wrong, sum(answered)


def processes(world):
    place = world.status()[REGION]
    return [place, *place["workers"]]


def kill_now_and_then(world, every_s, stop, killed):
    """Each process of the region in its turn, the writer too."""
    for turn in itertools.count():
        if stop.wait(every_s):
            return
        found = processes(world)
        victim = found[turn % len(found)]
        if victim["pid"]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim["pid"], 9)
                killed.append(victim["process"])


def judge(tmp_path, workers, count, every_s, seed):
    import threading

    with running_world(tmp_path, ONE_REGION.format(workers=workers)) as world:
        world.client("s3", REGION).create_bucket(Bucket=BUCKET)
        stop, killed = threading.Event(), []
        killer = threading.Thread(target=kill_now_and_then, args=(world, every_s, stop, killed))
        killer.start()
        try:
            wrong, answered = asyncio.run(histories(world, count, seed))
        finally:
            stop.set()
            killer.join()
        assert not wrong, "\n".join(map(str, wrong[0]))
        world.atoll("check")
        return answered, killed


@pytest.mark.xdist_group("world-workers")
@pytest.mark.parametrize("workers", [2, 3])
def test_histories_of_many_clients_have_one_order_while_processes_are_killed(tmp_path, workers):
    answered, killed = judge(tmp_path, workers, 400, 0.7, workers)
    assert answered > 400 * CLIENTS * OPERATIONS // 2
    assert len(killed) >= 2


@pytest.mark.soak
@pytest.mark.parametrize("workers", [2, 3])
def test_ten_thousand_histories_have_one_order_while_processes_are_killed(tmp_path, workers):
    answered, killed = judge(tmp_path, workers, 10_000, 2.0, workers)
    print(f"{workers} workers: {answered} answers, {len(killed)} kills")
    assert answered > 10_000 * CLIENTS * OPERATIONS // 2
    assert len(killed) >= 10
