import asyncio
import time

import pytest

from atoll.net import precise_timers as timers_module
from atoll.net.precise_timers import Timers
from atoll.net.system_clock import SystemClock


@pytest.mark.parametrize("kernel", [True, False])
@pytest.mark.parametrize("ms", [0.2, 1.3, 7])
@pytest.mark.parametrize("exact", [True, False])
def test_a_wait_is_never_early(run, kernel, ms, exact):
    async def main():
        timers = Timers(kernel=kernel)
        for _ in range(5):
            deadline = time.monotonic() + ms / 1000
            await timers.sleep_until(deadline, exact=exact)
            assert time.monotonic() >= deadline
        timers.close()

    run(main())


@pytest.mark.parametrize(("busy", "exact"), [(True, True), (False, True), (False, False)])
def test_only_for_an_exact_wait_does_a_process_with_nothing_else_to_do_look_at_the_clock(run, monkeypatch, busy, exact):
    async def main():
        looked, look = [], timers_module._look_until
        monkeypatch.setattr(timers_module, "_look_until", lambda deadline: looked.append(deadline) or look(deadline))
        monkeypatch.setattr(timers_module, "EARLY_S", 0.19)  # so that a slow machine is not late for the alarm
        monkeypatch.setattr(time, "thread_time", time.monotonic if busy else lambda: 0.0)
        timers, deadline = Timers(), time.monotonic() + 0.2
        await timers.sleep_until(deadline, exact=exact)
        assert time.monotonic() >= deadline
        timers.close()
        assert looked == ([deadline] if exact and not busy else [])

    run(main())


def test_waits_come_in_order_of_their_deadlines(run):
    async def main():
        timers, rang, now = Timers(), [], time.monotonic()
        done = asyncio.Event()
        timers.at(now + 0.003, lambda: (rang.append("late"), done.set()))
        timers.at(now + 0.001, lambda: rang.append("early"))
        timers.at(now + 0.001, lambda: rang.append("early, asked second"))
        await done.wait()
        timers.close()
        assert rang == ["early", "early, asked second", "late"]

    run(main())


def test_a_cancelled_wait_does_not_ring(run):
    async def main():
        timers, rang = Timers(), []
        timers.at(time.monotonic() + 0.001, lambda: rang.append(1)).cancel()
        await timers.sleep_until(time.monotonic() + 0.003)
        timers.close()
        assert rang == []

    run(main())


def test_a_moment_that_has_passed_rings_at_once(run):
    async def main():
        timers = Timers()
        async with asyncio.timeout(1):
            await timers.sleep_until(time.monotonic() - 5)
        timers.close()

    run(main())


def test_a_callback_may_ask_for_the_next_wait(run):
    async def main():
        timers, done, rang = Timers(), asyncio.Event(), []

        def again():
            rang.append(time.monotonic())
            done.set() if len(rang) == 3 else timers.at(time.monotonic() + 0.001, again)

        timers.at(time.monotonic(), again)
        await done.wait()
        timers.close()
        assert rang == sorted(rang)

    run(main())


def test_a_broken_callback_does_not_stop_the_others(run):
    async def main():
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        timers, now = Timers(), time.monotonic()
        timers.at(now, lambda: 1 / 0)
        async with asyncio.timeout(1):
            await timers.sleep_until(now + 0.001)
        timers.close()

    run(main())


@pytest.mark.parametrize("exact", [True, False])
def test_the_clock_sleeps_at_least_as_long_as_asked(run, exact):
    async def main():
        timers = Timers() if exact else None
        clock = SystemClock(timers)
        begun = clock.monotonic()
        await clock.sleep(0.01)
        assert clock.monotonic() - begun >= 0.009
        assert abs(clock.now() - time.time()) < 1
        if timers:
            timers.close()

    run(main())
