import pytest

from atoll.lab import mrap_experiment
from atoll.lab.propagation import Overwrite
from atoll.processes import world_config

REGIONS = ["us-east-1", "us-west-2", "eu-central-1", "ap-northeast-1"]
OVERWRITES = [
    Overwrite({"us-west-2": 21.5, "eu-central-1": 22.0, "ap-northeast-1": 21.0}, 21.25, 40),
    Overwrite({"us-west-2": 22.5, "eu-central-1": 22.75, "ap-northeast-1": 22.25}, 22.3, 50),
]


@pytest.fixture
def links():
    return world_config.load(None)


@pytest.fixture
def samples():
    """Two rounds of two files; the access point takes 10 ms, the direct read 9 and the single bucket 100."""
    one = {"single": [[100.0, 100.0], [100.0, 104.0]], "mrap": [[10.0, 10.0], [10.0, 12.0]], "direct": [[9.0, 9.0], [9.0, 9.0]]}
    return {place: one for place in REGIONS}


@pytest.fixture
def result(links, samples):
    """Makes the result of a profile."""

    def of(profile):
        plan = mrap_experiment.Plan(profile, files=2, rounds=2, overwrites=2, seed=7)
        cpu = {place: dict.fromkeys(("single", "mrap", "direct"), [2.0, 2.0, 2.0, 3.0]) for place in REGIONS}
        overheads = {"single": {"us-east-1": 4.5}, "mrap": dict.fromkeys(REGIONS, 5.5)} if profile == "aws" else {}
        return mrap_experiment._result(plan, links, REGIONS, samples, cpu, OVERWRITES) | {
            "processors_awake": profile == "native",
            "overhead_ms": overheads,
            "echo_error_ms": {"0.3": 0.14, "146.4": 0.61},
            "initial_copy_s": 22.9,
            "took_s": 60.0,
        }

    return of
