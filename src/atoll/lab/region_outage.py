"""Loss of a region under reads: how long reads failed, and what they cost before and after.

The region's process is killed without warning (SIGKILL, and kept from being started again) while a caller in that region reads
through the access point, one read at a time and without retries.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atoll.lab.client_workers import CallerProcess, LabFailed, Message, Wait
from atoll.lab.dataset import File
from atoll.lab.quantiles import p50
from atoll.lab.temporary_world import LabWorld
from atoll.processes.supervisor import NotRunning, ask

READS_BEFORE, READS_AFTER = 30, 30  # answered reads; the figures beside them are medians of these
TIMEOUT_S = 40.0
PAUSE_S = 0.01  # between reads, so that refusals do not come by the thousand
LOG_SETTLE_S = 0.5  # access logs are written a few times a second
AFTER_MIN = 5  # answered reads after the loss without which there is no figure


@dataclass(frozen=True, slots=True)
class Read:
    """One try: when it began and ended (monotonic seconds), and the error's code, "" when it was answered."""

    began: float
    ended: float
    error: str = ""


@dataclass(frozen=True, slots=True)
class Loss:
    """What a caller met. `failed_for_s`: from the beginning of the first failed read to the end of the last; 0.0 when none
    failed. `silent_s`: from the loss to the first answer. Milliseconds are medians of answered reads."""

    region: str
    before_ms: float
    after_ms: float
    reads: int
    failed: int
    failed_for_s: float
    silent_s: float
    errors: tuple[str, ...]
    answered_by: str


def outage(region: str, reads: Sequence[Read], lost_at: float, answered_by: str) -> Loss:
    """`lost_at`: when the region was killed, on the clock of the reads. Reads that were answered around that moment count as
    neither before nor after. Raises LabFailed when too few were answered on either side."""
    failed = [read for read in reads if read.error]
    before = [read for read in reads if not read.error and read.ended <= lost_at]
    after = [read for read in reads if not read.error and read.began > lost_at]
    if not before or len(after) < AFTER_MIN:
        raise LabFailed(f"{len(before)} reads were answered before the loss of {region} and {len(after)} after it: too few")
    return Loss(
        region,
        p50([_ms(read) for read in before]),
        p50([_ms(read) for read in after]),
        len(reads),
        len(failed),
        failed[-1].ended - failed[0].began if failed else 0.0,
        after[0].ended - lost_at,
        tuple(sorted({read.error for read in failed})),
        answered_by,
    )


def _ms(read: Read) -> float:
    return (read.ended - read.began) * 1000


def measure(
    caller: CallerProcess, world: LabWorld, file: File, on_share: Callable[[float], None] = lambda _share: None
) -> Generator[Wait, dict[str, Message], Loss]:
    """Kills the region in which the caller stands. `on_share` is told which share of the reads is done."""
    region, lost_at = caller.place, 0.0

    def on_message(_place: str, message: Message) -> None:
        nonlocal lost_at
        on_share(message["answered"] / (READS_BEFORE + READS_AFTER))
        if not lost_at and message["answered"] >= READS_BEFORE:
            lost_at = kill(world, region)

    caller.tell(
        {"do": "poll", "path": "mrap", "file": [file.key, file.md5], "answered": READS_BEFORE + READS_AFTER,
         "timeout_s": TIMEOUT_S, "pause_s": PAUSE_S}
    )  # fmt: skip
    answers = yield Wait([caller], on_message)
    time.sleep(LOG_SETTLE_S)
    reads = [Read(*row) for row in answers[region]["reads"]]
    return outage(region, reads, lost_at, last_answer_from(world.home.log("entry"), region))


def kill(world: LabWorld, region: str) -> float:
    """When (monotonic seconds). The supervisor is told at once not to start it again."""
    try:
        status = ask(world.home.socket, {"do": "status"})
        [pid] = [place["pid"] for place in status["places"] if place["name"] == region]
        lost_at = time.monotonic()
        os.kill(int(pid), signal.SIGKILL)
        ask(world.home.socket, {"do": "stop", "place": region})
    except (NotRunning, ProcessLookupError) as error:
        raise LabFailed(f"{region} could not be killed: {error}") from error
    return lost_at


def last_answer_from(log: Path, place: str) -> str:
    """The region that answered the place's last good request through an access point, as the entry logged it."""
    answered = ""
    with log.open(encoding="utf-8") as lines:
        for line in lines:
            event = json.loads(line)
            if event["event"] == "entry" and event["place"] == place and event["status"] < 300 and "bucket" in event:
                answered = str(event["region"])
    return answered


def as_json(loss: Loss) -> dict[str, Any]:
    """For the result file."""
    return {
        "region": loss.region,
        "how": "killed without warning (SIGKILL) and not started again; client without retries",
        "before_p50_ms": round(loss.before_ms, 3),
        "after_p50_ms": round(loss.after_ms, 3),
        "reads": loss.reads,
        "failed_reads": loss.failed,
        "failed_for_s": round(loss.failed_for_s, 4),
        "first_answer_after_s": round(loss.silent_s, 4),
        "errors": list(loss.errors),
        "answered_by": loss.answered_by,
    }
