"""How near is an access point? The published experiment: four regions read the same files, from one bucket and from near copies."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atoll.lab import cost, ground, pacing, result, tables
from atoll.lab.awake import processors_awake
from atoll.lab.callers import CallerProcess, Callers, LabFailed, together
from atoll.lab.counting import counters
from atoll.lab.echoes import echo_errors
from atoll.lab.files import File, make
from atoll.lab.progress import Progress
from atoll.lab.propagation import Overwrite, Propagation
from atoll.lab.quantiles import p50
from atoll.lab.report import html
from atoll.lab.result import PATHS
from atoll.lab.world import LabWorld, stopped_by_sigterm, temporary
from atoll.node import config
from atoll.node.config import Profile
from atoll.rules import money
from atoll.rules.published import HOME, S3_API
from atoll.rules.published import Path as ReadPath

__all__ = ("LabFailed", "Plan", "main")

OVERHEAD_READS = 100  # at least, per path and place, to know what a path costs without draws
LOG_SETTLE_S = 0.5  # access logs are written a few times a second


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do. `seed` is of the files and of the drawn service times."""

    profile: Profile
    files: int
    rounds: int
    overwrites: int
    seed: int


@dataclass(slots=True)
class Experiment:
    """A plan in a running world with callers in its regions. Each method is one phase."""

    plan: Plan
    world: LabWorld
    callers: Callers
    files: list[File]
    progress: Progress
    ground: ground.Ground
    awake: bool = False

    @property
    def _listed(self) -> list[list[str]]:
        return [[file.key, file.md5] for file in self.files]

    def open(self) -> None:
        """One client and one connection per path in every place."""
        here = self.ground

        def ways(caller: CallerProcess) -> Mapping[str, Any]:
            place = caller.place
            return {
                "do": "open",
                "ways": {
                    "single": [here.home, here.members[here.home]],
                    "direct": [place, here.members[place]],
                    "mrap": [place, here.arn],
                },
            }

        together(self.callers.all(), ways)

    def first_copy(self) -> float:
        """Upload, and seconds until the last file is in all buckets."""
        self.progress.say(f"uploading {len(self.files)} files to {self.ground.home} and waiting for their copies")
        home = self.callers[self.ground.home]
        uploaded = ground.upload(home, self.files)
        ground.wait_copied(home, self.ground, len(self.files))
        return time.monotonic() - uploaded

    def overheads(self) -> dict[ReadPath, dict[str, float]]:
        """What each path costs a caller inside the region without draws (p50, ms).

        Measured the way the reads are: from all places at once, and with a pause before each as long as AWS takes, for a
        process that has just waited finds its caches cold.
        """
        self.progress.say("measuring what the paths cost without draws")
        pacing.set_paces(self.world, dict.fromkeys(self.ground.members, pacing.NO_DRAWS))
        files, pause_s = self._listed[:OVERHEAD_READS], S3_API[HOME, "single"].p50 / 1000
        command = {"do": "read", "paths": PATHS, "files": files, "rounds": math.ceil(OVERHEAD_READS / len(files)), "pause_s": pause_s}
        answers = together(self.callers.all(), command)
        medians = {
            place: {path: p50(result.flat(told["samples"][path])) for path in PATHS} for place, told in answers.items()
        }
        home = self.ground.home
        return {"single": {home: medians[home]["single"]}, "mrap": {place: by["mrap"] for place, by in medians.items()}}

    def draw(self, overheads: pacing.Overheads) -> None:
        """From now on reads take as long as they were measured on AWS."""
        wanted = {region: pacing.drawn(region, overheads, seed=self.plan.seed) for region in self.ground.members}
        pacing.set_paces(self.world, wanted)

    def read(self) -> tuple[result.Samples, result.ClientCpu]:
        """All reads, and the clients' CPU in them. Profile aws: side by side, for waits dominate; native: one region after another, for CPU does."""
        paths = list(PATHS) if self.plan.profile == "aws" else [*PATHS, "direct"]
        command = {"do": "read", "paths": paths, "files": self._listed, "rounds": self.plan.rounds}
        every, answers = self.callers.all(), {}
        groups = [every] if self.plan.profile == "aws" else [[caller] for caller in every]
        awake = processors_awake() if self.plan.profile == "native" else nullcontext(False)
        with awake as self.awake, self.progress.bars([caller.place for caller in every], self.plan.rounds * len(self.files)) as heard:
            for group in groups:
                answers.update(together(group, command, lambda place, told: heard(place, told["reads"])))
        samples = {place: told["samples"] for place, told in answers.items()}
        return samples, {place: told["cpu_ms"] for place, told in answers.items()}

    def overwrite(self) -> list[Overwrite]:
        def told(number: int, one: Overwrite) -> None:
            seen = f"all buckets {one.all_buckets_s:.2f} s, through the access point {one.readable_s:.2f} s"
            self.progress.say(f"overwrite {number + 1} of {self.plan.overwrites}: {seen}")

        watched = Propagation(self.callers, self.ground, self.files[0], self.plan.profile)
        return watched.run(self.plan.overwrites, self.plan.seed, told)

    def counters(self) -> money.Counters:
        kept = ground.kept_bytes(self.callers[self.ground.home], self.ground)
        time.sleep(LOG_SETTLE_S)
        return counters(self.world.home.logs, self.ground, kept)


def _regions(world: config.World) -> list[str]:
    return [HOME, *(region for region in world.regions if region != HOME)]


def run(plan: Plan, progress: Progress) -> tuple[result.Json, result.Samples]:
    """The whole experiment in a world of its own. Raises LabFailed."""
    links = config.load(None)
    regions = _regions(links)
    began = time.time()
    progress.say(f"starting a world of {len(regions)} regions, profile {plan.profile}")
    with temporary(plan.profile) as world, Callers(world.run, world.home.root, regions) as callers:
        slow = " (minutes, as on AWS)" if plan.profile == "aws" else ""
        progress.say(f"making buckets, replication rules and the access point{slow}")
        made = ground.prepare(callers[HOME], regions)
        experiment = Experiment(plan, world, callers, make(plan.files, plan.seed), progress, made)
        experiment.open()
        first_copy_s = experiment.first_copy()
        overheads: dict[ReadPath, dict[str, float]] = {}
        if plan.profile == "aws":
            overheads = experiment.overheads()
            experiment.draw(overheads)
        samples, cpu = experiment.read()
        overwrites = experiment.overwrite()
        counted = experiment.counters()
    told = _told(plan, links, regions, samples, cpu, overwrites)
    told["processors_awake"] = experiment.awake
    told["overhead_ms"] = {path: {region: round(ms, 4) for region, ms in by.items()} for path, by in overheads.items()}
    far = max(row["rtt_ms"] for row in told["distances"] if HOME in row["between"])
    told["echo_error_ms"] = echo_errors([links.same_ms, far])
    told["initial_copy_s"] = round(first_copy_s, 3)
    told["counters"] = cost.counter_inputs(counted)
    told["counted_cost"] = cost.as_json(money.of_counters(counted), cost.counter_inputs(counted))
    told["began"], told["took_s"] = round(began, 3), round(time.time() - began, 1)
    return told, samples


def _told(
    plan: Plan,
    links: config.World,
    regions: Sequence[str],
    samples: result.Samples,
    cpu: result.ClientCpu,
    overwrites: Sequence[Overwrite],
) -> result.Json:
    cells = list(result.read_cells(samples, plan.profile))
    if plan.profile == "native":
        cells += result.native_cells(samples, cpu, links, HOME)
    cells += result.client_cells(cpu)
    cells += result.propagation_cells(overwrites)
    return {
        "experiment": "mrap",
        "profile": plan.profile,
        "machine": result.machine(),
        "commit": result.commit(),
        "seed": plan.seed,
        "plan": {"files": plan.files, "rounds": plan.rounds, "overwrites": plan.overwrites},
        "instrument": result.INSTRUMENT,
        "distances": result.distances(links, regions),
        "cells": [cell.as_json() for cell in cells],
        "propagation": result.propagation(overwrites),
        "cost": cost.as_json(money.of_plan(money.PUBLISHED), cost.plan_inputs(money.PUBLISHED), published=True),
    }


def main(plan: Plan, *, json_file: Path | None, html_file: Path | None) -> None:
    """Run it, print the tables, write what was asked for. Raises LabFailed, KeyboardInterrupt."""
    for file in (json_file, html_file):
        if file is not None and not file.absolute().parent.is_dir():
            raise LabFailed(f"there is no folder {file.absolute().parent} for {file.name}")
    with stopped_by_sigterm():
        told, samples = run(plan, Progress())
    tables.show(told)
    if json_file is not None:
        result.write(json_file, told, samples)
    if html_file is not None:
        html_file.write_text(html(told, samples, config.load(None)), encoding="utf-8")
