"""The error of an emulated distance."""

import asyncio

from atoll.net.echo_delay_error import echo_errors_ms
from atoll.net.precise_timers import Timers
from atoll.net.wan_emulation import Link


def test_each_echo_is_measured_and_none_came_early():
    async def run():
        timers = Timers()
        try:
            return await echo_errors_ms(Link(4.0), timers, 3)
        finally:
            timers.close()

    errors = asyncio.run(run())
    assert len(errors) == 3
    assert min(errors) >= 0


def test_the_error_is_what_is_above_the_distance_and_not_the_whole_time():
    async def run():
        timers = Timers()
        try:
            return await echo_errors_ms(Link(200.0), timers, 1)
        finally:
            timers.close()

    assert asyncio.run(run())[0] < 200
