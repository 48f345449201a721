"""A region's S3 without a gateway: the operations over the memory engine and a state of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from itertools import count
from typing import Any

import pytest

from atoll.aws_protocols.codec import codec
from atoll.control_store import ControlStore
from atoll.domain.api_call import Call, OperationOutput
from atoll.domain.caller import Caller, ForwardedContext
from atoll.domain.errors import ApiError
from atoll.domain.http_message import Body, Request
from atoll.domain.interfaces import Store
from atoll.object_store.memory_store import MemoryStore
from atoll.rules import checksum_algorithms
from atoll.rules.checksum_headers import stated_algorithm
from atoll.services.s3.body_digest import BodyDigest, digesting
from atoll.services.s3.dependencies import Dependencies
from atoll.services.s3.operations import OPERATIONS

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
        state: ControlStore | None = None,
        compat: str = "strict",
        clock: Ticks | None = None,
        store: Store | None = None,
    ) -> None:
        self.clock = clock or Ticks(1_800_000_000.25)
        self.state = state or ControlStore.memory()
        self.store: Store = store or MemoryStore(region, lambda: int(self.clock.seconds * 1000))
        self.denied: set[str] = set()
        self.attached: set[str] = set()
        self.random_bytes = count(1)
        self.deps = Dependencies(
            store=self.store,
            state=self.state,
            clock=self.clock,
            region=region,
            regions=("us-east-1", "eu-west-1", "ap-southeast-2"),
            has_access_point=lambda bucket, account: bucket in self.attached,
            principal_exists=lambda _: True,
            random_bytes=lambda n: next(self.random_bytes).to_bytes(n, "big"),
            compat=compat,  # type: ignore[arg-type]
        )

    def region(self, name: str) -> World:
        return World(name, self.state, self.deps.compat, self.clock)

    async def execute(
        self,
        operation: str,
        body: bytes | Body = b"",
        *,
        headers: Mapping[str, str] = SIGNED_OFF,
        caller: Caller = ROOT,
        forwarded: ForwardedContext | None = None,
        method: str = "GET",
        payload: object = ...,
        **members: Any,
    ) -> OperationOutput:
        stream = body if isinstance(body, Body) else Body.of(body)
        body_digest = BodyDigest(stated_algorithm(headers) or checksum_algorithms.DEFAULT)
        request = Request(method, "/b/k", {"host": "s3.test", **headers}, forwarded=forwarded)
        call = Call(
            "s3", operation, request, caller, self.clock.seconds, self.deps.region, caller.account, "R", digesting(stream, body_digest),
            self.allow, self.may, payload=body_digest if payload is ... else payload,
        )  # fmt: skip
        output = await OPERATIONS[operation](self.deps, call, **members)
        codec("s3").write(operation, output)  # whatever is answered can be said
        return output

    def may(self, action: str, resource: str) -> bool:
        return action not in self.denied and f"{action} {resource}" not in self.denied

    def allow(self, action: str, resource: str) -> None:
        if not self.may(action, resource):
            raise ApiError("AccessDenied", f"{action} on {resource}")

    async def refused(self, operation: str, body: bytes | Body = b"", **members: Any) -> ApiError:
        with pytest.raises(ApiError) as caught:
            await self.execute(operation, body, **members)
        return caught.value

    async def bucket(self, name: str = "bkt", versioning: str = "") -> None:
        location = {} if self.deps.region == "us-east-1" else {"LocationConstraint": self.deps.region}
        await self.execute("CreateBucket", Bucket=name, CreateBucketConfiguration=location)
        if versioning:
            await self.versioning(versioning, name)

    async def versioning(self, status: str, name: str = "bkt") -> None:
        await self.execute("PutBucketVersioning", Bucket=name, VersioningConfiguration={"Status": status})

    async def put(self, key: str, body: bytes = b"hello", name: str = "bkt", **members: Any) -> Mapping[str, Any]:
        return (await self.execute("PutObject", body, Bucket=name, Key=key, **members)).members

    async def get(self, key: str, name: str = "bkt", **members: Any) -> bytes:
        output = await self.execute("GetObject", Bucket=name, Key=key, **members)
        return await read(output)

    async def keys(self, **members: Any) -> list[str]:
        output = await self.execute("ListObjectsV2", Bucket="bkt", **members)
        return [row["Key"] for row in output.members.get("Contents", ())]

    async def head(self, key: str, **members: Any) -> Mapping[str, Any]:
        return (await self.execute("HeadObject", Bucket="bkt", Key=key, **members)).members


async def read(output: OperationOutput) -> bytes:
    return b"".join([chunk async for chunk in output.members["Body"]])


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


def scenario(*, region: str = "us-east-1", compat: str = "strict") -> Callable[[Callable[[World], Coroutine[Any, Any, None]]], Any]:
    """An async test that is given a fresh world."""

    def tell(steps: Callable[[World], Coroutine[Any, Any, None]]) -> Callable[[], None]:
        async def whole() -> None:
            world = World(region, compat=compat)
            try:
                await steps(world)
            finally:
                world.state.close()

        def test() -> None:
            asyncio.run(whole())

        test.__name__ = steps.__name__
        return test

    return tell


