"""The plan of an `atoll lab mrap` run, and its stages with the time that each is expected to take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from atoll.lab.stage_estimates import Stage
from atoll.processes.world_config import Profile, World
from atoll.rules.published_latency import ALL_THREE_BUCKETS_S, HOME, S3_API
from atoll.services.s3control.reconciler import CREATE_DELAY_S

StageName = Literal["world", "setup", "copies", "reads", "overwrites", "loss", "closing"]

OVERHEAD_READS = 80  # per path and place, to know what a path costs without draws; done before the first copies have arrived
QUICK_CREATE_DELAY_S = 0.2
QUICK_READ_LIMIT_S = 50.0  # on a busy machine rather fewer reads than a longer demo; each figure tells its number

# Seconds as seen on two idle cores; they only feed the time left.
WORLD_S, SETUP_S, LOSS_S, CLOSING_S = 3.0, 3.0, 7.0, 4.0
UPLOAD_S, NATIVE_LAG_S = 0.006, 0.7
NATIVE_READ_MS = 3.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do. `seed` is of the files and of the drawn service times. `quick`: the access point is made at once, which on
    AWS takes minutes and is not measured here."""

    profile: Profile
    files: int
    rounds: int
    overwrites: int
    seed: int
    quick: bool = False

    @property
    def drawn(self) -> bool:
        """Reads take as long as on AWS: waits dominate, so that places and overwrites may go side by side."""
        return self.profile == "aws"

    @property
    def create_delay_s(self) -> float | None:
        return QUICK_CREATE_DELAY_S if self.quick else None

    @property
    def read_limit_s(self) -> float | None:
        """No read is begun later than so many seconds after the first; None: all are made."""
        return QUICK_READ_LIMIT_S if self.quick and self.drawn else None


def read_s(place: str, plan: Plan, world: World) -> float:
    """How long one place reads."""
    if plan.drawn:
        each_ms = sum(figure.p50 for (where, _), figure in S3_API.items() if where == place)
    else:
        each_ms = world.distance(place, HOME).rtt_ms + 3 * NATIVE_READ_MS
    return plan.files * plan.rounds * each_ms / 1000


def overheads_pause_s(place: str) -> float:
    """Before each read without draws: as long as AWS takes, and elsewhere than at home as long as the far read beside it."""
    pause_ms = S3_API[HOME, "single"].p50 + (0.0 if place == HOME else S3_API[place, "single"].p50)
    return pause_ms / 1000


def stages(plan: Plan, world: World) -> list[Stage]:
    """In their order. Profile aws overwrites while it reads."""
    places = world.regions
    upload_s = plan.files * UPLOAD_S
    reads = [read_s(place, plan, world) for place in places]
    setup = Stage("setup", "making buckets, replication rules and the access point", SETUP_S + _create_s(plan))
    world_stage = Stage("world", f"starting a world of {len(places)} regions, profile {plan.profile}", WORLD_S)
    ending = [Stage("loss", "counting copies, then losing a region under reads", LOSS_S), Stage("closing", "taking the world down", CLOSING_S)]
    if plan.drawn:
        lag_s = max(ALL_THREE_BUCKETS_S)
        copies = Stage("copies", f"uploading {plan.files} files, their first copies, reads without draws", upload_s + lag_s)
        text = f"reading from {len(places)} regions" + (f" and overwriting {plan.overwrites} times" if plan.overwrites else "")
        return [world_stage, setup, copies, Stage("reads", text, max(*reads, plan.overwrites * lag_s)), *ending]
    copies = Stage("copies", f"uploading {plan.files} files and waiting for their copies", upload_s + NATIVE_LAG_S)
    found = [world_stage, setup, copies, Stage("reads", f"reading from {len(places)} regions, one after another", sum(reads))]
    if plan.overwrites:
        found.append(Stage("overwrites", f"overwriting {plan.overwrites} times", plan.overwrites * NATIVE_LAG_S))
    return [*found, *ending]


def _create_s(plan: Plan) -> float:
    return CREATE_DELAY_S[plan.profile] if plan.create_delay_s is None else plan.create_delay_s
