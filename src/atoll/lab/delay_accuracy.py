"""Measures how exact the emulated distances are on this machine: the error of a 1-byte echo, which stands beside every result."""

from __future__ import annotations

import uvloop

from atoll.lab.quantiles import p50
from atoll.net.echo_delay_error import echo_errors_ms
from atoll.net.precise_timers import Timers
from atoll.net.wan_emulation import Link

ROUNDS = 10


async def _errors(rtts_ms: list[float]) -> dict[str, float]:
    timers = Timers()
    try:
        return {f"{rtt:g}": round(p50(await echo_errors_ms(Link(rtt), timers, ROUNDS)), 3) for rtt in rtts_ms}
    finally:
        timers.close()


def echo_errors(rtts_ms: list[float]) -> dict[str, float]:
    """Round trip in ms -> how much longer an echo over such a link took (p50 of ten, ms; no jitter, never less)."""
    return uvloop.run(_errors(rtts_ms))
