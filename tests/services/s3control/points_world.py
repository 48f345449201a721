"""A world in memory with buckets in several regions, its S3 Control, and a Reconciler in any region that a test wants."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from contextlib import asynccontextmanager
from itertools import count

import pytest

from atoll.control_store import ControlStore
from atoll.domain.api_call import Call, OperationOutput
from atoll.domain.caller import Caller
from atoll.domain.errors import ApiError
from atoll.domain.http_message import EMPTY, Request
from atoll.services.s3control.access_points import MrapLookup
from atoll.services.s3control.dependencies import Dependencies
from atoll.services.s3control.operations import OPERATIONS
from atoll.services.s3control.reconciler import Reconciler
from atoll.services.s3control.records import MRAPS, MrapRecord, mrap_key

ACCOUNT, OTHER = "111122223333", "444455556666"
NOW = 1_800_000_000.25
REGIONS = ("us-east-1", "eu-central-1", "ap-northeast-1")
TURNS_MAX = 2000  # turns of the event loop that a test waits for something


class RandomBytes:
    """Bytes that are never the same twice and always the same in the next run."""

    def __init__(self) -> None:
        self.rolls = 0

    def __call__(self, n: int) -> bytes:
        self.rolls += 1
        return hashlib.shake_128(str(self.rolls).encode()).digest(n)


class FakeClock:
    """Time that stands still until a test moves it; sleepers wake when it passes them."""

    def __init__(self) -> None:
        self.seconds = NOW
        self.sleepers: list[tuple[float, asyncio.Event]] = []

    def now(self) -> float:
        return self.seconds

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        sleeper = (self.seconds + seconds, asyncio.Event())
        self.sleepers.append(sleeper)
        try:
            await sleeper[1].wait()
        finally:
            self.sleepers.remove(sleeper)

    def advance(self, seconds: float) -> None:
        self.seconds += seconds
        for due, wakeup in self.sleepers:
            if due <= self.seconds:
                wakeup.set()


class World:
    def __init__(self, compat: str = "lenient", profile: str = "native", state: ControlStore | None = None) -> None:
        self.state = state or ControlStore.memory()
        self.clock = FakeClock()
        self.profile = profile
        self.create_delay_s: float | None = None
        self.buckets = {f"demo-{region}": (region, ACCOUNT) for region in REGIONS}
        self.events: list[dict[str, object]] = []
        self.tokens = count(1)
        self.mraps = MrapLookup(self.state)
        self.deps = Dependencies(
            state=self.state,
            regions=REGIONS,
            buckets=lambda name: self.buckets.get(name),
            random_bytes=RandomBytes(),
            compat=compat,
            principal_exists=lambda principal: "nobody" not in principal,
        )

    def call(self, operation: str, scope: str = "us-west-2") -> Call:
        authorization = f"AWS4-HMAC-SHA256 Credential=AKIA/20270115/{scope}/s3/aws4_request, SignedHeaders=host, Signature=0"
        return Call(
            service="s3control",
            operation=operation,
            request=Request("POST", "/", {"authorization": authorization}),
            caller=Caller("root", ACCOUNT, f"arn:aws:iam::{ACCOUNT}:root"),
            now=self.clock.now(),
            region="us-east-1",
            account=ACCOUNT,
            request_id="REQUEST1",
            body=EMPTY,
            allow=lambda action, resource: None,
            may=lambda action, resource: True,
        )

    async def ask(self, operation: str, scope: str = "us-west-2", **members: object) -> OperationOutput:
        members = {"AccountId": ACCOUNT, **members}
        return await OPERATIONS[operation](self.deps, self.call(operation, scope), **members)

    async def refusal(self, operation: str, scope: str = "us-west-2", **members: object) -> ApiError:
        with pytest.raises(ApiError) as refused:
            await self.ask(operation, scope, **members)
        return refused.value

    # -- requests

    async def submit(self, operation: str, *, token: str = "", **details: object) -> str:
        output = await self.ask(operation, ClientToken=token or f"token-{next(self.tokens)}", Details=details)
        return output.members["RequestTokenARN"]

    async def create(self, name: str = "demo", *, token: str = "", regions: tuple[str, ...] = REGIONS, **details: object) -> str:
        buckets = [{"Bucket": f"demo-{region}"} for region in regions]
        return await self.submit("CreateMultiRegionAccessPoint", token=token, **{"Name": name, "Regions": buckets, **details})

    async def delete(self, name: str = "demo", *, token: str = "") -> str:
        return await self.submit("DeleteMultiRegionAccessPoint", token=token, Name=name)

    async def put_policy(self, text: str, name: str = "demo", *, token: str = "") -> str:
        return await self.submit("PutMultiRegionAccessPointPolicy", token=token, Name=name, Policy=text)

    async def describe(self, arn: str) -> dict[str, object]:
        output = await self.ask("DescribeMultiRegionAccessPointOperation", RequestTokenARN=arn)
        return output.members["AsyncOperation"]

    async def outcome(self, arn: str) -> tuple[str, str]:
        """Status, and the code of the failure."""
        found = await self.describe(arn)
        error = found.get("ResponseDetails", {}).get("ErrorDetails", {})
        return found["RequestStatus"], error.get("Code", "")

    # -- points

    def mrap(self, name: str = "demo") -> MrapRecord | None:
        return self.state.get(MRAPS, mrap_key(ACCOUNT, name))

    async def status(self, name: str = "demo") -> str:
        return (await self.ask("GetMultiRegionAccessPoint", Name=name)).members["AccessPoint"]["Status"]

    async def routes(self, *updates: dict[str, object], arn: str = "") -> OperationOutput:
        mrap = arn or self.mrap().arn
        return await self.ask("SubmitMultiRegionAccessPointRoutes", Mrap=mrap, RouteUpdates=list(updates))

    # -- reconcilers

    def reconciler(self, region: str = "us-east-1") -> Reconciler:
        return Reconciler(
            state=self.state,
            region=region,
            regions=REGIONS,
            clock=self.clock,
            buckets=lambda name: self.buckets.get(name),
            profile=self.profile,
            create_delay_s=self.create_delay_s,
            log=self.events.append,
        )

    @asynccontextmanager
    async def running(self, *regions: str):
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self.reconciler(region).run()) for region in regions or REGIONS]
            yield
            for task in tasks:
                task.cancel()

    async def settle(self, times: int = 6) -> None:
        """Let every region do what is due, one after the other, without a loop of its own."""
        for _ in range(times):
            for region in REGIONS:
                await self.reconciler(region).step()

    async def made(self, name: str = "demo", **details: object) -> MrapRecord:
        await self.create(name, **details)
        await self.settle(1)
        self.clock.advance(0.2 if self.profile == "native" else 180)
        await self.settle(1)
        return self.mrap(name)


async def until(true: Callable[[], object]) -> None:
    """Give the loops turns until something has become true."""
    for _ in range(TURNS_MAX):
        if true():
            return
        await asyncio.sleep(0.001)
    raise AssertionError("it never came true")
