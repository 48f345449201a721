"""A region's S3 without a gateway: the operations over the memory engine and a state of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from itertools import count
from typing import Any

import pytest

from atoll.domain.call import Answer, Call
from atoll.domain.caller import Caller, Onward
from atoll.domain.errors import ApiError
from atoll.domain.message import Body, Request
from atoll.domain.shapes import Store
from atoll.rules import hashing
from atoll.rules.bodysum import stated
from atoll.services.s3.control import OPERATIONS
from atoll.services.s3.here import Here
from atoll.services.s3.measure import Measure, measured
from atoll.state import State
from atoll.store.memory import MemoryStore
from atoll.wire.codec import codec

ACCOUNT = "111122223333"
ROOT = Caller("root", ACCOUNT, f"arn:aws:iam::{ACCOUNT}:root")
SIGNED_OFF = {"content-md5": "whatever: checked by the gateway"}


class Ticks:
    """Time that stands still until a test moves it."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def now(self) -> float:
        return self.seconds

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


class World:
    """One region of a world; `region()` gives another one that shares the control state."""

    def __init__(
        self,
        region: str = "us-east-1",
        state: State | None = None,
        compat: str = "strict",
        clock: Ticks | None = None,
        store: Store | None = None,
    ) -> None:
        self.clock = clock or Ticks(1_800_000_000.25)
        self.state = state or State.memory()
        self.store: Store = store or MemoryStore(region, lambda: int(self.clock.seconds * 1000))
        self.denied: set[str] = set()
        self.attached: set[str] = set()
        self.dice = count(1)
        self.here = Here(
            store=self.store,
            state=self.state,
            clock=self.clock,
            region=region,
            regions=("us-east-1", "eu-west-1", "ap-southeast-2"),
            attached=lambda bucket, account: bucket in self.attached,
            known=lambda _: True,
            dice=lambda n: next(self.dice).to_bytes(n, "big"),
            compat=compat,  # type: ignore[arg-type]
        )

    def region(self, name: str) -> World:
        return World(name, self.state, self.here.compat, self.clock)

    async def do(
        self,
        operation: str,
        body: bytes | Body = b"",
        *,
        headers: Mapping[str, str] = SIGNED_OFF,
        caller: Caller = ROOT,
        onward: Onward | None = None,
        method: str = "GET",
        payload: object = ...,
        **members: Any,
    ) -> Answer:
        stream = body if isinstance(body, Body) else Body.of(body)
        measure = Measure(stated(headers) or hashing.DEFAULT)
        request = Request(method, "/b/k", {"host": "s3.test", **headers}, onward=onward)
        call = Call(
            "s3", operation, request, caller, self.clock.seconds, self.here.region, caller.account, "R", measured(stream, measure),
            self.allow, self.may, payload=measure if payload is ... else payload,
        )  # fmt: skip
        answer = await OPERATIONS[operation](self.here, call, **members)
        codec("s3").write(operation, answer)  # whatever is answered can be said
        return answer

    def may(self, action: str, resource: str) -> bool:
        return action not in self.denied and f"{action} {resource}" not in self.denied

    def allow(self, action: str, resource: str) -> None:
        if not self.may(action, resource):
            raise ApiError("AccessDenied", f"{action} on {resource}")

    async def refused(self, operation: str, body: bytes | Body = b"", **members: Any) -> ApiError:
        with pytest.raises(ApiError) as caught:
            await self.do(operation, body, **members)
        return caught.value

    async def bucket(self, name: str = "bkt", versioning: str = "") -> None:
        location = {} if self.here.region == "us-east-1" else {"LocationConstraint": self.here.region}
        await self.do("CreateBucket", Bucket=name, CreateBucketConfiguration=location)
        if versioning:
            await self.versioning(versioning, name)

    async def versioning(self, status: str, name: str = "bkt") -> None:
        await self.do("PutBucketVersioning", Bucket=name, VersioningConfiguration={"Status": status})

    async def put(self, key: str, body: bytes = b"hello", name: str = "bkt", **members: Any) -> Mapping[str, Any]:
        return (await self.do("PutObject", body, Bucket=name, Key=key, **members)).members

    async def get(self, key: str, name: str = "bkt", **members: Any) -> bytes:
        answer = await self.do("GetObject", Bucket=name, Key=key, **members)
        return await read(answer)

    async def keys(self, **members: Any) -> list[str]:
        answer = await self.do("ListObjectsV2", Bucket="bkt", **members)
        return [row["Key"] for row in answer.members.get("Contents", ())]

    async def head(self, key: str, **members: Any) -> Mapping[str, Any]:
        return (await self.do("HeadObject", Bucket="bkt", Key=key, **members)).members


async def read(answer: Answer) -> bytes:
    return b"".join([chunk async for chunk in answer.members["Body"]])


def slowly(*chunks: bytes) -> Body:
    """A body that is not in memory and whose length nobody knows."""

    async def send() -> Any:
        for chunk in chunks:
            yield chunk

    return Body(send(), None)


def broken(error: Exception, *chunks: bytes) -> Body:
    """A body whose check fails at the end."""

    async def send() -> Any:
        for chunk in chunks:
            yield chunk
        raise error

    return Body(send(), None)


def story(*, region: str = "us-east-1", compat: str = "strict") -> Callable[[Callable[[World], Coroutine[Any, Any, None]]], Any]:
    """An async test that is given a fresh world."""

    def tell(told: Callable[[World], Coroutine[Any, Any, None]]) -> Callable[[], None]:
        async def whole() -> None:
            world = World(region, compat=compat)
            try:
                await told(world)
            finally:
                world.state.close()

        def test() -> None:
            asyncio.run(whole())

        test.__name__ = told.__name__
        return test

    return tell


