"""Measures how long an overwrite takes to all buckets and through the access point, and counts stale reads."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable, Generator
from dataclasses import dataclass

from atoll.lab.client_workers import Callers, LabFailed, Message, Wait
from atoll.lab.dataset import File, gzipped
from atoll.lab.setup_resources import Setup
from atoll.processes.world_config import Profile

READER = "ap-northeast-1"  # who asks the access point, as published
TIMEOUT_S = 100.0
PAUSE_S: dict[Profile, float] = {"native": 0.002, "aws": 0.05}  # between two looks; bounds how exact the figures are


@dataclass(frozen=True, slots=True)
class Overwrite:
    """Seconds since the write was sent. `stale_reads`: answers with 200 and old content, asked for after the write was
    acknowledged, through the access point."""

    buckets_s: dict[str, float]
    readable_s: float
    stale_reads: int

    @property
    def all_buckets_s(self) -> float:
        return max(self.buckets_s.values())


@dataclass(frozen=True, slots=True)
class Propagation:
    """One run of it, as a conversation with `callers` (see callers.side_by_side): who calls, what was made, which file is
    overwritten."""

    callers: Callers
    setup: Setup
    file: File
    profile: Profile

    def run(self, count: int, seed: int, found: Callable[[Overwrite], None]) -> Generator[Wait, dict[str, Message], None]:
        """One overwrite after another, each given to `found` when it has arrived everywhere."""
        rng = random.Random(seed)
        for number in range(count):
            content = gzipped(f"overwrite {number} {rng.random()}", len(self.file.content), rng)
            found((yield from self._overwrite(content)))

    def _overwrite(self, content: bytes) -> Generator[Wait, dict[str, Message], Overwrite]:
        watchers = [self.callers[region] for region in self.setup.copies]
        encoded = base64.b64encode(content).decode()
        for watcher in watchers:
            paths = ["direct", "mrap"] if watcher.place == READER else ["direct"]
            watcher.tell(
                {"do": "watch", "paths": paths, "key": self.file.key, "content": encoded, "timeout_s": TIMEOUT_S,
                 "pause_s": PAUSE_S[self.profile]}
            )  # fmt: skip
        yield Wait(watchers, until="watching")
        writer = self.callers[self.setup.home]
        writer.tell({"do": "put", "path": "single", "files": [[self.file.key, encoded]]})
        put = (yield Wait([writer]))[writer.place]
        answers = yield Wait(watchers)
        missing = [place for place, result in answers.items() if "direct" not in result["seen"]]
        if missing or "mrap" not in answers[READER]["seen"]:
            raise LabFailed(f"an overwrite did not arrive within {TIMEOUT_S:.0f} s in {', '.join(missing) or 'the access point'}")
        return Overwrite(
            {place: result["seen"]["direct"] - put["began"] for place, result in answers.items()},
            answers[READER]["seen"]["mrap"] - put["began"],
            sum(began > put["answered"] for began in answers[READER]["stale"]["mrap"]),
        )
