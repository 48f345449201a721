"""A run in plain words: what a reader in Tokyo gained, what it costs, and what the loss of a region did. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from atoll.lab.quantiles import p50
from atoll.rules.aws_cost import PUBLISHED
from atoll.rules.published_latency import HOME, READABLE_IN_TOKYO_S, S3_API

Json = Mapping[str, Any]

READER = "ap-northeast-1"
CITIES = {"us-east-1": "Virginia", "us-west-2": "Oregon", "eu-central-1": "Frankfurt", "ap-northeast-1": "Tokyo"}


def city(region: str) -> str:
    return CITIES.get(region, region)


def headline(result: Json) -> str:
    """What was measured, one sentence after another; nothing of what was not. "" when nothing was."""
    return " ".join(_sentences(result))


def _sentences(result: Json) -> Iterator[str]:
    reads = _medians(result)
    if reads is not None:
        single, point = reads
        yield f"Read in {city(READER)}: {single:.0f} ms from one bucket in {city(HOME)}, {point:.0f} ms through the access point."
    stale_s = result["propagation"]["readable_through_mrap_s"]
    if stale_s:
        yield f"An overwrite is stale there for {_seconds(p50(stale_s))}."
    if reads is not None or stale_s:
        yield f"The set-up costs ${result['cost']['total_usd']:.2f} a month for {workload()}."


def workload() -> str:
    """Of the published plan, which the cost is of."""
    size = f"{PUBLISHED.size_bytes / 1000:g} KB"
    return f"{PUBLISHED.files:,} files of {size} overwritten daily and {PUBLISHED.reads_a_day:,} reads a day"


def published(result: Json) -> str:
    """The same figures as they were published for AWS."""
    single, point = (S3_API[READER, path].p50 for path in ("single", "mrap"))
    stale_s, usd = p50(READABLE_IN_TOKYO_S), result["cost"]["published"]["total"]
    return f"Published for AWS: {single:.0f} ms, {point:.0f} ms, {_seconds(stale_s)}, ${usd:.2f}."


def native(result: Json) -> str:
    """Why the figures of profile native are lower; "" for the other."""
    if result["profile"] != "native":
        return ""
    service_ms = S3_API[HOME, "single"].p50
    return f"Profile native is faster than AWS because it adds no service time (AWS: {service_ms} ms for a read in {city(HOME)}) and no lag."


def loss(result: Json) -> str:
    """What the loss of a region did to reads; "" when it was not measured."""
    found = result.get("loss")
    if not found:
        return ""
    where, failed = city(found["region"]), found["failed_reads"]
    met = f"{failed} of {found['reads']} reads failed, within {found['failed_for_s']:.2f} s" if failed else "no read failed"
    return (
        f"{where}'s region was killed under reads through the access point (client without retries): {met}; the first answer "
        f"came after {found['first_answer_after_s']:.2f} s, from {city(found['answered_by'])}. "
        f"A read took {found['before_p50_ms']:.0f} ms before and {found['after_p50_ms']:.0f} ms after."
    )


def instrument(result: Json) -> str:
    """What of it is real, and what stands in for AWS and its distances."""
    drawn = ", AWS's service times and its replication lag" if result["profile"] == "aws" else ""
    return f"Real: a process per region, unmodified botocore, signatures, policies, copies on disk. Emulated: distances{drawn}."


def busy(result: Json) -> str:
    """A warning when other work wanted all processors as the run began; "" when it did not, or nobody looked."""
    load, cpus = result.get("load_before", 0.0), result["machine"]["cpus"]
    return f"The machine was busy (load {load:.1f} on {cpus} CPUs): times here are too high." if load > cpus else ""


def partial(result: Json) -> str:
    """Which stages are missing; "" when none is."""
    if not result.get("partial"):
        return ""
    done = result["stages"]
    return f"PARTIAL: {done['stopped']}; finished: {', '.join(done['finished']) or 'nothing'}; not finished: {', '.join(done['unfinished'])}."


def _medians(result: Json) -> tuple[float, float] | None:
    found = {
        cell["path"]: cell["value"]
        for cell in result["cells"]
        if (cell["table"], cell["place"], cell["stat"]) == ("s3_api", READER, "p50")
    }
    return (found["single"], found["mrap"]) if {"single", "mrap"} <= set(found) else None


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value >= 1 else f"{value:.2f} s"
