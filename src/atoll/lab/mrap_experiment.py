"""The published experiment: four regions read the same files, from one bucket and through an access point."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from atoll.lab import cost_report, region_outage, results, service_time_settings, setup_resources, terminal_tables
from atoll.lab import plan as plans
from atoll.lab.client_workers import CallerProcess, Callers, LabFailed, Message, Wait, run_together, side_by_side
from atoll.lab.dataset import File, make
from atoll.lab.delay_accuracy import echo_errors
from atoll.lab.html_report import html
from atoll.lab.keep_cpus_awake import processors_awake
from atoll.lab.plan import Plan, StageName
from atoll.lab.progress import Progress
from atoll.lab.propagation import READER, Overwrite, Propagation
from atoll.lab.quantiles import p50
from atoll.lab.readings import Readings
from atoll.lab.results import PATHS
from atoll.lab.stage_estimates import Shares
from atoll.lab.temporary_world import LabWorld, interruptible, temporary
from atoll.lab.usage_counters import counters
from atoll.processes import world_config
from atoll.rules import aws_cost
from atoll.rules.published_latency import HOME
from atoll.rules.published_latency import Path as ReadPath

__all__ = ("LabFailed", "Plan", "main")

SPARE = "spare.json.gz"  # overwritten while the other files are read
LOG_SETTLE_S = 0.5  # access logs are written a few times a second
Overheads = dict[ReadPath, dict[str, float]]


@dataclass(slots=True)
class Findings:
    """What was measured so far. It outlives a run that is interrupted or fails."""

    readings: Readings = field(default_factory=Readings)
    overwrites: list[Overwrite] = field(default_factory=list)
    overheads: Overheads = field(default_factory=dict)
    awake: bool = False
    first_copy_s: float | None = None
    counted: aws_cost.Counters | None = None
    loss: region_outage.Loss | None = None
    load_before: float = 0.0
    stage_s: dict[str, float] = field(default_factory=dict)
    finished: list[StageName] = field(default_factory=list)
    stopped: str = ""


@dataclass(slots=True)
class Experiment:
    """A plan in a running world. `callers` read in its regions; `watchers` stand beside them where overwrites go on at the same
    time. Each method is one phase."""

    plan: Plan
    links: world_config.World
    world: LabWorld
    callers: Callers
    watchers: Callers
    files: list[File]
    overwritten: File
    progress: Progress
    setup: setup_resources.Setup
    found: Findings

    @property
    def _listed(self) -> list[list[str]]:
        return [[file.key, file.md5] for file in self.files]

    def open(self) -> None:
        """One client and one connection per path in every place."""
        deps = self.setup

        def ways(caller: CallerProcess) -> Mapping[str, Any]:
            place = caller.place
            return {
                "do": "open",
                "ways": {
                    "single": [deps.home, deps.members[deps.home]],
                    "direct": [place, deps.members[place]],
                    "mrap": [place, deps.arn],
                },
            }

        for callers in {id(one): one for one in (self.callers, self.watchers)}.values():
            run_together(callers.all(), ways)

    def upload(self) -> float:
        """When the last file was acknowledged (monotonic seconds). Where overwrites go on beside the
        reads, the file for them goes into every bucket, so that it can be read before copies arrive; into the first one last,
        whose copies are then the newest everywhere."""
        home = self.callers[self.setup.home]
        if self.plan.drawn:
            for region in self.setup.copies:
                setup_resources.upload(self.callers[region], [self.overwritten], path="direct")
            return setup_resources.upload(home, [*self.files, self.overwritten])
        return setup_resources.upload(home, self.files)

    def wait_copied(self, uploaded: float) -> float:
        """Seconds from the upload until the last file is in all buckets."""
        setup_resources.wait_copied(self.callers[self.setup.home], self.setup, len(self.files) + self.plan.drawn)
        return time.monotonic() - uploaded

    def overheads(self) -> Overheads:
        """What each path costs a caller inside the region without draws (p50, ms).

        Measured the way the reads are: from all places at once, and with a pause before each as long as AWS takes, for a
        process that has just waited finds its caches cold.
        """
        service_time_settings.set_service_times(self.world, dict.fromkeys(self.setup.members, service_time_settings.NO_DRAWS))
        home = self.setup.home

        def command(caller: CallerProcess) -> Mapping[str, Any]:
            paths = PATHS if caller.place == home else ("mrap",)
            return {
                "do": "read", "paths": paths, "files": [[self.overwritten.key, self.overwritten.md5]], "rounds": plans.OVERHEAD_READS,
                "pause_s": plans.overheads_pause_s(caller.place),
            }  # fmt: skip

        answers = run_together(self.callers.all(), command)
        medians = {
            place: {path: p50(results.flatten(rounds)) for path, rounds in result["samples"].items()} for place, result in answers.items()
        }
        return {"single": {home: medians[home]["single"]}, "mrap": {place: by["mrap"] for place, by in medians.items()}}

    def draw(self, overheads: service_time_settings.Overheads) -> None:
        """From now on reads take as long as they were measured on AWS."""
        wanted = {region: service_time_settings.drawn(region, overheads, seed=self.plan.seed) for region in self.setup.members}
        service_time_settings.set_service_times(self.world, wanted)

    def read(self) -> Generator[Wait, dict[str, Message], None]:
        """All reads, side by side."""
        shares, callers = self._shares(), self.callers.all()
        self._tell_read(callers)
        yield Wait(callers, self._noted(shares, shares.slowest))
        self.progress.share(None)  # overwrites may go on; their end is a matter of time

    def read_in_turn(self) -> None:
        """One region after another: nothing is drawn, so that the processors decide how long a read takes."""
        shares = self._shares()
        weights = {place: plans.read_s(place, self.plan, self.links) for place in self.setup.members}
        with processors_awake() as self.found.awake:
            for caller in self.callers.all():
                self._tell_read([caller])
                side_by_side(_waiting([caller], self._noted(shares, lambda: shares.weighted(weights))))

    @property
    def _paths(self) -> list[str]:
        return list(PATHS) if self.plan.drawn else [*PATHS, "direct"]

    def _shares(self) -> Shares:
        return Shares(list(self.setup.members), self.plan.rounds * len(self.files) * len(self._paths))

    def _tell_read(self, callers: Sequence[CallerProcess]) -> None:
        command = {"do": "read", "paths": self._paths, "files": self._listed, "rounds": self.plan.rounds}
        limit_s = self.plan.read_limit_s
        for caller in callers:
            caller.tell(command if limit_s is None else {**command, "limit_s": limit_s})

    def _noted(self, shares: Shares, share: Callable[[], float]) -> Callable[[str, Message], None]:
        def on_message(place: str, message: Message) -> None:
            self.found.readings.add(place, message["rows"])
            shares.done(place, self.found.readings.count(place))
            self.progress.share(share())

        return on_message

    def overwrite(self) -> Generator[Wait, dict[str, Message], None]:
        def arrived(one: Overwrite) -> None:
            self.found.overwrites.append(one)
            seen = f"all buckets {one.all_buckets_s:.2f} s, through the access point {one.readable_s:.2f} s"
            self.progress.say(f"overwrite {len(self.found.overwrites)} of {self.plan.overwrites}: {seen}")

        watched = Propagation(self.watchers, self.setup, self.overwritten, self.plan.profile)
        return watched.run(self.plan.overwrites, self.plan.seed, arrived)

    def counters(self) -> aws_cost.Counters:
        kept = setup_resources.kept_bytes(self.callers[self.setup.home], self.setup)
        time.sleep(LOG_SETTLE_S)
        return counters(self.world.home.logs, self.setup, kept)

    def lose_region(self) -> region_outage.Loss:
        """The one near the reader of the headline."""
        [found] = side_by_side(region_outage.measure(self.callers[READER], self.world, self.files[-1], self.progress.share))
        assert isinstance(found, region_outage.Loss)
        return found


def _waiting(callers: Sequence[CallerProcess], on_message: Callable[[str, Message], None]) -> Generator[Wait, dict[str, Message], None]:
    yield Wait(callers, on_message)


def _regions(links: world_config.World) -> list[str]:
    return [HOME, *(region for region in links.regions if region != HOME)]


@dataclass(frozen=True, slots=True)
class Run:
    """A plan, what shows its progress, and where findings go."""

    plan: Plan
    links: world_config.World
    progress: Progress
    found: Findings

    def all(self) -> None:
        """The whole experiment in a world of its own. Raises LabFailed, KeyboardInterrupt."""
        with ExitStack() as stack:
            with self._stage("world"):
                world = stack.enter_context(temporary(self.plan.profile, self.plan.create_delay_s))
            with self._stage("setup"):
                experiment = self._set_up(world, stack)
            with self._stage("copies"):
                self._copy(experiment)
            self._read(experiment)
            with self._stage("loss"):
                self.found.counted = experiment.counters()
                self.found.loss = experiment.lose_region()
            self.progress.begin("closing")
        self.found.finished.append("closing")

    @contextmanager
    def _stage(self, name: StageName) -> Iterator[None]:
        self.progress.begin(name)
        began = time.monotonic()
        yield
        self.found.finished.append(name)
        self.found.stage_s[name] = round(time.monotonic() - began, 2)

    def _set_up(self, world: LabWorld, stack: ExitStack) -> Experiment:
        """Callers and all that a user makes. Where overwrites go on beside the reads, a second set of callers watches them."""
        regions = _regions(self.links)
        callers = stack.enter_context(Callers(world.run, world.home.root, regions))
        watchers = stack.enter_context(Callers(world.run, world.home.root, regions, "watcher")) if self.plan.drawn else callers
        made = setup_resources.prepare(callers[HOME], regions)
        files = make(self.plan.files, self.plan.seed)
        overwritten = replace(files[0], key=SPARE) if self.plan.drawn else files[0]
        experiment = Experiment(self.plan, self.links, world, callers, watchers, files, overwritten, self.progress, made, self.found)
        experiment.open()
        return experiment

    def _copy(self, experiment: Experiment) -> None:
        uploaded = experiment.upload()
        if self.plan.drawn:
            self.found.overheads = experiment.overheads()
        self.found.first_copy_s = experiment.wait_copied(uploaded)
        if self.plan.drawn:
            experiment.draw(self.found.overheads)

    def _read(self, experiment: Experiment) -> None:
        if self.plan.drawn:
            with self._stage("reads"):
                side_by_side(experiment.read(), experiment.overwrite())
            return
        with self._stage("reads"):
            experiment.read_in_turn()
        if self.plan.overwrites:
            with self._stage("overwrites"):
                side_by_side(experiment.overwrite())


def assembled(run: Run, began: float) -> results.Json:
    """The result of what was measured, marked partial when that is not all."""
    plan, links, found = run.plan, run.links, run.found
    regions, readings = _regions(links), found.readings.ordered(_regions(links))
    result = _result(plan, links, regions, readings.samples, readings.cpu_ms, found.overwrites)
    names = [stage.name for stage in plans.stages(plan, links)]
    result["partial"] = bool(found.stopped)
    result["stages"] = {
        "finished": found.finished,
        "unfinished": [name for name in names if name not in found.finished],
        "stopped": found.stopped,
        "took_s": found.stage_s,
    }
    result["load_before"] = round(found.load_before, 2)
    result["processors_awake"] = found.awake
    result["overhead_ms"] = {path: {region: round(ms, 4) for region, ms in by.items()} for path, by in found.overheads.items()}
    far = max(row["rtt_ms"] for row in result["distances"] if HOME in row["between"])
    result["echo_error_ms"] = {} if found.stopped else echo_errors([links.same_ms, far])
    result["initial_copy_s"] = None if found.first_copy_s is None else round(found.first_copy_s, 3)
    result["loss"] = None if found.loss is None else region_outage.as_json(found.loss)
    if found.counted is not None:
        result["counters"] = cost_report.counter_inputs(found.counted)
        result["counted_cost"] = cost_report.as_json(aws_cost.of_counters(found.counted), cost_report.counter_inputs(found.counted))
    result["began"], result["took_s"] = round(began, 3), round(time.time() - began, 1)
    return result


def _result(
    plan: Plan,
    links: world_config.World,
    regions: Sequence[str],
    samples: results.Samples,
    cpu: results.ClientCpu,
    overwrites: Sequence[Overwrite],
) -> results.Json:
    cells = list(results.read_cells(samples, plan.profile))
    if plan.profile == "native":
        cells += results.native_cells(samples, cpu, links, HOME)
    cells += results.client_cells(cpu)
    cells += results.propagation_cells(overwrites)
    return {
        "experiment": "mrap",
        "profile": plan.profile,
        "machine": results.machine(),
        "commit": results.commit(),
        "seed": plan.seed,
        "plan": {"files": plan.files, "rounds": plan.rounds, "overwrites": plan.overwrites},
        "instrument": results.INSTRUMENT,
        "distances": results.distances(links, regions),
        "cells": [cell.as_json() for cell in cells],
        "propagation": results.propagation(overwrites),
        "cost": cost_report.as_json(aws_cost.of_plan(aws_cost.PUBLISHED), cost_report.plan_inputs(aws_cost.PUBLISHED), published=True),
    }


def main(plan: Plan, *, json_file: Path | None, html_file: Path | None) -> None:
    """Run it, print the tables, write what was asked for; of a run that ends early, what was measured until then.
    Raises LabFailed, KeyboardInterrupt, after that."""
    for file in (json_file, html_file):
        if file is not None and not file.absolute().parent.is_dir():
            raise LabFailed(f"there is no folder {file.absolute().parent} for {file.name}")
    links, began = world_config.load(None), time.time()
    progress = Progress(plans.stages(plan, links))
    run = Run(plan, links, progress, Findings(load_before=os.getloadavg()[0]))
    with interruptible():
        try:
            with progress.shown():
                run.all()
        except BaseException as error:
            run.found.stopped = "interrupted" if isinstance(error, KeyboardInterrupt) else f"{error}" or type(error).__name__
            _present(run, assembled(run, began), json_file, html_file)
            raise
        _present(run, assembled(run, began), json_file, html_file)


def _present(run: Run, result: results.Json, json_file: Path | None, html_file: Path | None) -> None:
    samples = run.found.readings.ordered(_regions(run.links)).samples
    if json_file is not None:
        results.write(json_file, result, samples)
    if html_file is not None:
        html_file.write_text(html(result, samples, run.links), encoding="utf-8")
    terminal_tables.show(result, report=html_file)
