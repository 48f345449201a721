"""The public testing module, used as an outsider would."""

import asyncio

import pytest

from atoll.domain.errors import ApiError
from atoll.domain.message import Request
from atoll.testing import FakeClock, Faulty, MemoryStore, memory_region


async def text(response):
    return (await response.body.read_small(100_000)).decode()


def test_time_stands_still_until_it_is_moved():
    async def story():
        clock = FakeClock(100.0)
        await clock.advance(22)
        return clock.now(), clock.monotonic()

    assert asyncio.run(story()) == (122.0, 122.0)


def test_sleepers_wake_in_the_order_of_their_moments_and_see_them():
    async def story():
        clock, woken = FakeClock(0.0), []

        async def sleeper(name, seconds):
            await clock.sleep(seconds)
            woken.append((name, clock.now()))

        async with asyncio.TaskGroup() as group:
            for name, seconds in (("late", 5.0), ("early", 1.0), ("between", 3.0)):
                group.create_task(sleeper(name, seconds))
            await clock.advance(10)
        return woken

    assert asyncio.run(story()) == [("early", 1.0), ("between", 3.0), ("late", 5.0)]


def test_who_sleeps_again_is_woken_again_within_one_advance():
    async def story():
        clock, ticks = FakeClock(0.0), []

        async def ticking():
            while True:
                await clock.sleep(1.0)
                ticks.append(clock.now())

        async with asyncio.TaskGroup() as group:
            task = group.create_task(ticking())
            await clock.advance(3.5)
            task.cancel()
        return ticks

    assert asyncio.run(story()) == [1.0, 2.0, 3.0]


def test_a_sleeper_that_gave_up_disturbs_nobody():
    async def story():
        clock = FakeClock(0.0)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(clock.sleep(1.0))
            await clock.advance(0.5)
            task.cancel()
            await clock.advance(1.0)
        return clock.now()

    assert asyncio.run(story()) == 1.5


def test_sleeping_for_no_time_returns():
    asyncio.run(FakeClock().sleep(0))


def test_a_region_in_memory_keeps_objects_behind_checked_signatures():
    async def story():
        async with memory_region() as region:
            assert (await region.ask("PUT", "/bucket")).status == 200
            assert (await region.ask("PUT", "/bucket/a/b.txt", b"hello")).status == 200
            return await text(await region.ask("GET", "/bucket/a/b.txt"))

    assert asyncio.run(story()) == "hello"


def test_a_region_in_memory_refuses_strangers():
    async def story():
        async with memory_region() as region:
            await region.ask("PUT", "/bucket")
            return await region.handler(Request("GET", "/bucket/key", {"host": "127.0.0.1"}))

    assert asyncio.run(story()).status == 403


def test_a_region_in_memory_answers_iam_too():
    async def story():
        async with memory_region() as region:
            body = b"Action=CreateUser&Version=2010-05-08&UserName=ann"
            kind = {"content-type": "application/x-www-form-urlencoded"}
            return await text(await region.ask("POST", "/", body, kind, service="iam"))

    assert "<UserName>ann</UserName>" in asyncio.run(story())


def test_a_fault_of_the_store_reaches_the_client_in_awss_words():
    async def story():
        faulty = Faulty(MemoryStore("us-east-1", lambda: 1_800_000_000_000))
        async with memory_region(store=faulty) as region:
            await region.ask("PUT", "/bucket")
            faulty.fail("put", ApiError("ServiceUnavailable", "disk full"))
            refused = await region.ask("PUT", "/bucket/key", b"x")
            after = await region.ask("GET", "/bucket/key")
            return refused.status, await text(refused), after.status

    status, document, after = asyncio.run(story())
    assert (status, after) == (503, 404)
    assert "disk full" in document


@pytest.mark.parametrize(("compat", "status"), [("lenient", 200), ("strict", 409)])
def test_the_compat_of_the_region_can_be_chosen(compat, status):
    async def story():
        async with memory_region("eu-central-1", compat=compat) as region:
            body = (
                b'<CreateBucketConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
                b"<LocationConstraint>eu-central-1</LocationConstraint></CreateBucketConfiguration>"
            )
            await region.ask("PUT", "/bucket", body)
            return (await region.ask("PUT", "/bucket", body)).status

    assert asyncio.run(story()) == status
